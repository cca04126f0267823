import { basename } from "node:path";
import { describe, expect, it } from "vitest";
import type { Provocation } from "../host/support/provocations.ts";
import { provocations } from "../host/support/provocations.ts";
import { filesBelow, read } from "./project.ts";

const rows = Object.entries<readonly Provocation[]>(provocations).flatMap(([id, list]) =>
  list.map((each) => ({ id, ...each })),
);

/** Checks and titles of the tests of a file that are declared by way of the table. */
const provokedIn = (source: string): readonly string[] =>
  [...source.matchAll(/\bprovoke\(\s*"(\w+)",\s*"([^"]+)",/g)].map(([, id = "", how = ""]) => `${id}: ${how}`);

describe("provocations", () => {
  it("cover every check that comes with the service, and no other", () => {
    const checks = filesBelow("src/domain/health/checks")
      .filter((path) => !path.endsWith(".test.ts"))
      .map((path) => basename(path, ".ts").replaceAll("-", "_"));
    expect(Object.keys(provocations).sort()).toEqual(checks.sort());
    for (const [id, list] of Object.entries<readonly Provocation[]>(provocations)) {
      expect([id, list.length > 0]).toEqual([id, true]);
    }
  });

  it.each([...new Set(rows.map(({ file }) => file))])("are the tests of %s", (file) => {
    const told = rows.filter((row) => row.file === file).map(({ id, how }) => `${id}: ${how}`);
    expect([...provokedIn(read(`test/host/${file}`))].sort()).toEqual([...told].sort());
  });

  it("are in the files that the table names", () => {
    const files = filesBelow("test/host").filter(
      (path) => /\.(?:host|long)\.test\.ts$/.test(path) && provokedIn(read(path)).length > 0,
    );
    expect(files.filter((path) => !rows.some(({ file }) => path === `test/host/${file}`))).toEqual([]);
  });
});
