import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { demandSame } from "../common/changes.ts";
import { targetsOf } from "./commit.ts";
import { type InstalledRecord, parseDescribed, parseInstalled } from "./records.ts";
import { isMeant, parsePrinted, planFrom } from "./simulation.ts";

const installed = (name: string, version: string): InstalledRecord => {
  const text = `%NAME%\n${name}\n\n%VERSION%\n${version}\n\n%SIZE%\n1000\n`;
  return parseInstalled(text) as InstalledRecord;
};

const details = [
  "Repository      : core",
  "Name            : successor",
  "Version         : 2.0-1",
  "Architecture    : x86_64",
  "Conflicts With  : replaced",
  "Replaces        : replaced  older<2",
  "Download Size   : 392.00 B",
  "Installed Size  : 1.50 KiB",
  "",
  "Repository      : core",
  "Name            : app",
  "Version         : 2.0-1",
  "Architecture    : any",
  "Replaces        : None",
  "Installed Size  : 2.00 MiB",
  "",
].join("\n");

describe("what pacman prints", () => {
  it("is read row by row", () => {
    const field = fc.stringMatching(/^[a-z0-9][a-z0-9.:_-]{0,9}$/);
    fc.assert(
      fc.property(fc.array(fc.tuple(field, field, field, fc.nat())), (rows) => {
        const text = rows.map((row) => `${row.join("\t")}\n`).join("");
        expect(parsePrinted(text)).toEqual(
          rows.map(([repository, name, version, downloadBytes]) => ({ repository, name, version, downloadBytes })),
        );
      }),
    );
  });

  it("has details", () => {
    expect(parseDescribed(details)).toMatchObject([
      {
        name: "successor",
        version: "2.0-1",
        architecture: "x86_64",
        installedBytes: 1536,
        replaces: ["replaced", "older<2"],
        conflicts: ["replaced"],
      },
      { name: "app", version: "2.0-1", architecture: "any", installedBytes: 2_097_152, replaces: [], conflicts: [] },
    ]);
  });
});

describe("plans", () => {
  const rows = [
    { repository: "core", name: "app", version: "2.0-1", downloadBytes: 380 },
    { repository: "core", name: "successor", version: "2.0-1", downloadBytes: 392 },
  ];
  const present = [installed("app", "1.0-1"), installed("replaced", "1.0-1"), installed("older", "3.0-1")];
  const plan = planFrom(rows, parseDescribed(details), present);

  it("name what is replaced, which pacman does not print", () => {
    expect(plan).toEqual({
      changes: [
        { name: "app", architecture: "any", from: "1.0-1", to: "2.0-1", isSecurity: false },
        { name: "successor", architecture: "x86_64", from: null, to: "2.0-1", isSecurity: false },
        { name: "replaced", architecture: "any", from: "1.0-1", to: null, isSecurity: false },
      ],
      downloadBytes: 772,
      diskBytes: 2_097_152 - 1000 + 1536 - 1000,
    });
  });

  it("leave to pacman what is new", () => expect(targetsOf(rows, plan)).toEqual(["core/app=2.0-1"]));

  it("are refused where they are no longer what would be done", () => {
    demandSame(plan.changes, plan.changes);
    expect(() => demandSame(plan.changes, plan.changes.slice(1))).toThrow("(now app 2.0-1)");
    expect(() => demandSame(plan.changes.slice(0, 2), plan.changes)).toThrow("(now app 2.0-1");
  });
});

describe("what is replaced", () => {
  it.each([
    ["lib", true],
    ["other", false],
    ["lib<2", true],
    ["lib<1", false],
    ["lib<=1.5", true],
    ["lib=1.5-1", true],
    ["lib=1.5-2", false],
    ["lib>1.5", false],
    ["lib>=1:0", false],
  ])("%s", (what, isSo) => expect(isMeant(what, { name: "lib", version: "1.5-1" })).toBe(isSo));
});
