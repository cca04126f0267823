import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { mkdtemp, open, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createOpenLocks, createPidLocks, isLeftOver, parseLocks } from "./locks.ts";

describe("/proc/locks", () => {
  it("finds the processes that hold a lock for writing", () => {
    const text = `1: POSIX  ADVISORY  WRITE 513 00:27:6765 0 EOF
1: -> POSIX  ADVISORY  WRITE 514 00:27:6765 0 EOF
2: OFDLCK ADVISORY  WRITE -1 fe:00:1564682 0 EOF
3: FLOCK  ADVISORY  WRITE 33 00:2e:99 0 EOF
4: POSIX  ADVISORY  READ  44 00:27:6770 0 EOF
5: POSIX  ADVISORY  WRITE 0 00:27:6771 0 EOF
6: POSIX  MANDATORY WRITE 7 103:0a:123456789012 1073741824 1073742335
`;
    expect(parseLocks(text)).toEqual([
      { pid: 513, inode: 6765 },
      { pid: 7, inode: 123456789012 },
    ]);
  });
});

describe("a lock that is the existence of a file", () => {
  let directory = "";
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "steward-lock-"));
  });
  afterEach(() => rm(directory, { recursive: true }));

  it("is held by the process that has it open, or a leftover", async () => {
    const path = join(directory, "db.lck");
    const locks = createOpenLocks();
    expect(await locks.holder(path)).toBeUndefined();
    expect(await isLeftOver(path, locks)).toBe(false);
    const file = await open(path, "wx");
    try {
      expect(await locks.holder(path)).toMatchObject({ pid: process.pid });
      expect(await isLeftOver(path, locks)).toBe(false);
    } finally {
      await file.close();
    }
    expect(await locks.holder(path)).toBeUndefined();
    expect(await isLeftOver(path, locks)).toBe(true);
  });

  it("is not a leftover when it disappears while it is inspected", async () => {
    const path = join(directory, "db.lck");
    await writeFile(path, "");
    const holder = () => rm(path).then(() => undefined);
    expect(await isLeftOver(path, { holder })).toBe(false);
  });
});

describe("a lock file with the number of a process", () => {
  let proc: string;
  beforeEach(() => {
    proc = mkdtempSync(join(tmpdir(), "steward-locks-"));
    mkdirSync(join(proc, "42"));
    writeFileSync(join(proc, "42", "comm"), "dnf\n");
  });
  afterEach(() => rmSync(proc, { recursive: true }));

  const holderOf = (text: string, cmdline: string) => {
    writeFileSync(join(proc, "lock"), text);
    writeFileSync(join(proc, "42", "cmdline"), cmdline);
    return createPidLocks(["dnf"], proc).holder(join(proc, "lock"));
  };

  it.each([
    ["42", "/usr/bin/python3\0/usr/bin/dnf\0upgrade\0"],
    ["42\n", "dnf\0-y\0"],
  ])("%j is held by %j", async (text, cmdline) =>
    expect(await holderOf(text, cmdline)).toEqual({ pid: 42, program: "dnf" }),
  );

  it.each([
    ["42", "/usr/bin/dnfdragora\0"],
    ["42", ""],
    ["43", "dnf\0"],
    ["", "dnf\0"],
    ["0", "dnf\0"],
    ["-42", "dnf\0"],
  ])("%j is not held by %j", async (text, cmdline) => expect(await holderOf(text, cmdline)).toBeUndefined());

  it("is not held where there is no file", async () =>
    expect(await createPidLocks(["dnf"], proc).holder(join(proc, "nothing"))).toBeUndefined());
});
