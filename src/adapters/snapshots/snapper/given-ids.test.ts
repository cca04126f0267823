import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { readGivenIds, writeGivenIds } from "./records.ts";

let base: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "steward-ids-"));
});
afterEach(() => rmSync(base, { recursive: true }));

it("are there again as they were written, those of the last time alone, for nobody else to read", async () => {
  const folder = join(base, "state");
  expect(await readGivenIds(folder)).toEqual(new Map());
  writeGivenIds(folder, new Map([["1 1000", "20260131-235905"]]));
  const ids = new Map([["2 1000", "20260131-235906"]]);
  writeGivenIds(folder, ids);
  writeGivenIds(folder, ids);
  expect(await readGivenIds(folder)).toEqual(ids);
  expect(readdirSync(folder)).toEqual(["snapper-ids.json"]);
  expect(statSync(join(folder, "snapper-ids.json")).mode & 0o777).toBe(0o600);
});

it("are none where something else was written, and where they are damaged: no snapshot is lost for it", async () => {
  writeFileSync(join(base, "snapper-ids.json"), '{"1 1000":"../../etc","2 1000":7,"3 1000":"20260131-235905"}');
  expect([...(await readGivenIds(base))]).toEqual([["3 1000", "20260131-235905"]]);
  for (const damaged of ["", "{", "[]", "null"]) {
    writeFileSync(join(base, "snapper-ids.json"), damaged);
    expect(await readGivenIds(base)).toEqual(new Map());
  }
});
