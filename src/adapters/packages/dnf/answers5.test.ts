import { describe, expect, it } from "vitest";
import {
  asksReboot,
  parseAdvisories,
  parseCheck,
  parseCheckUpgrade,
  parseExcludes,
  parseHistory,
  parseTransaction,
  parseVersionLocks,
} from "./answers5.ts";

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

describe("answers of dnf5", () => {
  it("have what an upgrade would bring", () => {
    const upgrades = [
      { name: "alpha", arch: "noarch", evr: "2.0-1", repository: "base" },
      { name: "python3.11", arch: "x86_64", evr: "2:0.9-1", repository: "base" },
      { name: "broken", arch: null },
    ];
    expect(parseCheckUpgrade(json({ upgrades }))).toEqual([
      { name: "alpha", architecture: "noarch", version: "2.0-1" },
      { name: "python3.11", architecture: "x86_64", version: "2:0.9-1" },
    ]);
    expect(parseCheckUpgrade("")).toEqual([]);
  });

  it("have advisories", () => {
    const advisory = {
      name: "TEST-2026:1",
      type: "security",
      severity: "Important",
      nevra: "hole-1.1-1.noarch",
      buildtime: 1767312000,
    };
    expect(parseAdvisories(json([advisory, { ...advisory, nevra: "what" }]))).toEqual([
      { advisory: "TEST-2026:1", name: "hole", version: "1.1-1", architecture: "noarch" },
    ]);
    expect(parseAdvisories("[]\n")).toEqual([]);
    expect(parseAdvisories("")).toEqual([]);
  });

  it("have the transactions, and whether each has an end", () => {
    const list = [
      { id: 5, command_line: "dnf5 upgrade slow", start_time: 1795640153, end_time: 0, status: "Started" },
      { id: 4, command_line: "dnf5 install slow-1.0", start_time: 1795640152, end_time: 1795640152, status: "Ok" },
    ];
    expect(parseHistory(json(list))).toEqual([
      { id: 5, isUnfinished: true },
      { id: 4, isUnfinished: false },
    ]);
    expect(parseHistory("[]\n")).toEqual([]);
  });

  it("have what a transaction was to do, and why each package is there", () => {
    const packages = [
      { nevra: "slow-0:2.0-1.noarch", action: "Upgrade", reason: "User", repository: "base" },
      { nevra: "extra-0:1.0-1.noarch", action: "Install", reason: "Dependency", repository: "base" },
      { nevra: "slow-0:1.0-1.noarch", action: "Replaced", reason: "User", repository: "@System" },
      { nevra: "old-0:1.0-1.noarch", action: "Replaced", reason: "User", repository: "@System" },
      { nevra: "kernel-1:1.0-1.noarch", action: "Remove", reason: "User", repository: "@System" },
      { nevra: "lib-0:1.0-1.noarch", action: "Reason Change", reason: "User", repository: "@System" },
    ];
    const { brought, replaced, removed } = parseTransaction(json([{ id: 5, status: "Started", packages, groups: [] }]));
    expect(brought.map(({ name, version, reason }) => `${name} ${version} ${reason}`)).toEqual([
      "slow 2.0-1 User",
      "extra 1.0-1 Dependency",
    ]);
    expect(removed.map(({ name, version }) => `${name} ${version}`)).toEqual(["old 1.0-1", "kernel 1:1.0-1"]);
    expect(replaced.map(({ name, version }) => `${name} ${version}`)).toEqual(["slow 1.0-1"]);
  });

  it("have what does not fit together, each of two versions once", () => {
    const text = `hopeless-0:1.0-1.noarch
 missing require "nowhere(to-be-had) >= 2"
slow-0:1.0-1.noarch
 duplicate with "slow-0:2.0-1.noarch"
slow-0:2.0-1.noarch
 duplicate with "slow-0:1.0-1.noarch"
torn-1:1.0-1.noarch
 installed conflict "other < 2" from "other-0:1.0-1.noarch"
 obsoleted by "torn < 2" from "other-0:1.0-1.noarch"
Check discovered 5 problem(s) in 4 package(s)
`;
    expect(parseCheck(text)).toEqual({
      unmet: [
        { name: "hopeless", needs: "Requires: nowhere(to-be-had) >= 2" },
        { name: "torn", needs: "Conflicts: other < 2 (other-0:1.0-1.noarch)" },
      ],
      duplicates: [
        {
          old: { name: "slow", version: "1.0-1", architecture: "noarch" },
          kept: { name: "slow", version: "2.0-1", architecture: "noarch" },
        },
      ],
    });
  });

  it("have every older version of three as left beside the newest", () => {
    const versions = ["1.0", "2.0", "3.0"].map((version) => `slow-0:${version}-1.noarch`);
    const text = versions.map((each) =>
      [each, ...versions.filter((other) => other !== each).map((other) => ` duplicate with "${other}"`)].join("\n"),
    );
    const { duplicates } = parseCheck(text.join("\n"));
    expect(duplicates.map(({ old, kept }) => `${old.version} ${kept.version}`)).toEqual(["1.0-1 3.0-1", "2.0-1 3.0-1"]);
  });

  it("have locked packages, and not those of which some versions are excluded", () => {
    const text = `# Added by 'versionlock add' command on 2026-11-25 20:59:07
Package name: steady
evr = 1.0-1

Package name: hole
evr != 1.1-1
evr != 1.2-1

Package name: stea*
evr = 1.0-1
arch = noarch
`;
    expect(parseVersionLocks(text)).toEqual(["steady-0:1.0-1", "stea*-0:1.0-1"]);
    expect(parseVersionLocks("")).toEqual([]);
    expect(parseExcludes("exclude = a,b*\nexclude_from_weak = c\nexcludepkgs = a,b*\nincludepkgs = \n")).toEqual([
      "a",
      "b*",
    ]);
    expect(parseExcludes("excludepkgs = \n")).toEqual([]);
  });

  it("have whether a reboot is required", () => {
    const answer = { type: "reboot", reboot_required: true, packages: [], documentation: "" };
    expect(asksReboot(json([answer]))).toBe(true);
    expect(asksReboot(json([{ ...answer, reboot_required: false }]))).toBe(false);
    expect(asksReboot("")).toBe(false);
  });
});
