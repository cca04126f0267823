import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseSummary, parseTable } from "./simulation.ts";

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
