import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createEngine } from "#adapters/journald/engine.ts";
import { createFolder, fileKinds, type JournalFolder } from "../journals/corpora.ts";
import { boots, start } from "../journals/entries.ts";
import type { NewEntry } from "../journals/export-format.ts";
import { answerOf, everything } from "../journals/known.ts";
import { canMakeJournals } from "../journals/programs.ts";

const count = 20_000;

describe.skipIf(!canMakeJournals())("names of units that anybody can write", () => {
  let folder: JournalFolder;

  beforeAll(() => {
    const [kind] = fileKinds;
    const made = createFolder(kind);
    folder = made;
    const entry = (at: number, ...fields: NewEntry["fields"]): NewEntry => ({
      bootId: boots[0] ?? "",
      realtime: start + at,
      monotonic: at + 1,
      fields: [["MESSAGE", "x"], ...fields],
    });
    made.writer.append("system.journal", [
      entry(0, ["_SYSTEMD_UNIT", "app-1.service"], ["_PID", "5"]),
      entry(1, ["_SYSTEMD_UNIT", "init.scope"], ["_PID", "1"], ["UNIT", "app-1.service"]),
      ...Array.from({ length: count }, (_, at) => entry(at + 2, ["UNIT", `app-forged-${at}.service`], ["_PID", "9"])),
    ]);
  });
  afterAll(() => folder?.remove());

  it("are not looked up one by one", () => {
    const costOf = (unit: string): number => {
      const engine = createEngine({ roots: [{ path: folder.path }] });
      const before = process.cpuUsage();
      expect(answerOf(engine, { ...everything, units: [unit] }).total).toBe(unit === "app-*" ? 2 : 0);
      const { user, system } = process.cpuUsage(before);
      engine.dispose();
      return user + system;
    };
    costOf("nope-*");
    expect(costOf("app-*") / costOf("nope-*")).toBeLessThan(8);
  });
});
