import { describe, expect, it } from "vitest";
import { openAutomaticRuns, readAutomaticRun } from "#adapters/automatic-runs/index.ts";
import type { AutomaticRun } from "#domain/ports/updates.ts";
import { directoryPerTest, writeFiles } from "./support/directories.ts";

const at = directoryPerTest();
const run: AutomaticRun = {
  ...{ windowOpenedAt: 1000, endedAt: 2000, outcome: "installed", message: "1 package updated" },
  ...{ operationId: "op", rebootAt: null },
};

describe("the last run of automatic updates", () => {
  it("is the one saved last, also for the next process", () => {
    const open = () => openAutomaticRuns({ stateDir: at(), onTrouble: (error) => expect.unreachable(String(error)) });
    const runs = open();
    expect(runs.last()).toBeUndefined();
    for (const each of [run, { ...run, windowOpenedAt: 5000, rebootAt: 6000 }]) runs.save(each);
    for (const each of [runs, open()]) expect(each.last()).toEqual({ ...run, windowOpenedAt: 5000, rebootAt: 6000 });
  });

  it.each(["", "{", "[]", JSON.stringify({ ...run, outcome: "great" }), JSON.stringify({ ...run, endedAt: "now" })])(
    "is none where its file has %j",
    (text) => {
      writeFiles(at(), { "automatic-updates.json": text });
      expect(readAutomaticRun(text)).toBeUndefined();
      expect(openAutomaticRuns({ stateDir: at(), onTrouble: () => undefined }).last()).toBeUndefined();
    },
  );

  it("counts where it cannot be written, which is reported", () => {
    const troubles: unknown[] = [];
    const runs = openAutomaticRuns({ stateDir: at("missing"), onTrouble: (error) => void troubles.push(error) });
    runs.save(run);
    expect([runs.last(), troubles.length]).toEqual([run, 1]);
  });
});
