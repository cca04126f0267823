import { readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createEngine, type Engine } from "#adapters/journald/engine.ts";
import { firstDifference } from "../journals/compare.ts";
import { createFolder, fileKinds, type JournalFolder, type Writer } from "../journals/corpora.ts";
import { boots, everyday, machines, start } from "../journals/entries.ts";
import type { NewEntry } from "../journals/export-format.ts";
import { answerOf, byLength, everything, isLong, known } from "../journals/known.ts";
import { pageOf } from "../journals/oracle.ts";
import { canMakeJournals } from "../journals/programs.ts";
import { queriesOn } from "../journals/queries.ts";
import { seed } from "../support/seed.ts";

describe.skipIf(!canMakeJournals()).each(fileKinds.slice(0, 2))(
  "journal: one engine over files that change between queries ($name)",
  (kind) => {
    let folder: JournalFolder & { readonly writer: Writer };
    let engine: Engine;
    let passedMicros = 0;
    const [bootId = "", nextBootId = ""] = boots;

    beforeAll(() => {
      folder = createFolder(kind, 7);
      engine = createEngine({ roots: [{ path: folder.path }] });
    });

    afterAll(() => {
      engine?.dispose();
      folder?.remove();
    });

    const more = (count: number, boot = bootId): readonly NewEntry[] => {
      passedMicros += 3_600_000_000;
      const clock = { bootId: boot, realtime: start + passedMicros, monotonic: passedMicros };
      return everyday(folder.writer.random, clock, count);
    };
    const append = (file: string, entries: readonly NewEntry[]): void => folder.writer.append(file, entries);
    const rotate = (file: string, entries: readonly NewEntry[]): void => folder.writer.rotate(file, entries);
    const oldestArchived = (): string => {
      const [oldest] = readdirSync(folder.path)
        .filter((name) => name.includes("@"))
        .sort();
      if (oldest === undefined) throw new Error("nothing was rotated");
      return join(folder.path, oldest);
    };

    /** In this order: each goes on from what the one before has left. */
    const changes: readonly { readonly name: string; readonly change: () => void }[] = [
      { name: "nothing is there", change: () => undefined },
      { name: "the first file appears", change: () => append("system.journal", more(20)) },
      { name: "it grows by one entry", change: () => append("system.journal", more(1)) },
      { name: "it grows by nothing", change: () => append("system.journal", []) },
      { name: "it grows by many", change: () => append("system.journal", more(700)) },
      { name: "it is rotated", change: () => rotate("system.journal", more(30)) },
      { name: "a user's file appears", change: () => append("user-1000.journal", more(30)) },
      { name: "one goes on in another boot", change: () => append("system.journal", more(40, nextBootId)) },
      { name: "a machine's folder appears", change: () => append(`${machines[0]}/system.journal`, more(10)) },
      { name: "another is rotated", change: () => rotate("user-1000.journal", more(25, nextBootId)) },
      { name: "the oldest is vacuumed", change: () => rmSync(oldestArchived()) },
      { name: "one is renamed", change: () => renameSync(oldestArchived(), join(folder.path, "kept.journal")) },
      {
        name: "another is put in its place",
        change() {
          rmSync(join(folder.path, "system.journal"));
          append("system.journal", more(15, nextBootId));
        },
      },
      {
        name: "all are gone",
        change() {
          for (const name of readdirSync(folder.path)) rmSync(join(folder.path, name), { recursive: true });
        },
      },
      { name: "it begins anew", change: () => append("system.journal", more(15)) },
    ];

    it.each(changes)("$name", { timeout: isLong ? 600_000 : 60_000 }, ({ change }) => {
      change();
      const journal = known(folder);
      const whole = pageOf(journal.all, everything, undefined);
      expect(firstDifference(answerOf(engine, everything), whole)).toBeUndefined();
      fc.assert(
        fc.property(queriesOn(journal.all, []), (query) => {
          const expected = pageOf(journal.all, query, journal.positionOf(query.cursor));
          const difference = firstDifference(answerOf(engine, query), expected);
          if (difference !== undefined) throw new Error(difference);
        }),
        { numRuns: byLength(40, 2_000), seed },
      );
    });
  },
);
