import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createStaleCode, replacedFiles, unitOf } from "./stale-code.ts";

describe("what still runs", () => {
  const line = (path: string, mode = "r-xp") => `7f00-7f01 ${mode} 00001000 08:01 1234                       ${path}\n`;

  it.each([
    [line("/usr/lib/x86_64-linux-gnu/libssl.so.3 (deleted)"), ["/usr/lib/x86_64-linux-gnu/libssl.so.3"]],
    [line("/lib/systemd/systemd (deleted)"), ["/lib/systemd/systemd"]],
    [line("/opt/app/bin/app (deleted)"), ["/opt/app/bin/app"]],
    [line("/usr/lib/libz.so.1.dpkg-new (deleted)"), ["/usr/lib/libz.so.1"]],
    [line("/usr/lib64/libz.so.1;6561f0aa (deleted)"), ["/usr/lib64/libz.so.1"]],
    [
      `${line("/usr/lib/b (deleted)")}${line("/usr/lib/a (deleted)")}${line("/usr/lib/b (deleted)")}`,
      ["/usr/lib/a", "/usr/lib/b"],
    ],
    [line("/usr/lib/libssl.so.3"), []],
    [line("/usr/share/locale/x (deleted)", "r--p"), []],
    [line("/memfd:jit (deleted)"), []],
    [line("/tmp/x (deleted)"), []],
    [line("/dev/shm/x (deleted)"), []],
    [line("/dev/zero (deleted)", "rwxs"), []],
    [line("/SYSV00000000 (deleted)", "rwxs"), []],
  ])("is the files that were replaced: %j", (maps, expected) => {
    expect(replacedFiles(`${line("/usr/bin/cat")}${maps}`)).toEqual(expected);
  });

  it.each([
    ["0::/system.slice/cron.service\n", "cron.service"],
    ["0::/system.slice/system-getty.slice/getty@tty1.service\n", "getty@tty1.service"],
    ["0::/system.slice/app.service/workers\n", "app.service"],
    ["1:name=systemd:/system.slice/old.service\n0::/\n", "old.service"],
    ["9:name=systemd:/\n1:cpu:/\n0::/system.slice/new.service\n", "new.service"],
    ["0::/user.slice/user-1000.slice/user@1000.service/app.slice/x.service\n", undefined],
    ["0::/user.slice/user-0.slice/session-1.scope\n", undefined],
    ["0::/init.scope\n", undefined],
    ["", undefined],
  ])("belongs to a service: %j", (cgroup, unit) => {
    expect(unitOf(cgroup)).toBe(unit);
  });

  it("is found with its unit, and neither in containers nor in the work of Steward", async () => {
    const proc = await mkdtemp(join(tmpdir(), "steward-proc-"));
    const add = async (pid: string, cgroup: string, namespace = "pid:[1]", maps = line("/usr/bin/x (deleted)")) => {
      await mkdir(join(proc, pid, "ns"), { recursive: true });
      await symlink(namespace, join(proc, pid, "ns/pid"));
      await writeFile(join(proc, pid, "maps"), maps);
      await writeFile(join(proc, pid, "cgroup"), cgroup);
      await writeFile(join(proc, pid, "comm"), "x\n");
    };
    try {
      await add("self", "");
      await add("30", "0::/system.slice/web.service\n");
      await add("4", "0::/user.slice/user-0.slice/session-1.scope\n");
      await add("5", "0::/system.slice/web.service\n", "pid:[2]");
      await add("6", "0::/system.slice/steward-task-1.service\n");
      await add("7", "0::/system.slice/web.service\n", "pid:[1]", line("/usr/bin/x"));
      const { signal } = new AbortController();
      expect(await createStaleCode(proc).find(signal)).toEqual({
        processes: [
          { pid: 4, name: "x", unit: null, files: ["/usr/bin/x"] },
          { pid: 30, name: "x", unit: "web.service", files: ["/usr/bin/x"] },
        ],
        hidden: 0,
      });
    } finally {
      await rm(proc, { recursive: true });
    }
  });
});
