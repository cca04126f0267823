import { describe, expect, it } from "vitest";
import {
  hasTransactions,
  isUnfinished,
  parseAdvisories,
  parseCheck,
  parseCheckUpdate,
  parseExcludes,
  parseVersionLocks,
  unfinishedIn,
} from "./answers4.ts";
import { locksOf } from "./dialect4.ts";

describe("lists of dnf", () => {
  it("have what an upgrade would bring, and not what replaces other packages", () => {
    const text = `
alpha.noarch                             2.0-1                             base 
python3.11.x86_64                        2:0.9-1                           base 
a-name-that-is-far-too-long-for-its-column.noarch
                                         2.0-1                             base 
Obsoleting Packages
newer.noarch                             2.0-1                             base 
    older.noarch                         1.0-1                             @base
Security: kernel-core-5.14.0-2.el9.x86_64 is an installed security update
`;
    expect(parseCheckUpdate(text).map(({ name, architecture, version }) => [name, architecture, version])).toEqual([
      ["alpha", "noarch", "2.0-1"],
      ["python3.11", "x86_64", "2:0.9-1"],
      ["a-name-that-is-far-too-long-for-its-column", "noarch", "2.0-1"],
    ]);
    expect(parseCheckUpdate(`${text.split("Obsoleting")[0]}${text.split("\n").at(-2)}\n`)).toHaveLength(3);
  });

  it("have advisories", () => {
    const text =
      "TEST-2026:1 Important/Sec. hole-1.1-1.noarch\ni TEST-2026:2 Moderate/Sec.  lib-2:2.0-1.x86_64\nnothing here\n";
    expect(parseAdvisories(text)).toEqual([
      { advisory: "TEST-2026:1", name: "hole", version: "1.1-1", architecture: "noarch" },
      { advisory: "TEST-2026:2", name: "lib", version: "2:2.0-1", architecture: "x86_64" },
    ]);
  });

  it("have broken dependencies and duplicates", () => {
    const text = `slow-1.0-1.noarch is a duplicate with slow-2.0-1.noarch
needy-1.0-1.noarch has missing requires of lib(x) >= 2
torn-1.0-1.noarch has installed conflict "other < 2": other-1.0-1.noarch
old-1.0-1.noarch is obsoleted by new-2.0-1.noarch
`;
    expect(parseCheck(text)).toEqual({
      unmet: [
        { name: "needy", needs: "Requires: lib(x) >= 2" },
        { name: "torn", needs: 'Conflicts: "other < 2": other-1.0-1.noarch' },
      ],
      duplicates: [
        {
          old: { name: "slow", version: "1.0-1", architecture: "noarch" },
          kept: { name: "slow", version: "2.0-1", architecture: "noarch" },
        },
      ],
    });
  });

  it("know whether the last transaction ended", () => {
    const killed = `End rpmdb      :  **
Return-Code    : Failure: 1
Packages Altered:
 ** Upgrade  slow-2.0-1.noarch @base
 ** Upgraded slow-1.0-1.noarch @@System
`;
    expect(isUnfinished(killed)).toBe(true);
    expect(unfinishedIn(`${killed} ** Obsoleted old-1:1.0-1.noarch @base\n`)).toEqual({
      brought: [{ name: "slow", version: "2.0-1", architecture: "noarch" }],
      removed: [{ name: "old", version: "1:1.0-1", architecture: "noarch" }],
    });
    expect(isUnfinished("End rpmdb      : 4b1eecba41e4\nReturn-Code    : Success\n")).toBe(false);
    expect(hasTransactions("ID     | Command line | Date and time    | Action(s)      | Altered\n-----\n")).toBe(false);
    expect(hasTransactions("     1 | install a    | 2026-11-21 23:31 | Install        |    9   \n")).toBe(true);
  });

  it("have version locks and excludes", () => {
    expect(parseVersionLocks("# comment\nheld-0:1.0-1.*\n\n!barred-0:2.0-1.*\nother # why\n")).toEqual([
      "held-0:1.0-1.*",
      "other",
    ]);
    const settings = "[main]\ngpgcheck=1\nexcludepkgs = a, b*\n  c\nexclude=d\n[repo]\nexcludepkgs=not-this\n";
    expect(parseExcludes(settings)).toEqual(["a", "b*", "c", "d"]);
    expect(parseExcludes("")).toEqual([]);
  });
});

describe("version locks of dnf", () => {
  const steady = { name: "steady", version: "1.0-1", architecture: "noarch" };

  it("are found for a package itself, without patterns and exclusions", () => {
    const list = `
# Added lock on Thu Nov 26 12:00:00 2026
steady-0:1.0-1.*
!steady-0:2.0-1.*
stea*
steady-0:0.9-1.*
steady-libs-0:1.0-1.*
steady
[a-z]*
`;
    expect(locksOf(list, [steady])).toEqual(["steady-0:1.0-1.*", "steady"]);
    expect(locksOf("", [steady])).toEqual([]);
    expect(locksOf(list, [])).toEqual([]);
  });
});
