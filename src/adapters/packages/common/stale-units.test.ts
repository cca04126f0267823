import { describe, expect, it } from "vitest";
import { runsReplacedCode, unitOf } from "./stale-units.ts";

describe("what still runs", () => {
  const line = (path: string, mode = "r-xp") => `7f00-7f01 ${mode} 00001000 08:01 1234                       ${path}\n`;

  it.each([
    [line("/usr/lib/x86_64-linux-gnu/libssl.so.3 (deleted)"), true],
    [line("/lib/systemd/systemd (deleted)"), true],
    [line("/usr/lib/libssl.so.3"), false],
    [line("/usr/share/locale/x (deleted)", "r--p"), false],
    [line("/memfd:jit (deleted)"), false],
    [line("/tmp/x (deleted)"), false],
    [line("/dev/zero (deleted)", "rwxs"), false],
  ])("is replaced code or not: %j", (maps, expected) => {
    expect(runsReplacedCode(`${line("/usr/bin/cat")}${maps}`)).toBe(expected);
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
});
