import { readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createEngine, type Engine } from "#adapters/journald/engine.ts";
import { type LogQuery, LogQueryRefused } from "#domain/ports/journal.ts";
import { firstDifference } from "../journals/compare.ts";
import { type Corpus, corpora, fileKinds, type JournalFolder, writeCorpus } from "../journals/corpora.ts";
import { counterOf, expectCounts } from "../journals/counts.ts";
import { boots, machines } from "../journals/entries.ts";
import { incompatible, readHeaderField, writeHeaderField } from "../journals/file-header.ts";
import { answerOf, bySize, cursorsOf, everything, isLong, type Known, known } from "../journals/known.ts";
import {
  always,
  askForMatching,
  askForPage,
  canAskJournalctl,
  dumpJournal,
  isOfOneMoment,
  type KnownEntry,
  matchingEntries,
  pageOf,
} from "../journals/oracle.ts";
import { canMakeJournals } from "../journals/programs.ts";
import { queriesOn } from "../journals/queries.ts";
import { seed } from "../support/seed.ts";

const queriesPerFolder = bySize(10, 100, 5_000);
const asksPerFolder = bySize(1, 8, 200);
const timeoutMs = isLong ? 1_800_000 : 120_000;

/**
 * Every corpus in one kind of file, each kind in turn; where more is tried in the default kind and in one that shares no flag with it
 * but compression, and the first in all kinds.
 */
const cases = corpora.flatMap((corpus, position) => {
  const fitting = fileKinds.filter(({ keyedHash }) => corpus.isForUnkeyed !== true || !keyedHash);
  const inTurn = fitting.filter((_, at) => at === position % fitting.length);
  const kinds = bySize(inTurn, position === 0 ? fitting : fitting.slice(0, 2), fitting);
  return kinds.map((kind) => ({ name: `${corpus.name} (${kind.name})`, corpus, kind }));
});

/**
 * Whether an entry that journalctl gave for the query's cursor belongs to the page: it knows no window beside a cursor, and
 * of the entries of other files in the cursor's very microsecond it gives those that it had given before once more.
 */
function isWithin(all: readonly KnownEntry[], { since, until, cursor, order }: LogQuery, given: string): boolean {
  const at = all.findIndex(({ entry }) => entry.cursor === given);
  const realtime = all[at]?.realtime ?? -1;
  if (realtime < since || realtime > until) return false;
  if (cursor === undefined || !isOfOneMoment(cursor, given)) return true;
  const from = all.findIndex(({ entry }) => entry.cursor === cursor);
  return from === -1 || (order === "asc" ? at > from : at < from);
}

/** Cursors of a journal that the folder under test never had. */
function foreignCursors(corpus: Corpus): readonly string[] {
  if (!corpus.soundClocks) return [];
  const other = corpora[corpora.indexOf(corpus) === 1 ? 2 : 1];
  const kind = fileKinds[0];
  if (other === undefined || kind === undefined) return [];
  const folder = writeCorpus(other, kind, 99);
  try {
    return cursorsOf(dumpJournal(["-D", folder.path])).filter((_, position) => position % 40 === 0);
  } finally {
    folder.remove();
  }
}

const canRun = canMakeJournals();

describe.skipIf(!canRun)("journal: engine against journalctl", () => {
  describe.each(cases)("$name", ({ corpus, kind }) => {
    let journal: Known;
    let engine: Engine;
    let queries: fc.Arbitrary<LogQuery>;
    const damaged: string[] = [];

    beforeAll(() => {
      journal = known(writeCorpus(corpus, kind));
      engine = createEngine({
        roots: [{ path: journal.folder.path }],
        onDamage: ({ path }) => damaged.push(path.slice(journal.folder.path.length + 1)),
      });
      queries = queriesOn(journal.all, foreignCursors(corpus));
    });

    afterAll(() => {
      engine?.dispose();
      journal?.folder.remove();
    });

    it("gives the whole journal, and takes no sound file for a damaged one", () => {
      const expected = pageOf(journal.all, everything, undefined);
      expect(firstDifference(answerOf(engine, everything), expected)).toBeUndefined();
      expect(damaged.filter((path) => !/^(short|nothing|text|folder)\.journal$/.test(path))).toEqual([]);
    });

    it("finds each entry by its unit", () => {
      const { logs } = answerOf(engine, everything);
      for (const [unit, entries] of Map.groupBy(logs, (entry) => entry.unit)) {
        if (unit === "") continue;
        const found = new Set(answerOf(engine, { ...everything, units: [unit] }).logs.map(({ cursor }) => cursor));
        expect([unit, entries.filter(({ cursor }) => !found.has(cursor))]).toEqual([unit, []]);
      }
    });

    it("answers any query as journalctl's entries say", { timeout: timeoutMs }, () => {
      fc.assert(
        fc.property(queries, (query) => {
          const expected = pageOf(journal.all, query, journal.positionOf(query.cursor));
          const difference = firstDifference(answerOf(engine, query), expected);
          if (difference !== undefined) throw new Error(difference);
        }),
        { numRuns: queriesPerFolder, seed },
      );
    });

    it("counts what any query finds, over time and by value", { timeout: timeoutMs }, async () => {
      const most = fc.constantFrom(1, 2, 7, 60, 1000);
      await fc.assert(
        fc.asyncProperty(queries, most, (query, buckets) =>
          expectCounts(counterOf(engine), journal.all, query, buckets),
        ),
        { numRuns: queriesPerFolder, seed },
      );
    });

    it("is judged by what journalctl's own filters give", { timeout: timeoutMs }, () => {
      const asked = fc
        .sample(queries, { numRuns: asksPerFolder, seed: seed + 1 })
        .map((query) => (corpus.soundClocks ? query : { ...query, ...always }))
        .filter(canAskJournalctl);
      for (const query of asked) {
        const matching = matchingEntries(journal.all, query);
        expect([query, askForMatching(journal.source, query)]).toEqual([query, cursorsOf(matching)]);
        const within = (cursor: string): boolean => isWithin(journal.all, query, cursor);
        const answer = answerOf(engine, query);
        expect([query, answer.logs.map(({ cursor }) => cursor)]).toEqual([
          query,
          askForPage(journal.source, query, within),
        ]);
        expect([query, answer.total]).toEqual([query, matching.length]);
      }
    });

    it.each(["asc", "desc"] as const)("pages through everything by next_cursor, %s", (order) => {
      const pages: string[] = [];
      let cursor = order === "asc" ? journal.all[0]?.entry.cursor : undefined;
      if (order === "asc" && cursor !== undefined) pages.push(cursor);
      for (let more = true; more; ) {
        const { logs, next_cursor: next } = answerOf(engine, { ...everything, cursor, order, limit: 97 });
        pages.push(...logs.map((entry) => entry.cursor));
        more = logs.length > 0 && next !== null;
        cursor = next ?? undefined;
      }
      const expected = cursorsOf(journal.all);
      expect(pages).toEqual(order === "asc" ? expected : [...expected].reverse());
    });
  });
});

describe.skipIf(!canRun)("journal: cursors, folders and formats", () => {
  const [kind] = fileKinds;
  const open: { readonly folder: JournalFolder; readonly engine: Engine }[] = [];
  const write = (name: string): JournalFolder => {
    const corpus = corpora.find((each) => each.name === name);
    if (corpus === undefined || kind === undefined) throw new Error(`no corpus is called ${name}`);
    return writeCorpus(corpus, kind);
  };
  const use = (folder: JournalFolder, machineId?: string): Engine => {
    const engine = createEngine({ roots: [{ path: folder.path, ...(machineId === undefined ? {} : { machineId }) }] });
    open.push({ folder, engine });
    return engine;
  };

  afterAll(() => {
    for (const { folder, engine } of open) {
      engine.dispose();
      folder.remove();
    }
  });

  it.each([0, 1, 2])("goes on where the entries of archived file %i were, once they are vacuumed", (position) => {
    const folder = write("one boot in files that were rotated");
    const before = cursorsOf(dumpJournal(["-D", folder.path]));
    const archived = readdirSync(folder.path)
      .filter((name) => name.includes("@"))
      .sort();
    rmSync(join(folder.path, archived[position] ?? ""));
    const journal = known(folder);
    const present = new Set(cursorsOf(journal.all));
    const gone = before.filter((cursor) => !present.has(cursor));
    expect(gone.length).toBeGreaterThan(0);
    const engine = use(folder);
    // For each journalctl says where it was, a process each time.
    for (const cursor of gone.filter((_, at) => at % bySize(8, 1, 1) === 0)) {
      for (const order of ["asc", "desc"] as const) {
        const query = { ...everything, cursor, order, limit: 7, priority: 5 };
        const expected = pageOf(journal.all, query, journal.positionOf(cursor));
        expect([query, firstDifference(answerOf(engine, query), expected)]).toEqual([query, undefined]);
      }
    }
  });

  it("believes only systemd and root about the unit of another's entry", () => {
    const messagesOf = (unit: string): readonly string[] => {
      const { logs } = answerOf(engine, { ...everything, units: [unit] });
      return logs.filter((entry) => entry.unit === unit && entry.message.length < 100).map(({ message }) => message);
    };
    const engine = use(write("every kind of entry in one file"));
    const claims = ["forged", "forged as ten", "not dumped", "no id", "claims b", "forged by c", "claimed by c"];
    const believed = ["Started a.", "dumped core", "about b", "of a and about b"];
    const ofBoth = [...messagesOf("a.service"), ...messagesOf("b.service")];
    expect(ofBoth.filter((message) => claims.includes(message))).toEqual([]);
    expect(ofBoth).toEqual(expect.arrayContaining(believed));
    expect(messagesOf("c.service")).toEqual(expect.arrayContaining(["forged by c", "claimed by c"]));
    expect(messagesOf("init.scope")).toContain("Failed.");
  });

  it("refuses what is no cursor, naming the field", () => {
    const engine = use(write("a folder without journals"));
    for (const cursor of ["", "x", "s=1", "i=5", `b=${"1".repeat(32)}`, "s=\u0000;i=;b=;m=;t=;x="]) {
      const refused = (): unknown => engine.query({ ...everything, cursor });
      expect(refused).toThrow(LogQueryRefused);
      expect(refused).toThrow(expect.objectContaining({ field: "cursor" }));
    }
  });

  it("leaves out the folders of other machines on request", () => {
    const [machine = "", other = ""] = machines;
    const folder = write("two machines below one folder");
    const [moved, back] = [join(folder.path, other), join(folder.path, "set-aside")];
    renameSync(moved, back);
    const all = dumpJournal(["-D", folder.path]);
    renameSync(back, moved);
    const answer = answerOf(use(folder, machine), everything);
    expect(firstDifference(answer, pageOf(all, everything, undefined))).toBeUndefined();
  });

  it("takes a folder that is not there for an empty journal", () => {
    const folder = { path: "/nonexistent/journal", remove: () => undefined };
    expect(answerOf(use(folder), everything)).toEqual({ logs: [], total: 0, next_cursor: null });
  });

  it("knows boots by id and by offset, and none by another", () => {
    const folder = write("system and user journals side by side over four boots");
    const journal = known(folder);
    const engine = use(folder);
    for (const boot of [...boots, "0", "-1", "-3", "1", "4"]) {
      const query = { ...everything, boot };
      expect([boot, firstDifference(answerOf(engine, query), pageOf(journal.all, query, undefined))]).toEqual([
        boot,
        undefined,
      ]);
      expect(answerOf(engine, query).total).toBe(askForMatching(journal.source, query).length);
    }
  });

  it.each(["xz", "lz4"] as const)("answers where a file says %s and has payloads of another kind", (flag) => {
    const folder = write("every kind of entry in one file");
    const expected = pageOf(dumpJournal(["-D", folder.path]), everything, undefined);
    setFlag(join(folder.path, "system.journal"), incompatible[flag]);
    expect(firstDifference(answerOf(use(folder), everything), expected)).toBeUndefined();
  });

  it("never guesses at a file with a flag that it does not know", () => {
    const folder = write("every kind of entry in one file");
    setFlag(join(folder.path, "system.journal"), 1 << 30);
    const engine = use(folder);
    expect(answerOf(engine, everything)).toEqual({ logs: [], total: 0, next_cursor: null });
    expect(engine.foreign().map(({ path }) => path)).toEqual([join(folder.path, "system.journal")]);
  });
});

function setFlag(path: string, flag: number): void {
  writeHeaderField(path, "incompatibleFlags", readHeaderField(path, "incompatibleFlags") | BigInt(flag));
}
