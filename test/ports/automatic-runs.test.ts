import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openAutomaticRuns, readAutomaticRun } from "#adapters/automatic-runs/index.ts";
import type { AutomaticRun } from "#domain/ports/automatic-runs.ts";
import { createFakeAutomaticRuns } from "../fakes/automatic-runs.ts";

let stateDir: string;
let troubles: unknown[];
beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), "steward-automatic-"));
  troubles = [];
});
afterEach(() => rmSync(stateDir, { recursive: true, force: true }));
const openReal = (dir = stateDir) =>
  openAutomaticRuns({ stateDir: dir, onTrouble: (error) => void troubles.push(error) });

const run: AutomaticRun = {
  windowOpenedAt: 1000,
  endedAt: 2000,
  outcome: "installed",
  message: "1 package updated",
  operationId: "op",
  rebootAt: null,
};

describe.each([
  ["fake", createFakeAutomaticRuns],
  ["file", openReal],
])("the last run of automatic updates: %s", (_, open) => {
  it("is none at first, and then the one saved last", () => {
    const runs = open();
    expect(runs.last()).toBeUndefined();
    runs.save(run);
    runs.save({ ...run, windowOpenedAt: 5000, rebootAt: 6000 });
    expect(runs.last()).toEqual({ ...run, windowOpenedAt: 5000, rebootAt: 6000 });
  });
});

describe("the file of automatic updates", () => {
  it("is read by the next process", () => {
    openReal().save(run);
    expect(openReal().last()).toEqual(run);
    expect(troubles).toEqual([]);
  });

  it.each(["", "{", "[]", JSON.stringify({ ...run, outcome: "great" }), JSON.stringify({ ...run, endedAt: "now" })])(
    "counts for nothing when it has %j",
    (text) => {
      writeFileSync(join(stateDir, "automatic-updates.json"), text);
      expect(readAutomaticRun(text)).toBeUndefined();
      expect(openReal().last()).toBeUndefined();
    },
  );

  it("that cannot be written is told, and the run counts all the same", () => {
    const runs = openReal(join(stateDir, "missing"));
    runs.save(run);
    expect(runs.last()).toEqual(run);
    expect(troubles).toHaveLength(1);
  });
});
