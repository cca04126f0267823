import { readdirSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createEngine, type Engine } from "#adapters/journald/engine.ts";
import type { LogQuery } from "#domain/ports/journal.ts";
import { copiesCorpus, fileKinds, type JournalFolder, writeCorpus } from "../journals/corpora.ts";
import { counterOf, expectCounts } from "../journals/counts.ts";
import { answerOf, bySize, everything } from "../journals/known.ts";
import { dumpJournal, type KnownEntry, matchingEntries } from "../journals/oracle.ts";
import { canMakeJournals } from "../journals/programs.ts";
import { queriesOn } from "../journals/queries.ts";
import { seed } from "../support/seed.ts";

/** An entry, whichever file it is in. */
const identityOf = (cursor: string): string => cursor.replace(/^s=[^;]*;i=[^;]*;/, "");

describe.skipIf(!canMakeJournals())("entries that several files hold", () => {
  let folder: JournalFolder;
  /** What the files hold, each entry once. journalctl itself, asked for all files, gives some twice and loses others. */
  let all: readonly KnownEntry[];
  let engine: Engine;

  beforeAll(() => {
    const [kind] = fileKinds;
    folder = writeCorpus(copiesCorpus, kind, seed);
    const files = readdirSync(folder.path, { recursive: true, encoding: "utf8" }).filter((name) =>
      /\.journal$/.test(name),
    );
    const entries = files.flatMap((name) => dumpJournal(["--file", join(folder.path, name)]));
    all = [...new Map(entries.map((each) => [identityOf(each.entry.cursor), each])).values()].toSorted(
      (left, right) => left.realtime - right.realtime,
    );
    engine = createEngine({ roots: [{ path: folder.path }] });
  });
  afterAll(() => {
    engine?.dispose();
    folder?.remove();
  });

  function pagesOf(query: LogQuery, order: "asc" | "desc", limit: number): readonly string[] {
    const pages: string[] = [];
    const first = answerOf(engine, { ...query, order: "desc" }).logs.at(-1)?.cursor;
    let cursor = order === "asc" ? first : undefined;
    if (order === "asc" && first !== undefined) pages.push(first);
    for (let hasMore = true; hasMore; ) {
      const { logs, next_cursor: next } = answerOf(engine, { ...query, cursor, order, limit });
      pages.push(...logs.map((entry) => entry.cursor));
      hasMore = logs.length > 0 && next !== null;
      cursor = next ?? undefined;
    }
    return order === "asc" ? pages : pages.toReversed();
  }

  it("are counted and listed once, whatever is asked", { timeout: 300_000 }, async () => {
    const questions = fc.tuple(queriesOn(all, []), fc.integer({ min: 1, max: 30 }));
    await fc.assert(
      fc.asyncProperty(questions, async ([asked, limit]) => {
        const query = { ...asked, cursor: undefined, order: "desc", limit: everything.limit } as const;
        const expected = matchingEntries(all, query).map(({ entry }) => identityOf(entry.cursor));
        const { logs, total } = answerOf(engine, query);
        expect(logs.map(({ cursor }) => identityOf(cursor)).sort()).toEqual(expected.toSorted());
        expect(total).toBe(expected.length);
        await expectCounts(counterOf(engine), all, query, limit);
        const listed = logs.map(({ cursor }) => cursor).reverse();
        expect(pagesOf(query, "desc", limit)).toEqual(listed);
        expect(pagesOf(query, "asc", limit)).toEqual(listed);
      }),
      { numRuns: bySize(8, 40, 2_000), seed },
    );
  });
});
