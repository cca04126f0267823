import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { systemClock } from "#adapters/clock/index.ts";
import { createFileSystems } from "#adapters/procfs/file-systems.ts";
import { type FileSystems, FileSystemsUnseen } from "#domain/ports/storage.ts";
import { createFakeClock } from "../fakes/clock.ts";
import { createFakeFileSystems } from "../fakes/file-systems.ts";

const { signal } = new AbortController();
const real = createFileSystems({ clock: systemClock });

describe.each([
  ["fake", createFakeFileSystems()],
  ["procfs", real],
] as const)("file systems: %s", (_, fileSystems: FileSystems) => {
  it("hold the root, each place once, with figures that agree with each other", async () => {
    const mounted = await fileSystems.list(signal);
    const paths = mounted.map(({ path }) => path);
    expect(paths).toContain("/");
    expect(new Set(paths).size).toBe(paths.length);
    for (const each of mounted) {
      expect(each.availableBytes).toBeLessThanOrEqual(each.freeBytes);
      expect(each.freeBytes).toBeLessThanOrEqual(each.totalBytes);
      expect(each.freeInodes).toBeLessThanOrEqual(each.totalInodes);
    }
  });

  it("tell which of them a path lies on", async () => {
    expect(await fileSystems.holding("/")).toBe("/");
    const paths = (await fileSystems.list(signal)).map(({ path }) => path);
    expect(paths).toContain(await fileSystems.holding("/etc"));
  });

  it("are not asked once the caller has given up", async () => {
    await expect(fileSystems.list(AbortSignal.abort(new Error("given up")))).rejects.toThrow("given up");
  });
});

it("file systems of this machine are as df says", async () => {
  const root = (await real.list(signal)).find(({ path }) => path === "/");
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

describe("file systems of a mount table", () => {
  let procDir: string;
  beforeEach(() => {
    procDir = mkdtempSync(join(tmpdir(), "steward-proc-"));
    mkdirSync(join(procDir, "self"));
  });
  afterEach(() => rmSync(procDir, { recursive: true }));
  const writeMounts = (...paths: readonly string[]): void => {
    const lines = paths.map((path, at) => `${at + 1} ${Math.min(at, 1)} 8:${at} / ${path} rw - ext4 /dev/sd${at} rw`);
    writeFileSync(join(procDir, "self/mountinfo"), `${lines.join("\n")}\n`);
  };

  /** Those of process 1, whose root this process may not follow. */
  const writeHost = (...lines: readonly string[]): void => {
    mkdirSync(join(procDir, "1"));
    writeFileSync(join(procDir, "1/mountinfo"), `${lines.join("\n")}\n`);
  };
  const disk = (id: number, at: number, path: string, options = "rw") =>
    `${id} ${at === 0 ? 0 : 1} 8:${at} / ${path} ${options} - ext4 /dev/sd${at} rw`;

  it("are those of the host where this process finds them, and said to be unseen or left out where it does not", async () => {
    writeHost(disk(1, 0, "/"), disk(2, 1, "/usr"), disk(3, 2, "/tmp"));
    // As a sandbox has it: the root read-only, a folder bound over, and another file system in the place of one.
    writeFileSync(
      join(procDir, "self/mountinfo"),
      [disk(11, 0, "/", "ro"), "12 11 8:1 / /usr rw - ext4 /dev/sd1 rw", "13 11 0:9 / /tmp rw - tmpfs tmpfs rw"].join(
        "\n",
      ),
    );
    const mounted = await createFileSystems({ clock: systemClock, procDir }).list(signal);
    expect(mounted.map(({ path, isReadOnly }) => [path, isReadOnly])).toEqual([
      ["/", false],
      ["/usr", false],
    ]);
    const whole = createFileSystems({ clock: systemClock, procDir, isWhole: true });
    await expect(whole.list(signal)).rejects.toThrow(FileSystemsUnseen);
    await expect(whole.list(signal)).rejects.toThrow("/tmp");
    rmSync(join(procDir, "1"), { recursive: true });
    writeHost(disk(1, 0, "/"), disk(2, 1, "/usr"));
    expect(await whole.list(signal)).toHaveLength(2);
  });

  it.each([
    ["process 1 is hidden", []],
    ["the root is another one", ["1 0 8:7 / / rw - ext4 /dev/sd7 rw"]],
    ["the root is a folder of the host's", ["1 0 8:0 /srv/chroot / rw - ext4 /dev/sd0 rw"]],
  ])("are those of this process where %s, which are not all", async (_, lines) => {
    writeMounts("/");
    if (lines.length > 0) writeHost(...lines);
    const mounted = await createFileSystems({ clock: systemClock, procDir }).list(signal);
    expect(mounted.map(({ device }) => device)).toEqual(["/dev/sd0"]);
    await expect(createFileSystems({ clock: systemClock, procDir, isWhole: true }).list(signal)).rejects.toThrow(
      FileSystemsUnseen,
    );
  });

  it("leave out one that has been unmounted since", async () => {
    writeMounts("/", "/nonexistent/since");
    const mounted = await createFileSystems({ clock: systemClock, procDir }).list(signal);
    expect(mounted.map(({ path }) => path)).toEqual(["/"]);
  });

  it("tell which one a path lies on, links followed, and of none for a path that is not there", async () => {
    writeMounts("/", "/usr", "/var/log");
    const fileSystems = createFileSystems({ clock: systemClock, procDir });
    expect(await fileSystems.holding("/usr/bin")).toBe("/usr");
    expect(await fileSystems.holding("/var")).toBe("/");
    expect(await fileSystems.holding("/var/log/apt")).toBe("/var/log");
    expect(await fileSystems.holding("/etc")).toBe("/");
    // A link to /usr/bin.
    expect(await fileSystems.holding("/bin")).toBe("/usr");
    expect(await fileSystems.holding("/nonexistent/since")).toBeUndefined();
  });

  it("name the disk that does not answer, and answer again when it does", async () => {
    writeMounts("/");
    const clock = createFakeClock();
    const fileSystems = createFileSystems({ clock, procDir });
    const late = fileSystems.list(signal);
    // All its time passes before the disk can have answered.
    await Promise.all([
      expect(late).rejects.toThrow("cannot look at /: its disk did not answer in 5 s"),
      clock.advance(5_000),
    ]);
    expect(await fileSystems.list(signal)).toMatchObject([{ path: "/" }]);
  });

  it("name the disk that answers with an error", async () => {
    writeMounts("/", "/etc/passwd/below");
    await expect(createFileSystems({ clock: systemClock, procDir }).list(signal)).rejects.toThrow(
      "cannot look at /etc/passwd/below: ENOTDIR",
    );
  });

  it("say that the caller gave up, not that the disk was slow", async () => {
    writeMounts("/");
    const caller = new AbortController();
    const given = createFileSystems({ clock: createFakeClock(), procDir }).list(caller.signal);
    caller.abort(new Error("given up"));
    await expect(given).rejects.toThrow("given up");
  });
});
