import { closeSync, existsSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createHostFiles } from "#adapters/host-files/index.ts";
import { createStaleCode } from "#adapters/packages/common/stale-code.ts";
import { createProcessFiles } from "#adapters/procfs/process-files.ts";
import { createRaidArrays } from "#adapters/procfs/raid-arrays.ts";
import { createUnitMemories } from "#adapters/procfs/unit-memory.ts";
import { createRebootNeed } from "#adapters/reboot/index.ts";
import { pressureIn } from "#domain/health/checks/pressure.ts";
import { fakeUnitMemory } from "../fakes/unit-memories.ts";
import { directoryWith } from "./support/directories.ts";

const nowhere = { procDir: "/nonexistent", sysDir: "/nonexistent" };

it("files of the kernel are read as they are, listed in order, and refused as the system does", async () => {
  const files = createHostFiles();
  expect(await files.text("/proc/sys/kernel/tainted")).toBe(readFileSync("/proc/sys/kernel/tainted", "utf8"));
  const names = await files.names("/proc/self");
  expect(names).toEqual([...names].sort());
  expect(names).toContain("status");
  expect(await files.target("/proc/self")).toBe(String(process.pid));
  expect(await files.real("/proc/self")).toBe(`/proc/${process.pid}`);
  expect(await files.stat("/proc/self/cmdline")).toEqual({ size: 0, isSocket: false });
  for (const read of [files.text, files.names, files.target, files.real, files.stat])
    await expect(read("/proc/nothing")).rejects.toMatchObject({ code: "ENOENT" });
  expect(await createHostFiles("/proc").names("self")).toContain("status");
});

it("pressure of this machine is measured where its kernel has it", async () => {
  const resources = ((await pressureIn(createHostFiles())) ?? []).map(({ resource }) => resource);
  expect(resources).toEqual(["cpu", "memory", "io"].filter((name) => existsSync(`/proc/pressure/${name}`)));
});

describe("RAID arrays", () => {
  // As the documentation of md shows it: an array cannot be made everywhere.
  const mdstat = `Personalities : [raid1]
md0 : active raid1 sdb1[1] sda1[0]
      1048512 blocks super 1.2 [2/2] [UU]

unused devices: <none>
`;
  const procDir = directoryWith({ mdstat });

  it("are those that the kernel has, and undefined where it has none", async () => {
    expect(await createRaidArrays({ procDir }).list()).toEqual([
      { name: "md0", level: "raid1", isActive: true, devices: 2, workingDevices: 2, rebuildPercent: null },
    ]);
    expect(await createRaidArrays(nowhere).list()).toBeUndefined();
    expect((await createRaidArrays().list()) !== undefined).toBe(existsSync("/proc/mdstat"));
  });
});

describe("the memory of units", () => {
  const app = "fs/cgroup/system.slice/app.service/memory";
  const scope = "fs/cgroup/user.slice/user-1000.slice/session-1.scope/memory";
  // As the kernel's description of cgroup v2 has these files.
  const sysDir = directoryWith({
    "fs/cgroup/cgroup.controllers": "cpu io memory pids\n",
    "fs/cgroup/system.slice/memory.current": "9999999999\n",
    [`${app}.current`]: "1000000000\n",
    [`${app}.max`]: "1073741824\n",
    [`${app}.events`]: "low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 0\n",
    [`${app}.stat`]:
      "anon 600000000\nfile 400000000\ninactive_file 250000000\nactive_file 140000000\nslab_reclaimable 10000000\n",
    [`${scope}.current`]: "5000\n",
    [`${scope}.max`]: "max\n",
    "fs/cgroup/init.scope/cgroup.procs": "1\n",
  });

  it("is that of services and scopes without what can be freed at once, and undefined without cgroup v2", async () => {
    const found = await createUnitMemories({ sysDir }).list();
    expect(found?.toSorted((a, b) => (a.name < b.name ? -1 : 1))).toEqual([
      fakeUnitMemory({ usedBytes: 600_000_000, limitBytes: 1_073_741_824, oomKills: 2 }),
      fakeUnitMemory({ name: "session-1.scope", usedBytes: 5000, limitBytes: null }),
    ]);
    expect(await createUnitMemories(nowhere).list()).toBeUndefined();
  });
});

describe("open files of processes", () => {
  /** As an older kernel shows a process, whose directory of files has to be read. */
  const processOf = (pid: number, name: string, open: number, limit: string) => ({
    [`${pid}/comm`]: `${name}\n`,
    [`${pid}/limits`]: [
      "Limit                     Soft Limit           Hard Limit           Units     ",
      "Max processes             96120                96120                processes ",
      `Max open files            ${limit.padEnd(20)} 524288               files     `,
      "",
    ].join("\n"),
    ...Object.fromEntries(Array.from({ length: open }, (_, fd) => [`${pid}/fd/${fd}`, ""])),
  });
  const procDir = directoryWith({
    ...processOf(7, "nginx", 60, "1024"),
    ...processOf(8, "leaky", 80, "100"),
    ...processOf(9, "quiet", 49, "50"),
  });

  it("are those of the processes nearest to their limits", async () => {
    const found = [
      { pid: 8, name: "leaky", open: 80, limit: 100 },
      { pid: 7, name: "nginx", open: 60, limit: 1024 },
    ];
    const files = createProcessFiles({ procDir });
    expect([await files.busiest(5), await files.busiest(1)]).toEqual([found, found.slice(0, 1)]);
  });

  it("of this process are counted, with its limit", async () => {
    const held = Array.from({ length: 200 }, () => openSync("/dev/null", "r"));
    try {
      const own = (await createProcessFiles().busiest(10_000)).find(({ pid }) => pid === process.pid);
      expect(own?.open).toBeGreaterThanOrEqual(200);
      expect(readFileSync("/proc/self/limits", "utf8")).toMatch(new RegExp(`^Max open files +${own?.limit} `, "m"));
    } finally {
      held.forEach(closeSync);
    }
  });
});

describe("the need to reboot", () => {
  const kernel = "6.1.0-18-amd64";
  const on = (files: Readonly<Record<string, string>>) => {
    const root = directoryWith(files);
    return createRebootNeed({ run: join(root, "run"), modules: join(root, "modules"), kernel });
  };
  const modules = { [`modules/${kernel}/modules.order`]: "" };
  const hosts = {
    upToDate: on(modules),
    requested: on({ ...modules, "run/reboot-required": "", "run/reboot-required.pkgs": "libc6\nlinux-base\nlibc6\n" }),
    withResidue: on({ ...modules, "modules/6.1.0-20-amd64/modules.dep": "" }),
    container: on({ "run/systemd/container": "docker" }),
    bare: on({}),
  };

  it("is what packages asked for, each named once, and none on a host that is up to date", async () => {
    const none = { isRequested: false, packages: [], runningKernel: kernel, installedKernels: [kernel] };
    expect(await hosts.upToDate.reasons()).toEqual(none);
    expect(await hosts.requested.reasons()).toEqual({ ...none, isRequested: true, packages: ["libc6", "linux-base"] });
    expect(await hosts.bare.reasons()).toEqual({ ...none, installedKernels: [] });
  });

  it("leaves out what a removed kernel left behind, and all kernels in a container", async () => {
    expect(await hosts.withResidue.reasons()).toMatchObject({ installedKernels: [kernel] });
    expect(await hosts.container.reasons()).toMatchObject({ installedKernels: [] });
  });
});

it("processes of this machine with stale code are each named once, with the files that were replaced", async () => {
  const { processes, hidden } = await createStaleCode().find(new AbortController().signal);
  expect(processes.map(({ pid }) => pid)).toEqual([...new Set(processes.map(({ pid }) => pid))].sort((a, b) => a - b));
  for (const { files, unit } of processes) {
    expect(files).not.toEqual([]);
    expect(unit ?? "none.service").toMatch(/\.service$/);
  }
  expect(hidden).toBeGreaterThanOrEqual(0);
});
