import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  isOpenToEverybody,
  isSticky,
  isWritableByOthers,
  preparePrivateDirectory,
  writeFileAtomic,
  writeFileSynced,
} from "#adapters/files/index.ts";

let directory: string;
let path: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "steward-write-"));
  path = join(directory, "file");
});
afterEach(() => rmSync(directory, { recursive: true }));
const modeOf = (each: string): number => lstatSync(each).mode & 0o7777;

describe("a written file", () => {
  it.each([
    ["atomically", writeFileAtomic],
    ["at once", writeFileSynced],
  ])("is private by default and replaces what was there, written %s", (_, write) => {
    write(path, "longer");
    write(path, "two");
    expect([readFileSync(path, "utf8"), modeOf(path), readdirSync(directory)]).toEqual(["two", 0o600, ["file"]]);
    write(path, "three", { mode: 0o640, group: process.getgid?.() ?? 0 });
    expect(modeOf(path)).toBe(0o640);
  });

  it("replaces a symbolic link, and writes through none", () => {
    const victim = join(directory, "victim");
    writeFileSync(victim, "mine");
    symlinkSync(victim, path);
    expect(() => writeFileSynced(path, "x")).toThrow("ELOOP");
    writeFileAtomic(path, "x");
    expect([readFileSync(victim, "utf8"), readFileSync(path, "utf8")]).toEqual(["mine", "x"]);
  });

  it("that cannot be renamed into place leaves no draft", () => {
    mkdirSync(path);
    expect(() => writeFileAtomic(path, "x")).toThrow("EISDIR");
    expect(readdirSync(directory)).toEqual(["file"]);
  });
});

it("a private directory is created, and nothing else is accepted in its place", () => {
  const nested = join(directory, "a/b");
  preparePrivateDirectory(nested);
  expect([modeOf(nested), modeOf(join(directory, "a"))]).toEqual([0o700, 0o700]);
  symlinkSync(nested, path);
  expect(() => preparePrivateDirectory(path)).toThrow(`cannot use ${path}`);
});

it("permission bits are read from numbers and bigints", () => {
  expect([0o1777, 0o755n, 0o775].map((mode) => [isWritableByOthers({ mode }), isSticky({ mode })])).toEqual([
    [true, true],
    [false, false],
    [true, false],
  ]);
  expect([0o640, 0o604, 0o602].map((mode) => isOpenToEverybody({ mode }))).toEqual([false, true, true]);
});
