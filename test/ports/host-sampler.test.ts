import { existsSync, mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { totalmem } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { systemClock } from "#adapters/clock/index.ts";
import { createHostFiles } from "#adapters/host-files/index.ts";
import { createHostSampler } from "#adapters/procfs/host-sampler.ts";
import { createHostFacts } from "#adapters/procfs/index.ts";
import { pressureIn } from "#domain/health/checks/pressure.ts";
import { createFakeHostFiles } from "../fakes/host-files.ts";
import { directoryPerTest, writeFiles } from "./support/directories.ts";

describe("samples of this machine", () => {
  it("have what its kernel says, of its own disks and cards", async () => {
    const facts = createHostFacts({ clock: systemClock });
    const sampler = createHostSampler({ host: facts, pressure: () => pressureIn(createHostFiles()) });
    const { absences, ...sample } = await sampler.sample();
    facts.dispose();
    expect(sample.load).toEqual({ oneMinute: expect.any(Number), fifteenMinutes: expect.any(Number) });
    expect(sample.cpu?.total).toBeGreaterThan(sample.cpu?.busy ?? Number.POSITIVE_INFINITY);
    expect(sample.memory?.totalBytes).toBeLessThanOrEqual(totalmem());
    const disks = readdirSync("/sys/block").filter((name) => existsSync(`/sys/block/${name}/device`));
    expect([...(sample.disks?.keys() ?? [])].toSorted()).toEqual(disks.toSorted());
    expect([...(sample.links?.keys() ?? [])]).not.toContain("lo");
    expect(sample.pressure !== undefined).toBe(existsSync("/proc/pressure/cpu"));
    for (const { of, reason } of absences) {
      expect(of === "ioWait" ? sample.cpu?.ioWait : sample[of]).toBeUndefined();
      expect(reason).not.toBe("");
    }
  });
});

describe("samples", () => {
  const dir = directoryPerTest();
  const zeros = (count: number): string => " 0".repeat(count);
  const link = (name: string, received: number): string =>
    `${name}: ${received}${zeros(7)} ${received * 2}${zeros(7)}\n`;
  const disk = (name: string): string => `   8       0 ${name} 1 0 10 0 1 0 20${zeros(4)}\n`;
  /** A link of sysfs. */
  const addLink = (
    name: string,
    index: number,
    given: { on?: number; card?: boolean; master?: string; lower?: string },
  ) => {
    const directory = `sys/class/net/${name}`;
    writeFiles(dir(), { [`${directory}/ifindex`]: `${index}\n`, [`${directory}/iflink`]: `${given.on ?? index}\n` });
    if (given.card) mkdirSync(dir(directory, "device"));
    if (given.master !== undefined) symlinkSync(join("..", given.master), dir(directory, "master"));
    if (given.lower !== undefined) symlinkSync(join("..", given.lower), dir(directory, `lower_${given.lower}`));
  };
  const sampleOf = (files: Readonly<Record<string, string>>) => {
    writeFiles(dir(), files);
    const host = {
      memory: () => Promise.resolve({ totalBytes: 8, availableBytes: 6, swapTotalBytes: 4, swapFreeBytes: 3 }),
      cpuTimes: () => ({ atMs: 0, total: 10, busy: 5, ioWait: 1 }),
    };
    const idle = "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n";
    const pressures = Object.fromEntries(["cpu", "memory", "io"].map((name) => [`/proc/pressure/${name}`, idle]));
    const pressure = () => pressureIn(createFakeHostFiles(pressures));
    const places = { procDir: dir("proc"), sysDir: dir("sys") };
    return createHostSampler({ host, pressure, ...places }).sample();
  };

  it("count disks with hardware of their own, not what is in them or made of them", async () => {
    for (const name of ["sda", "nvme0n1", "cciss!c0d0"])
      mkdirSync(dir("sys/block", name, "device"), { recursive: true });
    for (const name of ["dm-0", "md0", "loop0"]) mkdirSync(dir("sys/block", name), { recursive: true });
    const names = ["sda", "sda1", "nvme0n1", "nvme0n1p1", "cciss/c0d0", "cciss/c0d0p1", "dm-0", "md0", "loop0"];
    const { disks } = await sampleOf({ "proc/diskstats": names.map(disk).join("") });
    expect([...(disks ?? [])]).toEqual(["sda", "nvme0n1", "cciss/c0d0"].map((name) => [name, [5120, 10_240]]));
  });

  it("count network cards once, whatever is made of them", async () => {
    mkdirSync(dir("sys/class/net"), { recursive: true });
    addLink("lo", 1, {});
    addLink("bond0", 2, {});
    addLink("eth0", 3, { card: true, master: "bond0" });
    addLink("eth1", 4, { card: true, master: "bond0" });
    addLink("vlan7", 5, { on: 2, lower: "bond0" });
    addLink("br0", 6, { lower: "vlan7" });
    addLink("veth1", 7, { on: 2, master: "br0" });
    // A card of a cloud, which is another one as well; and a port of a switch, whose bytes pass through a card.
    addLink("fast0", 8, { card: true });
    addLink("part0", 9, { card: true, master: "fast0" });
    addLink("port0", 10, { on: 8, card: true, lower: "fast0" });
    const names = ["lo", "bond0", "eth0", "eth1", "vlan7", "br0", "veth1", "fast0", "part0", "port0"];
    const { links } = await sampleOf({ "proc/net/dev": names.map((name, at) => link(name, at)).join("") });
    expect([...(links ?? [])]).toEqual([
      ["eth0", [2, 4]],
      ["eth1", [3, 6]],
      ["fast0", [7, 14]],
    ]);
  });

  it("count the links of a container that lead out of it", async () => {
    addLink("lo", 1, {});
    addLink("eth0", 2, { on: 40 });
    addLink("vlan7", 3, { on: 2, lower: "eth0" });
    addLink("docker0", 4, {});
    addLink("veth1", 6, { on: 5, master: "docker0" });
    const names = ["lo", "eth0", "vlan7", "docker0", "veth1"];
    const { links } = await sampleOf({ "proc/net/dev": names.map((name) => link(name, 1)).join("") });
    expect([...(links?.keys() ?? [])]).toEqual(["eth0"]);
  });

  it("have what there is, and say of the rest why not", async () => {
    const { absences, ...sample } = await sampleOf({ "proc/diskstats": disk("loop0"), "proc/loadavg": "?\n" });
    expect(sample).toEqual({
      ...{ load: undefined, disks: undefined, links: undefined },
      cpu: expect.objectContaining({ total: 10, busy: 5, ioWait: 1 }),
      memory: expect.objectContaining({ totalBytes: 8 }),
      pressure: { cpu: 0, memory: 0, io: 0 },
    });
    expect(Object.fromEntries(absences.map(({ of, reason }) => [of, reason]))).toEqual({
      load: `${dir("proc/loadavg")} has no load averages`,
      disks: "this host has no disk of its own",
      links: `cannot read ${dir("proc/net/dev")}: there is no such file`,
    });
  });
});
