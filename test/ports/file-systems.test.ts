import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { symlinkSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { systemClock } from "#adapters/clock/index.ts";
import { leftBehind } from "#adapters/exec/left-behind.ts";
import { createFileSystems } from "#adapters/procfs/file-systems.ts";
import { createMountTable, parseSwaps } from "#adapters/procfs/mount-table.ts";
import { FileSystemsUnseen } from "#domain/ports/storage.ts";
import { createFakeClock } from "../fakes/clock.ts";
import { directoryPerTest, directoryWith, writeFiles } from "./support/directories.ts";

const { signal } = new AbortController();
const at = directoryPerTest();
const real = createFileSystems({ clock: systemClock });

describe("file systems of this machine", () => {
  it("have the root and each place once, with figures that agree with each other, and hold paths", async () => {
    const mounted = await real.list(signal);
    const paths = mounted.map(({ path }) => path);
    expect(paths).toContain("/");
    expect(new Set(paths).size).toBe(paths.length);
    for (const each of mounted.filter((one) => "totalBytes" in one)) {
      expect(each.availableBytes).toBeLessThanOrEqual(each.freeBytes);
      expect(each.freeBytes).toBeLessThanOrEqual(each.totalBytes);
      expect(each.freeInodes).toBeLessThanOrEqual(each.totalInodes);
    }
    expect(await real.holding("/")).toBe("/");
    expect(paths).toContain(await real.holding("/etc"));
  });

  it("are as large as df says", async () => {
    const root = (await real.list(signal)).filter((each) => "totalBytes" in each).find(({ path }) => path === "/");
    const columns = (options: readonly string[]) =>
      execFileSync("df", [...options, "/"], { encoding: "utf8" })
        .split("\n")[1]
        ?.trim()
        .split(/\s+/)
        .map(Number) ?? [];
    const [size = 0, available = 0] = columns(["-B1", "--output=size,avail"]);
    const [inodes] = columns(["--output=itotal"]);
    expect([root?.totalBytes, root?.totalInodes]).toEqual([size, inodes]);
    // Other programs write while this test runs.
    expect(Math.abs((root?.availableBytes ?? 0) - available)).toBeLessThan(size / 100);
  });
});

describe("file systems of a mount table", () => {
  const on = (more: Partial<Parameters<typeof createFileSystems>[0]> = {}) =>
    createFileSystems({ clock: systemClock, procDir: at(), ...more });
  const writeMounts = (...paths: readonly string[]): void => {
    const lines = paths.map((path, at) => `${at + 1} ${Math.min(at, 1)} 8:${at} / ${path} rw - ext4 /dev/sd${at} rw`);
    writeFiles(at(), { "self/mountinfo": `${lines.join("\n")}\n` });
  };

  /** Those of process 1, whose root this process may not follow. */
  const writeHost = (...lines: readonly string[]): void => {
    writeFiles(at(), { "1/mountinfo": `${lines.join("\n")}\n` });
  };
  const disk = (id: number, at: number, path: string, options = "rw") =>
    `${id} ${at === 0 ? 0 : 1} 8:${at} / ${path} ${options} - ext4 /dev/sd${at} rw`;

  it("are those of the host where this process finds them, and said to be unseen or left out where it does not", async () => {
    writeHost(disk(1, 0, "/"), disk(2, 1, "/usr"), disk(3, 2, "/tmp"));
    // As a sandbox has it: the root read-only, a directory bound over, and another file system in the place of one.
    const own = ["12 11 8:1 / /usr rw - ext4 /dev/sd1 rw", "13 11 0:9 / /tmp rw - tmpfs tmpfs rw"];
    writeFiles(at(), { "self/mountinfo": [disk(11, 0, "/", "ro"), ...own].join("\n") });
    const mounted = await on().list(signal);
    expect(mounted.map(({ path, isReadOnly }) => [path, isReadOnly])).toEqual([
      ["/", false],
      ["/usr", false],
    ]);
    const whole = on({ isWhole: true });
    await expect(whole.list(signal)).rejects.toThrow(FileSystemsUnseen);
    await expect(whole.list(signal)).rejects.toThrow("/tmp");
    writeHost(disk(1, 0, "/"), disk(2, 1, "/usr"));
    expect(await whole.list(signal)).toHaveLength(2);
  });

  it.each([
    ["process 1 is hidden", []],
    ["the root is another one", ["1 0 8:7 / / rw - ext4 /dev/sd7 rw"]],
    ["the root is a directory of the host's", ["1 0 8:0 /srv/chroot / rw - ext4 /dev/sd0 rw"]],
  ])("are those of this process where %s, which are not all", async (_, lines) => {
    writeMounts("/");
    if (lines.length > 0) writeHost(...lines);
    const mounted = await on().list(signal);
    expect(mounted.map(({ device }) => device)).toEqual(["/dev/sd0"]);
    await expect(on({ isWhole: true }).list(signal)).rejects.toThrow(FileSystemsUnseen);
  });

  it("leave out one that has been unmounted since", async () => {
    writeMounts("/", "/nonexistent/since");
    const mounted = await on().list(signal);
    expect(mounted.map(({ path }) => path)).toEqual(["/"]);
  });

  it("say which one a path lies on, links followed, and none for a path that is not there", async () => {
    writeMounts("/", "/usr", "/var/log");
    const fileSystems = on();
    expect(await fileSystems.holding("/usr/bin")).toBe("/usr");
    expect(await fileSystems.holding("/var")).toBe("/");
    expect(await fileSystems.holding("/var/log/apt")).toBe("/var/log");
    expect(await fileSystems.holding("/etc")).toBe("/");
    // A link to /usr/bin.
    expect(await fileSystems.holding("/bin")).toBe("/usr");
    expect(await fileSystems.holding("/nonexistent/since")).toBeUndefined();
  });

  it("name the one that does not answer, and that answers again when it does", async () => {
    writeMounts("/");
    const clock = createFakeClock();
    const fileSystems = on({ clock });
    const late = fileSystems.list(signal);
    // All its time passes before the disk can have answered.
    await clock.advance(5_000);
    expect(await late).toMatchObject([{ path: "/", unreadable: "no answer in 5 s" }]);
    expect(await fileSystems.list(signal)).toMatchObject([{ path: "/", totalBytes: expect.any(Number) }]);
  });

  it("do not ask a disk again for which a process waits that cannot be killed", async () => {
    writeMounts("/", "/usr");
    const waiting = spawn("/usr/bin/sleep", ["1000"]);
    leftBehind.add("stat", "/usr", waiting.pid ?? 0);
    const list = () => on().list(signal);
    expect(await list()).toMatchObject([{ path: "/" }, { path: "/usr", unreadable: "no answer in 5 s" }]);
    await expect(on().holding("/usr")).rejects.toMatchObject({ details: { missing: "/usr", retryable: true } });
    waiting.kill("SIGKILL");
    await once(waiting, "exit");
    expect(await on().holding("/usr")).toBe("/usr");
    expect((await list()).map((each) => [each.path, "unreadable" in each])).toEqual([
      ["/", false],
      ["/usr", false],
    ]);
  });

  it("are all there where one answers with an error, which is named", async () => {
    writeMounts("/", "/etc/passwd/below", "/usr");
    expect(await on().list(signal)).toMatchObject([
      { path: "/", totalBytes: expect.any(Number) },
      { path: "/etc/passwd/below", device: "/dev/sd1", type: "ext4", isReadOnly: false, unreadable: "ENOTDIR" },
      { path: "/usr", totalBytes: expect.any(Number) },
    ]);
    const looped = at("looped");
    symlinkSync(looped, looped);
    await expect(on().holding(looped)).rejects.toMatchObject({ details: { missing: looped, retryable: true } });
  });

  it("are read by one process, but for those that do not answer there", async () => {
    writeMounts("/", "/usr", "/nonexistent/since", "/etc");
    const started: ChildProcess[] = [];
    const onStart = (message: unknown): void => {
      started.push((message as { process: ChildProcess }).process);
    };
    subscribe("child_process", onStart);
    const mounted = await on().list(signal);
    unsubscribe("child_process", onStart);
    expect(mounted.map(({ path }) => path)).toEqual(["/", "/usr", "/etc"]);
    expect(started.map(({ spawnargs }) => spawnargs.at(-1))).toEqual(["/etc", "/nonexistent/since"]);
  });

  it("say that the caller gave up, not that the disk was slow", async () => {
    writeMounts("/");
    const caller = new AbortController();
    const given = on({ clock: createFakeClock() }).list(caller.signal);
    caller.abort(new Error("given up"));
    await expect(given).rejects.toThrow("given up");
  });
});

describe("the table of mounts", () => {
  const odd = String.raw`/tmp/a\040b\012c\134d`;
  const lines = [
    "22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw,errors=remount-ro",
    "23 22 0:5 / /dev rw - devtmpfs udev rw",
    "24 22 0:6 / /proc rw - proc proc rw",
    "25 22 0:22 / /run rw,nosuid - tmpfs tmpfs rw,size=100k",
    "26 25 0:23 / /run/user/1000 rw - tmpfs tmpfs rw",
    "27 22 0:40 / /mnt/dead rw - nfs4 server:/export rw,addr=192.0.2.1",
    "28 22 0:41 / /mnt/also ro - fuse.sshfs user@host: rw",
    `29 22 8:1 /srv /nowhere${odd} rw - ext4 /dev/sda1 rw`,
    "30 22 0:50 / /var/lib/docker/overlay2/x/merged rw - overlay overlay rw",
    "31 22 8:2 / /gone rw - xfs /dev/sda2 rw",
    "32 22 8:3 / /tmp ro - ext4 /dev/sda3 rw",
    "33 32 8:4 / /tmp rw - ext4 /dev/sda4 rw",
    `34 22 8:5 / /${"x".repeat(300)} rw - ext4 /dev/sda5 rw`,
    "broken line",
  ];
  const swaps = [
    "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority",
    "/swap\\040file                             file\t\t2048\t\t1024\t\t-2",
    "odd\n",
  ].join("\n");
  const procDir = directoryWith({ "self/mountinfo": lines.join("\n"), swaps });

  it("of this machine has the root, with sizes that fit each other, and is given up with its signal", async () => {
    const { volumes } = await createMountTable({ clock: systemClock }).read(signal);
    const root = volumes.find(({ mounts }) => mounts.some(({ path }) => path === "/"));
    const sizes = root?.sizes;
    if (sizes === undefined || typeof sizes === "string") throw new Error(sizes);
    expect(sizes.totalBytes).toBeGreaterThan(0);
    expect(sizes.freeBytes).toBeLessThanOrEqual(sizes.totalBytes);
    expect(sizes.availableBytes).toBeLessThanOrEqual(sizes.freeBytes);
    const given = createMountTable({ clock: systemClock }).read(AbortSignal.abort(new Error("gone")));
    await expect(given).rejects.toThrow("gone");
  });

  it("leaves out what holds no data, asks no server, and says what it does not know", async () => {
    const { volumes, isOwnView, leftOut } = await createMountTable({ clock: systemClock, procDir }).read(signal);
    expect([isOwnView, leftOut]).toEqual([true, 0]);
    const seen = volumes.map(({ source, mounts, sizes }) => [
      source,
      mounts.map(({ path, root, options }) => [path, root, options]),
      typeof sizes === "string" ? sizes : "known",
    ]);
    const root = [
      ["/", null, "rw,relatime,errors=remount-ro"],
      ["/nowhere/tmp/a b\nc\\d", "/srv", "rw"],
    ];
    expect(seen).toEqual([
      ["/dev/sda1", root, "known"],
      ["tmpfs", [["/run", null, "rw,nosuid,size=100k"]], "known"],
      ["server:/export", [["/mnt/dead", null, "rw,addr=192.0.2.1"]], expect.stringContaining("server")],
      ["user@host:", [["/mnt/also", null, "ro"]], expect.stringContaining("server")],
      ["/dev/sda2", [["/gone", null, "rw"]], "the kernel says ENOENT"],
      ["/dev/sda3", [["/tmp", null, "ro"]], expect.stringContaining("mounted over it")],
      ["/dev/sda4", [["/tmp", null, "rw"]], "known"],
      ["/dev/sda5", [[`/${"x".repeat(300)}`, null, "rw"]], "the kernel says File name too long"],
    ]);
  });

  it("has swaps", async () => {
    const { swaps: found } = await createMountTable({ clock: systemClock, procDir }).read(signal);
    expect(found).toEqual([{ path: "/swap file", type: "file", sizeBytes: 2 ** 21, usedBytes: 2 ** 20, priority: -2 }]);
    expect(parseSwaps("")).toEqual([]);
  });
});
