import { describe, expect, it } from "vitest";
import { compareTrees, isKeptOut, keptOut, mountsBelow, type TreeEntry } from "./tree.ts";

const owned = { uid: 0, gid: 0 };
const file = (path: string, rest: Partial<Extract<TreeEntry, { type: "file" }>> = {}): TreeEntry => {
  return { ...owned, path, type: "file", mode: 0o644, mtimeMs: 1, size: 1, sha256: "aa", ...rest };
};
const directory = (path: string, mode = 0o755): TreeEntry => ({ ...owned, path, type: "folder", mode });
const link = (path: string, target: string): TreeEntry => ({ ...owned, path, type: "link", target });

describe("what has changed of files", () => {
  it("is content, mode, owner, kind and target, and no time alone", () => {
    const earlier = [
      directory(""),
      file("a"),
      file("b"),
      file("c"),
      file("d"),
      file("e"),
      directory("f"),
      link("g", "x"),
      file("z"),
    ];
    const later = [
      directory(""),
      file("a", { mtimeMs: 2 }),
      file("b", { sha256: "bb" }),
      file("c", { mode: 0o600 }),
      file("d", { uid: 7 }),
      link("e", "a"),
      directory("f", 0o700),
      link("g", "y"),
      file("h"),
    ];
    expect(compareTrees(earlier, later).map(({ path, change }) => `${path} ${change}`)).toEqual([
      "b modified",
      "c modified",
      "d modified",
      "e modified",
      "f modified",
      "g modified",
      "h added",
      "z removed",
    ]);
    expect(compareTrees(earlier, earlier)).toEqual([]);
  });

  it("ignores what is mounted there", () => {
    const mountinfo = [
      "21 1 0:20 / / rw - btrfs /dev/x rw",
      "22 21 0:21 /resolv.conf /etc/resolv.conf rw - tmpfs tmpfs rw",
      "23 21 0:22 / /etc/a\\040b/c rw - tmpfs tmpfs rw",
      "24 21 0:23 / /etcetera rw - tmpfs tmpfs rw",
    ].join("\n");
    expect([...mountsBelow(mountinfo, "/etc")]).toEqual(["resolv.conf", "a b/c"]);
  });

  it("ignores excluded paths, each for a reason", () => {
    for (const [path, reason] of Object.entries(keptOut)) {
      expect([path, isKeptOut(path), reason.length > 10]).toEqual([path, true, true]);
    }
    expect(isKeptOut("steward/config.yaml")).toBe(true);
    expect(["", "steward.d", "apt/machine-id", "passwd", "constructor"].filter(isKeptOut)).toEqual([]);
  });
});
