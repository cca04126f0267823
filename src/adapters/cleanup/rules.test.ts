import { describe, expect, it } from "vitest";
import { isKnownName, isOld, mayGo, rules } from "./rules.ts";

const known = (directory: string, name: string): boolean =>
  rules.filter((rule) => rule.directory === directory).some((rule) => isKnownName(name, rule));

describe("names of temporary files", () => {
  it.each([
    ...["tmp.AbCdEf0123", "tmpa1b2_3c4", "ccAbCd12.o", "ccAbCd12.ltrans.out", "sortAbC123", "phpAbC123"],
    ...["magick-0123456789abcdefABCDEF", "apt.conf.AbC123", "fileutl.message.AbC123"],
  ])("of known programs may be removed: %s", (name) => {
    expect([known("/tmp", name), known("/var/tmp", name)]).toEqual([true, true]);
  });

  it.each([
    ...["tmp.AbCdEf012", "tmp.AbCdEf01234", "tmp.AbCdEf0123\n", "\ntmp.AbCdEf0123", "tmp.AbCd/f0123", "..", "-rf"],
    ...["", ".X0-lock", ".X11-unix", "systemd-private-1-a.service-b", "sess_0123456789", "sorted.csv", "sortlists"],
    ...["phpinfo.php", "phpbackup", "sortedlist", "tmpdatabase", "notes.txt", "tmpfiles", "core", "ssh-AbCdEf012345"],
  ])("of others may not: %j", (name) => {
    expect([known("/tmp", name), known("/var/tmp", name)]).toEqual([false, false]);
  });
});

it("core dumps and crash reports may be removed in their directories alone", () => {
  const core = "core.my\\x20app.1000.0123456789abcdef0123456789abcdef.4711.1700000000000000.zst";
  expect([known("/var/lib/systemd/coredump", core), known("/tmp", core)]).toEqual([true, false]);
  expect(known("/var/lib/systemd/coredump", "core.pattern")).toBe(false);
  expect([known("/var/crash", "_usr_bin_app.1000.crash"), known("/var/crash", "kexec_cmd")]).toEqual([true, false]);
});

describe("the age of a file", () => {
  const now = 1_000_000;
  const file = { isFile: () => true, mode: 0o100600, nlink: 1, atimeMs: 0, mtimeMs: 0, ctimeMs: 0 };
  it("is that of its latest timestamp", () => {
    expect(isOld(file, now, now)).toBe(true);
    for (const time of ["atimeMs", "mtimeMs", "ctimeMs"]) {
      expect(isOld({ ...file, [time]: 1 }, now, now)).toBe(false);
      expect(isOld({ ...file, [time]: 2 * now }, now, now)).toBe(false);
    }
  });

  it("does not matter for what is no file, has a second name, or has a mode that its program does not make", () => {
    expect(isOld({ ...file, isFile: () => false }, now, now)).toBe(false);
    expect(isOld({ ...file, nlink: 2 }, now, now)).toBe(false);
    const [temporary, , cores] = rules;
    if (temporary === undefined || cores === undefined) throw new Error("there are no rules");
    const later = 11 * 24 * 60 * 60_000;
    for (const mode of [0o100600, 0o100400, 0o100700]) expect(mayGo({ ...file, mode }, temporary, later)).toBe(true);
    for (const mode of [0o100644, 0o100640, 0o100660]) expect(mayGo({ ...file, mode }, temporary, later)).toBe(false);
    expect(mayGo({ ...file, mode: 0o100640 }, cores, later)).toBe(true);
  });
});
