import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createMarks } from "./commit.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "steward-apt-test-"));
});

afterEach(() => rmSync(folder, { recursive: true }));

describe("marks that are to be set", () => {
  it("are remembered over attempts, and forgotten", async () => {
    const marks = createMarks(join(folder, "deep"));
    expect(await marks.read("unit")).toEqual([]);
    await marks.remember("unit", ["a", "b:amd64"]);
    await createMarks(join(folder, "deep")).remember("unit", ["b:amd64", "c"]);
    expect(await marks.read("unit")).toEqual(["a", "b:amd64", "c"]);
    expect(await marks.read("other")).toEqual([]);
    await marks.forget("unit");
    expect(await marks.read("unit")).toEqual([]);
  });

  it("are names and nothing else, whatever the file holds", async () => {
    writeFileSync(join(folder, "unit.auto"), "good\n--option=x\n\nBad name\n");
    expect(await createMarks(folder).read("unit")).toEqual(["good"]);
  });
});
