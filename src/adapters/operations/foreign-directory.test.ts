import { execFileSync } from "node:child_process";
import { chmodSync, linkSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { ForeignFileRefused, openForeignDirectory } from "./foreign-directory.ts";

const uid = process.getuid?.() ?? 0;
const limits = { maxBytes: 100 };
let base: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "steward-foreign-"));
  mkdirSync(join(base, "a/b"), { recursive: true, mode: 0o700 });
  writeFileSync(join(base, "a/b/file"), "text");
});
afterEach(() => rmSync(base, { recursive: true, force: true }));
const at = (...names: readonly string[]): string => join(base, ...names);
const open = (names: readonly string[] = ["a", "b"], owner = uid) => openForeignDirectory(base, names, { uid: owner });

it("a directory of another user is read, and missing files are reported", () => {
  const directory = open();
  expect([
    directory?.text("file", limits),
    directory?.text("other", limits),
    directory?.names(),
    directory?.has("file"),
  ]).toEqual(["text", undefined, ["file"], true]);
  directory?.close();
  expect(open(["a", "c"])).toBeUndefined();
  expect(open(["a", "b", "file", "c"].slice(0, 2))).toBeDefined();
});

it("a directory of another user stays the one that was opened", () => {
  const directory = open();
  renameSync(at("a"), at("moved"));
  mkdirSync(at("a/b"), { recursive: true });
  writeFileSync(at("a/b/file"), "another");
  expect(directory?.text("file", limits)).toBe("text");
  directory?.close();
});

it.each([
  [
    "a link on the way",
    () => {
      renameSync(at("a/b"), at("real"));
      symlinkSync(at("real"), at("a/b"));
    },
  ],
  [
    "a link at the start",
    () => {
      renameSync(at("a"), at("real"));
      symlinkSync(at("real"), at("a"));
    },
  ],
  [
    "a file on the way",
    () => {
      rmSync(at("a/b"), { recursive: true });
      writeFileSync(at("a/b"), "");
    },
  ],
  ["a directory that others may write to", () => chmodSync(at("a/b"), 0o777)],
  ["one on the way that its group may write to", () => chmodSync(at("a"), 0o770)],
])("a directory of another user refuses %s", (_, change) => {
  change();
  expect(() => open()).toThrow(ForeignFileRefused);
});

it("a directory of another owner than expected is refused", () => {
  expect(() => open(["a", "b"], uid + 1)).toThrow(ForeignFileRefused);
});

it.each(["..", ".", "", "a/b", "a\0", "-n ".repeat(2)])("a directory of another user has no file named %j", (name) => {
  const directory = open();
  expect(() => directory?.text(name, limits)).toThrow(ForeignFileRefused);
  expect(() => open([name])).toThrow(ForeignFileRefused);
  directory?.close();
});

it.each([
  ["a link", () => symlinkSync("file", at("a/b/it"))],
  ["a link that leads nowhere", () => symlinkSync("none", at("a/b/it"))],
  ["a second name", () => linkSync(at("a/b/file"), at("a/b/it"))],
  ["a directory", () => mkdirSync(at("a/b/it"))],
  ["a pipe that nobody writes to", () => execFileSync("mkfifo", [at("a/b/it")])],
  ["what is too long", () => writeFileSync(at("a/b/it"), "x".repeat(101))],
])("a file of another user is not read when it is %s", (_, make) => {
  make();
  const directory = open();
  expect(() => directory?.text("it", limits)).toThrow(ForeignFileRefused);
  directory?.close();
});

it("a directory of another user that was removed is empty", () => {
  const directory = open();
  rmSync(at("a"), { recursive: true });
  expect([directory?.names(), directory?.text("file", limits)]).toEqual([[], undefined]);
  directory?.close();
});

it("a file of another user with a second name is read if that is permitted", () => {
  linkSync(at("a/b/file"), at("a/b/it"));
  const directory = open();
  expect(directory?.text("it", { ...limits, isSingle: false })).toBe("text");
  directory?.close();
});
