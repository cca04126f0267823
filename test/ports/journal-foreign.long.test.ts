import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createHostJournal, type HostJournal } from "#adapters/journald/index.ts";
import { readableFlags } from "#adapters/journald/journal-file/layout.ts";
import type { LogContext } from "#contract/log-exploration.ts";
import type { LogList } from "#contract/logs.ts";
import type { LogQuery } from "#domain/ports/journal.ts";
import { firstDifference } from "../journals/compare.ts";
import { type Corpus, corpora, fileKinds, writeCorpus } from "../journals/corpora.ts";
import { type Counter, expectCounts } from "../journals/counts.ts";
import { boots, everyday, start } from "../journals/entries.ts";
import { encodeEntry } from "../journals/export-format.ts";
import { incompatible, readHeaderField, stateArchived, writeHeaderField } from "../journals/file-header.ts";
import { byLength, everything, type Known, known } from "../journals/known.ts";
import { dumpJournal, type KnownEntry, matchingEntries, pageOf } from "../journals/oracle.ts";
import { appendToJournal, canMakeJournals } from "../journals/programs.ts";
import { queriesOn } from "../journals/queries.ts";
import { seed } from "../support/seed.ts";

const corpus = corpora.find(({ name }) => name.startsWith("payloads packed"));
const [kind] = fileKinds;
const never = new AbortController().signal;

/** Processes of journalctl that read a file of the directory. */
function readersOf(directory: string): readonly number[] {
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const [program = "", ...args] = readFileSync(`/proc/${name}/cmdline`, "utf8").split("\0");
      return program.endsWith("journalctl") && args.some((each) => each.includes(directory)) ? [Number(name)] : [];
    } catch {
      // It has ended since it was listed.
      return [];
    }
  });
}

const counterOfJournal = ({ journal }: HostJournal): Counter => ({
  histogram: (query) => journal.histogram(query, never),
  facets: (query) => journal.facets(query, never),
  templates: (query) => journal.templates(query, never),
});

/** Copies of entries in files of both kinds, and in several that are left to journalctl. */
const copies: Corpus = {
  name: "entries in files that are read here and in others",
  soundClocks: true,
  write({ random, append, rotate, folder }) {
    const compact = { compact: true, keyedHash: true, compress: false };
    const entries = everyday(random, { bootId: boots[0] ?? "", realtime: start, monotonic: 1 }, 240);
    const twice = entries.flatMap((each, at) => (at % 7 === 0 ? [each, each] : [each]));
    const appendForeign = (file: string, some: typeof entries): void =>
      appendToJournal(join(folder, file), compact, some.map(encodeEntry));
    append("system.journal", twice.slice(0, 90));
    rotate("system.journal", twice.slice(90, 150));
    appendForeign("part.journal", twice.slice(50, 220));
    appendForeign("other.journal", twice.slice(200));
    appendForeign(
      "few.journal",
      twice.filter((_, at) => at % 3 === 0),
    );
  },
};

describe.skipIf(!canMakeJournals())("journal: copies of entries in files that only journalctl reads", () => {
  const regular = fileKinds.find(({ compact }) => !compact);
  if (regular === undefined) throw new Error("no kind of file");
  const identityOf = (cursor: string): string => cursor.replace(/^s=[^;]*;i=[^;]*;/, "");

  it("are counted and listed once, whatever is asked", { timeout: 240_000 }, async () => {
    const folder = writeCorpus(copies, regular, seed);
    const host = createHostJournal({
      dir: folder.path,
      readable: readableFlags & ~incompatible.compact,
      limits: { threads: 1 },
      onUnreadable: ({ path, what }) => expect.fail(`${path}: ${what}`),
    });
    try {
      const ask = async (query: LogQuery): Promise<LogList> => {
        const { bytes } = await host.journal.query(query, never);
        return JSON.parse(Buffer.from(bytes).toString("utf8")) as LogList;
      };
      const files = readdirSync(folder.path).filter((name) => name.endsWith(".journal"));
      /** As often as the file that has most of it. */
      const all = new Map<string, KnownEntry>();
      for (const name of files) {
        const seen = new Map<string, number>();
        for (const each of dumpJournal(["--file", join(folder.path, name)])) {
          const identity = identityOf(each.entry.cursor);
          const number = (seen.get(identity) ?? 0) + 1;
          seen.set(identity, number);
          all.set(`${identity} ${number}`, each);
        }
      }
      const entries = [...all.values()].toSorted((left, right) => left.realtime - right.realtime);
      const questions = fc.tuple(queriesOn(entries, []), fc.integer({ min: 20, max: 60 }));
      const property = fc.asyncProperty(questions, async ([asked, limit]) => {
        const query = { ...asked, boot: undefined, cursor: undefined, order: "desc", limit: 10_000 } as const;
        const expected = matchingEntries(entries, query).map(({ entry }) => identityOf(entry.cursor));
        const { logs, total } = await ask(query);
        expect(logs.map(({ cursor }) => identityOf(cursor)).sort()).toEqual(expected.toSorted());
        expect(total).toBe(expected.length);
        await expectCounts(counterOfJournal(host), entries, query, limit);
        const paged: string[] = [];
        for (let cursor: string | null | undefined; cursor !== null; ) {
          const page = await ask({ ...query, cursor, limit });
          paged.push(...page.logs.map((entry) => entry.cursor));
          cursor = page.next_cursor;
        }
        expect(paged).toEqual(logs.map(({ cursor }) => cursor));
      });
      await fc.assert(property, { numRuns: byLength(12, 300), seed });
    } finally {
      host.dispose();
      folder.remove();
    }
  });
});

/** The files with LZ4 and XZ are left to journalctl here, as if they were of a kind that is not known. */
describe.skipIf(!canMakeJournals())("journal: files that only journalctl reads, beside others", () => {
  let journal: Known;
  let host: HostJournal;
  let unreadable: string[];
  beforeEach(() => {
    if (corpus === undefined || kind === undefined) throw new Error("the corpus is not there");
    journal = known(writeCorpus(corpus, kind));
    unreadable = [];
    host = createHostJournal({
      dir: journal.folder.path,
      readable: readableFlags & ~(incompatible.lz4 | incompatible.xz),
      limits: { threads: 1 },
      onUnreadable: ({ path }) => unreadable.push(path),
    });
  });
  afterEach(() => {
    host.dispose();
    journal.folder.remove();
  });

  const ask = async (query: LogQuery, signal = never): Promise<LogList> => {
    const { bytes } = await host.journal.query(query, signal);
    return JSON.parse(Buffer.from(bytes).toString("utf8")) as LogList;
  };

  it("answers any query from all of them", { timeout: 120_000 }, async () => {
    const queries = queriesOn(journal.all, []);
    const property = fc.asyncProperty(queries, async (query) => {
      const expected = pageOf(journal.all, query, journal.positionOf(query.cursor));
      const difference = firstDifference(await ask(query), expected);
      if (difference !== undefined) throw new Error(difference);
    });
    await fc.assert(property, { numRuns: byLength(40, 200), seed });
  });

  it("counts what any query finds in all of them, over time and by value", { timeout: 120_000 }, async () => {
    const property = fc.asyncProperty(queriesOn(journal.all, []), (query) =>
      expectCounts(counterOfJournal(host), journal.all, query, 60),
    );
    await fc.assert(property, { numRuns: byLength(20, 100), seed });
  });

  it("gives what stands around an entry, of either kind of file", async () => {
    for (const at of [0, 1, 40, journal.all.length - 1]) {
      const cursor = journal.all[at]?.entry.cursor ?? "";
      const found = await host.journal.context({ cursor, units: undefined, before: 3, after: 2 }, never);
      const { entries, index } = JSON.parse(Buffer.from(found?.bytes ?? []).toString("utf8")) as LogContext;
      expect(entries.map((entry) => entry.cursor)).toEqual(
        journal.all.slice(Math.max(0, at - 3), at + 3).map(({ entry }) => entry.cursor),
      );
      expect(index).toBe(Math.min(at, 3));
    }
    const gone = (journal.all[0]?.entry.cursor ?? "").replace(/x=.*/, "x=1");
    expect(await host.journal.context({ cursor: gone, units: undefined, before: 3, after: 2 }, never)).toBeUndefined();
  });

  it("counts boots over all of them, also where they are of several hosts", { timeout: 120_000 }, async () => {
    const hosts = corpora.find(({ name }) => name.startsWith("hosts with systemd 257"));
    if (hosts === undefined || kind === undefined) throw new Error("the corpus is not there");
    journal.folder.remove();
    host.dispose();
    journal = known(writeCorpus(hosts, kind));
    host = createHostJournal({
      dir: journal.folder.path,
      readable: readableFlags & ~(incompatible.lz4 | incompatible.xz),
      limits: { threads: 1 },
      onUnreadable: ({ path, what }) => expect.fail(`${path}: ${what}`),
    });
    const { logs } = await ask({ ...everything, boot: "0" });
    expect(new Set(logs.map((entry) => entry.boot_id))).toEqual(new Set([`${"9".repeat(30)}02`]));
    for (const boot of ["0", "-1", "-5", "-6", "1", "2", "6", "7"]) {
      const query = { ...everything, boot };
      expect([boot, firstDifference(await ask(query), pageOf(journal.all, query, undefined))]).toEqual([
        boot,
        undefined,
      ]);
    }
  });

  it.each(["asc", "desc"] as const)("pages through all of them by next_cursor, %s", async (order) => {
    const cursors = journal.all.map(({ entry }) => entry.cursor);
    const expected = order === "asc" ? cursors.slice(1) : cursors.toReversed();
    const found: string[] = [];
    let cursor = order === "asc" ? cursors[0] : undefined;
    for (let more = true; more; ) {
      const { logs, next_cursor: next } = await ask({ ...everything, cursor, order, limit: 97 });
      found.push(...logs.map((entry) => entry.cursor));
      more = logs.length > 0 && next !== null;
      cursor = next ?? undefined;
    }
    expect(found).toEqual(expected);
  });

  it("ends journalctl with the caller, and answers the next one", async () => {
    const gone = new AbortController();
    const first = ask(everything, gone.signal).catch((error: unknown) => error);
    // Stopped, it does not end by itself.
    let [reader] = readersOf(journal.folder.path);
    for (; reader === undefined; [reader] = readersOf(journal.folder.path)) await new Promise(setImmediate);
    process.kill(reader, "SIGSTOP");
    gone.abort();
    expect(await first).toMatchObject({ name: "JournalUnavailable" });
    expect((await ask({ ...everything, limit: 5 })).total).toBe(journal.all.length);
    await expect.poll(() => readersOf(journal.folder.path)).not.toContain(reader);
  });

  it("ends journalctl with the thread that started it", async () => {
    const [first = "", ...others] = journal.all.map(({ entry }) => entry.cursor);
    const stream = host.journal.follow({ cursor: first }, never)[Symbol.asyncIterator]();
    // What it has printed has been read, so the thread knows of it.
    for (let count = 0; count < others.length; ) count += (await stream.next()).value?.length ?? 0;
    const [reader] = readersOf(journal.folder.path);
    if (reader === undefined) throw new Error("journalctl does not follow");
    // Stopped, it does not end by itself.
    process.kill(reader, "SIGSTOP");
    host.dispose();
    try {
      await expect.poll(() => readersOf(journal.folder.path), { timeout: 10_000 }).not.toContain(reader);
    } finally {
      if (readersOf(journal.folder.path).includes(reader)) process.kill(reader, "SIGKILL");
    }
  });

  it("reports a file that journalctl cannot read either, and answers from the others", async () => {
    const path = join(journal.folder.path, "system@xz.journal");
    writeHeaderField(path, "incompatibleFlags", readHeaderField(path, "incompatibleFlags") | (1n << 30n));
    const others = known({ path: journal.folder.path, remove: () => undefined });
    expect(others.all.length).toBeLessThan(journal.all.length);
    expect(firstDifference(await ask(everything), pageOf(others.all, everything, undefined))).toBeUndefined();
    expect(unreadable).toEqual([path]);
  });

  const follow = async (cursor: string, count: number): Promise<readonly string[]> => {
    const ended = new AbortController();
    const found: string[] = [];
    for await (const batch of host.journal.follow({ cursor }, ended.signal)) {
      found.push(...batch.map(({ entry }) => entry.cursor));
      if (found.length >= count) ended.abort();
    }
    return found.toSorted();
  };

  it("follows all of them, also where those that only journalctl reads are archived", async () => {
    const [first = "", ...others] = journal.all.map(({ entry }) => entry.cursor);
    expect(await follow(first, others.length)).toEqual(others.toSorted());
    for (const name of readdirSync(journal.folder.path)) {
      if (name.includes("@")) writeHeaderField(join(journal.folder.path, name), "state", BigInt(stateArchived));
    }
    expect(await follow(first, others.length)).toEqual(others.toSorted());
  });
});
