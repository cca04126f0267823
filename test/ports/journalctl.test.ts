import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import type { ExecLines } from "#adapters/exec/index.ts";
import { execLines } from "#adapters/exec/index.ts";
import type { Journalctl } from "#adapters/journald/journalctl.ts";
import { createJournalctl } from "#adapters/journald/journalctl.ts";
import type { LiveEntry, LogQuery } from "#domain/ports/journal.ts";
import { JournalUnavailable, LogQueryRefused } from "#domain/ports/journal.ts";
import { corpora, fileKinds, writeCorpus } from "../journals/corpora.ts";
import { boots, everyday, machines, start } from "../journals/entries.ts";
import { encodeEntry } from "../journals/export-format.ts";
import { incompatible, readHeaderField, writeHeaderField } from "../journals/file-header.ts";
import type { KnownEntry } from "../journals/oracle.ts";
import { dumpJournal, matchingEntries, pageOf, positionOf } from "../journals/oracle.ts";
import { appendToJournal, canMakeJournals } from "../journals/programs.ts";
import { createRandom } from "../journals/random.ts";

const never = new AbortController().signal;
const [kind = { compact: true, keyedHash: true, compress: true }] = fileKinds;
const all: LogQuery = {
  units: undefined,
  since: 0,
  until: 9e15,
  priority: undefined,
  identifier: undefined,
  boot: undefined,
  grep: undefined,
  cursor: undefined,
  order: "asc",
  limit: 1000,
};

const readerOf = (directory: string) => createJournalctl({ execLines, directories: [directory], restartDelayMs: 50 });

async function ask(reader: Journalctl, query: LogQuery): Promise<unknown> {
  return JSON.parse(Buffer.from(await reader.query(query, never)).toString("utf8"));
}

/**
 * systemd writes LZ4 no more, so the files say in their headers that they hold what the native reader does not read;
 * journalctl, which knows LZ4, reads them.
 */
function claimLz4(folder: string): void {
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    if (!/(^|\/)(system|user|loose)[^/]*\.journal~?$/.test(name)) continue;
    const path = join(folder, name);
    const flags = readHeaderField(path, "incompatibleFlags");
    writeHeaderField(path, "incompatibleFlags", flags | BigInt(incompatible.lz4));
  }
}

/**
 * Cursors of entries that were deleted together with their file, each from just before one that is there: their place is
 * known by boot and time alone, so not where time jumps.
 */
function goneCursors(entries: readonly KnownEntry[]): readonly string[] {
  const moments = new Set(entries.map(({ realtime }) => realtime));
  const earlier = (hex: string): string => (Number.parseInt(hex, 16) - 1).toString(16);
  return entries
    .filter(({ realtime }) => !moments.has(realtime - 1))
    .map(({ entry }) =>
      entry.cursor
        .replace(/^s=[0-9a-f]+/, `s=${"e".repeat(32)}`)
        .replaceAll(/(?<=;[mt]=)[0-9a-f]+/g, (hex) => earlier(hex)),
    );
}

/** Queries of all sorts, with moments and cursors that lie among the entries. */
function queriesOver(entries: readonly KnownEntry[], soundClocks: boolean): fc.Arbitrary<LogQuery> {
  const times = entries.length === 0 ? [start] : entries.map(({ realtime }) => realtime);
  const moment = fc
    .tuple(fc.constantFrom(...times), fc.constantFrom(-1, 0, 1))
    .map(([time, step]) => Math.max(0, time + step));
  const unit = fc.constantFrom(
    ...[
      "a.service",
      "b.service",
      "nginx.service",
      "system.slice",
      "user@1000.service",
      "dev-disk-by\\x2dlabel-a.mount",
    ],
    ...["absent.service", "app-*", "*.service", "web[.@]*", "k*", "z*", "kernel", "not a name", "getty@tty?.service"],
  );
  // Filters are rare: all of them at once would leave nothing to compare.
  const option = <T>(arbitrary: fc.Arbitrary<T>) =>
    fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });
  const cursors = entries.map(({ entry }) => entry.cursor);
  const gone = soundClocks ? goneCursors(entries) : [];
  return fc.record({
    units: option(fc.array(unit, { maxLength: 3 })),
    since: fc.oneof(fc.constant(0), moment),
    until: fc.oneof(fc.constant(9e15), moment),
    priority: option(fc.integer({ min: 0, max: 7 })),
    identifier: option(fc.constantFrom("a", "nginx", "kernel", "", "app-1", "--help", "x\0y")),
    boot: option(fc.constantFrom(...boots, "0", "-1", "1", "2", "-9", "f".repeat(32), "nonsense")),
    grep: option(fc.constantFrom("request", "REQUEST", "^$", "1\\d ms", "\\Sx", "é", "a-\\-?")),
    cursor: fc.oneof(
      { weight: 1, arbitrary: fc.constant(undefined) },
      ...(cursors.length === 0 ? [] : [{ weight: 3, arbitrary: fc.constantFrom(...cursors) }]),
      ...(gone.length === 0 ? [] : [{ weight: 1, arbitrary: fc.constantFrom(...gone) }]),
    ),
    order: fc.constantFrom("asc" as const, "desc" as const),
    limit: fc.constantFrom(1, 2, 7, 50, 10_000),
  });
}

describe.runIf(canMakeJournals())("journalctl", () => {
  // Moments in a file that steps back by hours are beyond what journalctl finds; the queries there have no window.
  it.each(corpora.filter(({ name }) => !name.startsWith("many")))(
    "answers all queries over $name",
    async (corpus) => {
      const journals = writeCorpus(corpus, kind);
      try {
        claimLz4(journals.path);
        const known = dumpJournal(["-D", journals.path]);
        const reader = readerOf(journals.path);
        const queries = queriesOver(known, corpus.soundClocks).map((query) =>
          corpus.soundClocks ? query : { ...query, since: 0 },
        );
        const property = fc.asyncProperty(queries, async (query) => {
          const position =
            query.cursor === undefined ? undefined : positionOf(["-D", journals.path], known, query.cursor);
          // The expectation counts boots by their first entries, which a clock that jumps back turns round.
          fc.pre(corpus.soundClocks || query.boot === undefined || query.boot.length === 32);
          expect(await ask(reader, query)).toEqual(pageOf(known, query, position, expectedOf(known, query)));
        });
        await fc.assert(property, { numRuns: 40 });
      } finally {
        journals.remove();
      }
    },
    120_000,
  );

  it("finds units and the kernel together; the kernel by its name only", async () => {
    const [corpus] = corpora;
    if (corpus === undefined) throw new Error("there is no corpus");
    const journals = writeCorpus(corpus, kind);
    try {
      claimLz4(journals.path);
      const known = dumpJournal(["-D", journals.path]);
      const reader = readerOf(journals.path);
      for (const units of [["kernel"], ["kernel", "a.service"], ["*"], ["a.service", "[!a]*"]]) {
        const query = { ...all, units };
        const { total, ...page } = pageOf(known, query, undefined);
        expect(total).toBeGreaterThan(0);
        expect([units, await ask(reader, query)]).toEqual([units, { total, ...page }]);
      }
      expect(await ask(reader, { ...all, units: ["ker*"] })).toMatchObject({ logs: [], total: 0 });
    } finally {
      journals.remove();
    }
  });
});

/** What matches; no entry is of no unit, or of a boot that cannot be. */
function expectedOf(known: readonly KnownEntry[], query: LogQuery): readonly KnownEntry[] {
  if (query.boot === "nonsense") return [];
  return matchingEntries(known, query);
}

describe.runIf(canMakeJournals())("journalctl on a journal of its own", () => {
  const folders: string[] = [];
  const newFolder = (): string => {
    const folder = mkdtempSync(join(tmpdir(), "steward-journalctl-"));
    folders.push(folder);
    return folder;
  };
  afterAll(() => {
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  });

  let next = 0;
  /** Appends entries and gives their messages. */
  function append(folder: string, count: number, file = "system.journal", bootId = boots[0] ?? ""): readonly string[] {
    const random = createRandom(1);
    const first = next;
    next += count;
    const clock = { bootId, realtime: start + first * 1_000_000, monotonic: first * 1_000_000 + 1 };
    const entries = everyday(random, clock, count).map((each, index) => ({
      ...each,
      realtime: clock.realtime + index,
      monotonic: clock.monotonic + index,
      fields: [["MESSAGE", `message ${first + index}`] as const],
    }));
    mkdirSync(join(folder, file, ".."), { recursive: true });
    appendToJournal(join(folder, file), kind, entries.map(encodeEntry));
    return entries.map((_, index) => `message ${first + index}`);
  }

  const messagesOf = (batch: readonly LiveEntry[]) => batch.map(({ entry }) => entry.message);

  /** Follows, collecting messages, until told to stop. */
  function collect(reader: Journalctl, cursor?: string) {
    const abort = new AbortController();
    const messages: string[] = [];
    const ended = (async () => {
      for await (const batch of reader.follow({ cursor }, abort.signal)) messages.push(...messagesOf(batch));
    })();
    return { messages, ended, stop: () => abort.abort() };
  }

  /** Tells when journalctl was started to follow; and ends it, as if it had crashed. */
  function watched() {
    const follows: AbortController[] = [];
    const exec: ExecLines = (argv, options = {}) => {
      if (!argv.includes("--follow")) return execLines(argv, options);
      const crash = new AbortController();
      follows.push(crash);
      const signal = options.signal === undefined ? crash.signal : AbortSignal.any([options.signal, crash.signal]);
      return execLines(argv, { ...options, signal });
    };
    return { exec, follows };
  }

  it("takes an absent folder and an empty one for an empty journal", async () => {
    const empty = { logs: [], total: 0, next_cursor: null };
    expect(await ask(readerOf("/nonexistent/journal"), all)).toEqual(empty);
    expect(await ask(readerOf(newFolder()), { ...all, units: ["a*"], boot: "0" })).toEqual(empty);
  });

  it("refuses a malformed cursor and a malformed expression", async () => {
    const reader = readerOf(newFolder());
    await expect(reader.query({ ...all, cursor: "x" }, never)).rejects.toMatchObject({ field: "cursor" });
    await expect(reader.query({ ...all, grep: "(" }, never)).rejects.toMatchObject({ field: "grep" });
    await expect(reader.follow({ cursor: "x" }, never).next()).rejects.toThrow(LogQueryRefused);
  });

  it("says what is missing, and what failed", async () => {
    const missing = createJournalctl({ execLines: () => execLines(["/nonexistent/journalctl"]), restartDelayMs: 1 });
    const failing = createJournalctl({
      execLines: () => execLines([process.execPath, "-e", "console.error('out of order'); process.exit(4)"]),
      restartDelayMs: 1,
    });
    await expect(missing.query(all, never)).rejects.toThrow(/journalctl is not there \(install/);
    await expect(missing.follow({ cursor: undefined }, never).next()).rejects.toThrow(JournalUnavailable);
    await expect(failing.query(all, never)).rejects.toThrow(JournalUnavailable);
    await expect(failing.query(all, never)).rejects.toThrow(/out of order/);
    await expect(failing.follow({ cursor: undefined }, never).next()).rejects.toThrow(/out of order/);
  });

  it("gives up a query with its signal", async () => {
    const abort = new AbortController();
    const stuck = createJournalctl({ execLines: (_, options) => execLines(["sleep", "1000"], options) });
    const answer = stuck.query(all, abort.signal);
    abort.abort(new Error("client has gone"));
    await expect(answer).rejects.toThrow("client has gone");
    const slow = createJournalctl({
      execLines: (_, options) => execLines(["sleep", "1000"], options),
      queryTimeoutMs: 100,
    });
    await expect(slow.query(all, never)).rejects.toThrow(JournalUnavailable);
  });

  it("follows from now on, over boots, files that appear and a journalctl that ends", async () => {
    const folder = newFolder();
    append(folder, 5);
    const { exec, follows } = watched();
    const reader = createJournalctl({ execLines: exec, directories: [folder], restartDelayMs: 50 });
    const { messages, ended, stop } = collect(reader);
    await expect.poll(() => follows.length).toBe(1);
    const expected = [...append(folder, 3)];
    await expect.poll(() => messages).toEqual(expected);
    expected.push(...append(folder, 2, "other.journal", boots[1]));
    await expect.poll(() => messages).toEqual(expected);
    follows[0]?.abort();
    expected.push(...append(folder, 4, "other.journal", boots[1]));
    await expect.poll(() => messages).toEqual(expected);
    expect(follows.length).toBeGreaterThan(1);
    stop();
    await ended;
    expect(messages).toEqual(expected);
  });

  it("loses and repeats nothing when journalctl ends before it gave anything", async () => {
    const folder = newFolder();
    append(folder, 5);
    let count = 0;
    const exec: ExecLines = (argv, options) => {
      if (argv.includes("--follow") && count++ < 3) return execLines(["true"], options);
      return execLines(argv, options);
    };
    const reader = createJournalctl({ execLines: exec, directories: [folder], restartDelayMs: 50 });
    const { messages, ended, stop } = collect(reader);
    await expect.poll(() => count).toBeGreaterThan(0);
    const expected = append(folder, 3);
    await expect.poll(() => messages).toEqual(expected);
    stop();
    await ended;
  });

  it("follows on a folder in which there is nothing yet", async () => {
    const folder = newFolder();
    const { exec, follows } = watched();
    const reader = createJournalctl({ execLines: exec, directories: [folder], restartDelayMs: 50 });
    const { messages, ended, stop } = collect(reader);
    await expect.poll(() => follows.length).toBe(1);
    const later = append(folder, 5);
    await expect.poll(() => messages).toEqual(later);
    stop();
    await ended;
  });

  it("follows from a cursor, and on a journal that appears later", async () => {
    const parent = newFolder();
    const folder = join(parent, "journal");
    const { messages, ended, stop } = collect(readerOf(folder));
    const later = append(folder, 5, `${machines[0]}/system.journal`);
    await expect.poll(() => messages).toEqual(later);
    stop();
    await ended;
    const cursor = dumpJournal(["-D", folder])[1]?.entry.cursor ?? "";
    const resumed = collect(readerOf(folder), cursor);
    await expect.poll(() => resumed.messages).toEqual(later.slice(2));
    resumed.stop();
    await resumed.ended;
  });
});
