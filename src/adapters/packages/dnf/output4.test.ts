import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  failureReason,
  parseLockConflict,
  parsePlan,
  parseScriptErrors,
  parseSummary,
  parseTable,
  scriptFailures,
} from "./output4.ts";

const early = `Running transaction
  Preparing        :                                                        1/1 
  Running scriptlet: early-2.0-1.noarch                                     1/2 
error: lua script failed: [string "%prein(early-2.0-1.noarch)"]:1: I will not

Error in PREIN scriptlet in rpm package early
  Verifying        : early-2.0-1.noarch                                     1/2 
Error: Transaction failed
`;

const late = `  Upgrading        : late-2.0-1.noarch                                      1/2 
  Running scriptlet: late-2.0-1.noarch                                      1/2 
cannot reach the daemon
warning: %post(late-2.0-1.noarch) scriptlet failed, exit status 1

Error in POSTIN scriptlet in rpm package late
  Cleanup          : late-1.0-1.noarch                                      2/2 
Complete!
`;

describe("why dnf failed", () => {
  it("is what a script of a package said", () => {
    expect(failureReason(early, 1)).toBe(
      'early: its PREIN script failed (error: lua script failed: [string "%prein(early-2.0-1.noarch)"]:1: I will not)',
    );
    expect(scriptFailures(late)).toBe("late: its POSTIN script failed (cannot reach the daemon)");
    expect(parseScriptErrors(late)).toEqual([{ name: "late", script: "POSTIN", said: "cannot reach the daemon" }]);
  });

  it("is a signature that is missing or foreign", () => {
    const foreign =
      'The GPG keys listed for the "base" repository are already installed but they are not correct for this package.\nCheck that the correct key URLs are configured for this repository.. Failing package is: foreign-2.0-1.noarch\n GPG Keys are configured as: file:///root/maker.asc\n';
    const text = `${foreign}Package bare-2.0-1.noarch.rpm is not signed\nError: GPG check FAILED\n`;
    expect(failureReason(text, 1)).toMatch(
      /^bare-2\.0-1\.noarch\.rpm is not signed, so it cannot be verified: .*; foreign-2\.0-1\.noarch is signed with a key that is not among those/,
    );
  });

  it("names three scripts and counts the others", () => {
    const text = ["a", "b", "c", "d", "e"].map((name) => `Error in POSTIN scriptlet in rpm package ${name}\n`).join("");
    expect(scriptFailures(text)).toMatch(/^a: .*; b: .*; c: .*; and 2 more scripts$/);
  });

  it.each([
    [
      'Error: The following problems occurred while replaying the transaction from file "/run/x.json":\n  Cannot find rpm nevra "pre-3.0-1.noarch".\n',
      'The following problems occurred while replaying the transaction from file "/run/x.json": Cannot find rpm nevra "pre-3.0-1.noarch".',
    ],
    [
      "No match for argument: a\nError: No packages marked for upgrade.\n",
      "No match for argument: a; No packages marked for upgrade.",
    ],
    [
      "Error: \n Problem: conflicting requests\n  - nothing provides nowhere-to-be-had needed by hopeless-1.0-1.noarch\n(try to add '--skip-broken' to skip uninstallable packages)\n",
      "Problem: conflicting requests - nothing provides nowhere-to-be-had needed by hopeless-1.0-1.noarch",
    ],
    [
      "All matches were filtered out by exclude filtering for argument: extra\nError: Unable to find a match: extra\n",
      "All matches were filtered out by exclude filtering for argument: extra; Unable to find a match: extra",
    ],
    ["something went\nwrong\n", "wrong"],
    ["", "exit code 7"],
  ])("%j", (text, reason) => expect(failureReason(text, 7)).toBe(reason));
});

describe("a held lock", () => {
  it.each([
    ["RPMDB already locked by 1771\n  The application with PID 1771 is: dnf\n", { pid: 1771 }],
    ["Waiting for process with pid 12 to finish.\n", { pid: 12 }],
    [
      "error: can't create transaction lock on /var/lib/rpm/.rpm.lock (Resource temporarily unavailable)\n",
      { pid: undefined },
    ],
    ["Error: Transaction failed\n", undefined],
  ])("%j", (text, conflict) => expect(parseLockConflict(text)).toEqual(conflict));
});

const line = "=".repeat(80);
const text = `Last metadata expiration check: 0:00:01 ago on Sat Nov 21 23:31:17 2026.
Dependencies resolved.
${line}
 Package         Architecture    Version              Repository           Size
${line}
Installing:
 kernel-core     x86_64          5.14.0-2.el9         baseos               18 M
 newer           noarch          2.0-1                base                6.2 k
     replacing  older.noarch 1.0-1
     replacing  oldest.x86_64 2:1.0-1
Upgrading:
 a-name-that-is-far-too-long-for-its-column
                 noarch          1:2.0-1              base                6.1 k
 tiny            noarch          2.0-1                base                11  
Installing dependencies:
 extra           noarch          1.0-1                base                6.1 k
Downgrading:
 down            noarch          0.9-1                base                6.1 k
Removing:
 kernel-core     x86_64          5.13.0-1.el9         @baseos              59 M
Removing dependent packages:
 needy           noarch          1.0-1                @System               0  
Skipping packages with broken dependencies:
 broken          noarch          3.0-1                base                6.1 k

Transaction Summary
${line}
Install    3 Packages
Upgrade    2 Packages
Remove     2 Packages
Downgrade  1 Package
Skip       1 Package

Total download size: 18 M
Operation aborted.
`;

const row = (kind: string, name: string, version: string, rest: object = {}) => ({
  kind,
  name,
  architecture: "noarch",
  version,
  repository: "base",
  replaces: [],
  ...rest,
});

describe("the table of a transaction of dnf", () => {
  it("is read completely, without what is skipped", () => {
    const kernel = { architecture: "x86_64", repository: "baseos" };
    expect(parseTable(text)).toEqual([
      row("install", "kernel-core", "5.14.0-2.el9", kernel),
      row("install", "newer", "2.0-1", { replaces: ["older-1.0-1.noarch", "oldest-2:1.0-1.x86_64"] }),
      row("upgrade", "a-name-that-is-far-too-long-for-its-column", "1:2.0-1"),
      row("upgrade", "tiny", "2.0-1"),
      row("install", "extra", "1.0-1"),
      row("downgrade", "down", "0.9-1"),
      row("remove", "kernel-core", "5.13.0-1.el9", { architecture: "x86_64", repository: "@baseos" }),
      row("remove", "needy", "1.0-1", { repository: "@System" }),
    ]);
    expect(parseSummary(text)).toBe(8);
    expect(parsePlan(text)).toEqual(parseTable(text));
  });

  it("is not believed with a row fewer than are counted", () => {
    expect(() => parsePlan(text.replace(/^ extra .*\n/m, ""))).toThrow("cannot read what dnf would do");
  });

  it("is not there when there is nothing to do", () => {
    expect(parseTable("Dependencies resolved.\nNothing to do.\nComplete!\n")).toBeUndefined();
    expect(parseSummary("")).toBe(0);
  });

  it("is never read differently because of what stands around it", () => {
    fc.assert(
      fc.property(fc.string(), (noise) => {
        fc.pre(!noise.includes("="));
        expect(parseTable(`${noise}\n${text}`)).toEqual(parseTable(text));
      }),
    );
  });
});
