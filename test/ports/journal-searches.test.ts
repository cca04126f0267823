import { closeSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { createEngine, type Engine } from "#adapters/journald/engine.ts";
import { compileGrep } from "#adapters/journald/grep-postings.ts";
import { createBlockPool } from "#adapters/journald/journal-file/blocks.ts";
import { openJournalFile } from "#adapters/journald/journal-file/file.ts";
import { searchMessages } from "#adapters/journald/journal-file/walk.ts";
import { createFinder } from "#adapters/journald/word-finder.ts";
import type { LogQuery } from "#domain/ports/journal.ts";
import type { Field } from "../journals/export-format.ts";
import { answerOf, everything } from "../journals/known.ts";
import { createLiveDirectory, entriesOfNow, type LiveDirectory } from "../journals/live-directory.ts";
import { canMakeJournals } from "../journals/programs.ts";
import { never, openJournal, type Reader } from "../journals/reader.ts";
import { unpredictableText } from "../journals/unpredictable-text.ts";

const oddMessages = [
  "message=MESSAGE=ask",
  "the MEſſAGE of a long s, 300 K, 5 k",
  "å Å å ſ",
  "",
  "a\nTIMEOUT=9\nb",
  `${"request ".repeat(200)} is packed`,
  "ask\u0000Request",
  "error",
  "fail.ure",
];

/** Enough for a decision on how to search, a part of it the same text again and again, some with two messages or none. */
const entries: readonly (readonly Field[])[] = Array.from({ length: 6000 }, (_, at): readonly Field[] => {
  if (at % 100 === 0) return [["MESSAGE", oddMessages[(at / 100) % oddMessages.length] ?? ""]];
  if (at % 101 === 0) return [["SYSLOG_IDENTIFIER", "request timeout=9 without a message"]];
  if (at % 103 === 0) {
    return [
      ["MESSAGE", `one of two ${at}`],
      ["MESSAGE", `request two of two ${at}`],
    ];
  }
  if (at % 7 === 0) return [["MESSAGE", "Request again"]];
  return [["MESSAGE", at % 2 === 0 ? `request ${at} took timeout=9${at % 1000} and was asked` : `commit ${at} [k]`]];
});

const patterns = [
  "request",
  "Request",
  "request 4242 ",
  "timeout=9\\d{2} ",
  "=942",
  "message=",
  "ask",
  "Ask",
  "s",
  "k\\b",
  "K",
  "å",
  "error|fail\\.",
  "error|commit 1\\d+|x{2,}",
  "(?:again|two)$",
  "^one",
  "\\[k\\]",
  "packed$",
  ".",
  "x*",
  "nothing of the kind",
];

describe.skipIf(!canMakeJournals())("a search of the journal's messages", () => {
  let directory: LiveDirectory;
  let engine: Engine;

  beforeAll(() => {
    directory = createLiveDirectory();
    directory.append("system.journal", entriesOfNow(entries));
    engine = createEngine({ roots: [{ path: directory.path }] });
  });
  afterAll(() => {
    engine?.dispose();
    directory?.remove();
  });

  it.each(patterns)("finds the entries whose message matches, in one pass as each for itself: %s", (grep) => {
    const { test, words } = compileGrep(grep);
    const all = answerOf(engine, everything);
    const matching = all.logs.filter(({ message }) => test(message)).map(({ cursor }) => cursor);
    // Entries without a message are shown with an empty one.
    const without = new Set(all.logs.filter(({ message }) => message === "").map(({ cursor }) => cursor));
    const found = answerOf(engine, { ...everything, grep });
    const cursors = found.logs.map(({ cursor }) => cursor);
    expect(found.total).toBe(cursors.length);
    expect(cursors.filter((cursor) => !without.has(cursor))).toEqual(matching.filter((cursor) => !without.has(cursor)));
    const file = openJournalFile(join(directory.path, "system.journal"), createBlockPool(16));
    const search = { matches: test, onDamage: (error: Error) => expect.fail(error.message) };
    const one = searchMessages(file, { ...createFinder(words), ...search });
    expect(one).toEqual(searchMessages(file, { finder: undefined, isDecided: false, ...search }));
    file.close();
  });

  it.each(["asc", "desc"] as const)("continues behind entries that cannot be read, %s", (order) => {
    const damaged = createLiveDirectory();
    const own = createEngine({ roots: [{ path: damaged.path }] });
    try {
      damaged.append("system.journal", entriesOfNow(entries));
      const whole = answerOf(own, { ...everything, grep: "request" });
      const path = join(damaged.path, "system.journal");
      const file = openJournalFile(path, createBlockPool(16));
      const { test } = compileGrep("request");
      const search = { finder: undefined, isDecided: false, matches: test, onDamage: () => undefined };
      const found = searchMessages(file, search) ?? new Float64Array(0);
      file.close();
      expect(found.length).toBe(whole.total);
      // Forwards a page begins after a cursor.
      const cursor = order === "asc" ? whole.logs[99]?.cursor : undefined;
      const unreadable = order === "asc" ? found.subarray(100, 150) : found.subarray(-50);
      for (const offset of unreadable) writeBytes(path, offset + entryRealtime, Buffer.alloc(8));
      const shown = order === "asc" ? whole.logs.slice(150, 157) : whole.logs.slice(-57, -50).reverse();
      const reader = createEngine({ roots: [{ path: damaged.path }] });
      const { logs } = answerOf(reader, { ...everything, grep: "request", order, cursor, limit: 7 });
      reader.dispose();
      expect(logs).toEqual(shown);
    } finally {
      own.dispose();
      damaged.remove();
    }
  });
});

describe.skipIf(!canMakeJournals())("a search of the journal by its port", () => {
  /** Has to be followed a thousand ways at once through a text where no place is like another. */
  const slow = "[ab]*a[ab]{1000}c";
  let directory: LiveDirectory;
  let reader: Reader;
  const totalOf = async (query: Partial<LogQuery>, signal = never): Promise<number> =>
    (await reader.ask({ ...everything, limit: 1, ...query }, signal)).total;

  beforeAll(() => {
    directory = createLiveDirectory();
    const messages = [unpredictableText(4_000_000), "first", `${"a".repeat(60)}!`, "last"];
    directory.append("system.journal", entriesOfNow(messages.map((message) => [["MESSAGE", message]])));
  });
  afterAll(() => directory.remove());
  beforeEach(() => {
    // The limits of the threads' jobs alone: the threads themselves run on.
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    reader = openJournal(directory.path);
  });
  afterEach(() => {
    reader.dispose();
    vi.useRealTimers();
  });

  it("is refused when it takes too long, and holds up no other query", async () => {
    let isRefused = false;
    const search = totalOf({ grep: slow }).finally(() => {
      isRefused = true;
    });
    search.catch(() => undefined);
    expect(await Promise.all(Array.from({ length: 20 }, () => totalOf({})))).toEqual(Array(20).fill(4));
    expect(isRefused).toBe(false);
    // Its minute begins with its thread.
    for (; !isRefused; await new Promise(setImmediate)) await vi.advanceTimersByTimeAsync(60_000);
    await expect(search).rejects.toMatchObject({
      name: "LogQueryRefused",
      field: "grep",
      message: expect.stringMatching(/too long/i),
    });
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await totalOf({ grep: "^(first|last)$" })).toBe(2);
  });

  it("answers what takes other engines exponential time", async () => {
    expect(await totalOf({ grep: "^(a|aa)+$" })).toBe(0);
    expect(await totalOf({ grep: "^(a|aa)+!$" })).toBe(1);
  });

  it("ends with its caller", async () => {
    const gone = new AbortController();
    const search = totalOf({ grep: slow }, gone.signal);
    gone.abort();
    await expect(search).rejects.toMatchObject({ name: "JournalUnavailable" });
    const next = totalOf({ grep: "last" });
    // Where the thread does not give up, its time to do so begins once it is up.
    await expect.poll(() => vi.getTimerCount()).toBe(1);
    await vi.advanceTimersByTimeAsync(200);
    expect(await next).toBe(1);
  });
});

describe.skipIf(!canMakeJournals())("a filter by unit beside twenty thousand names that a program made up", () => {
  it("reads no more of the file for names that match than for others", () => {
    const directory = createLiveDirectory();
    const forged = Array.from({ length: 20_000 }, (_, at): readonly Field[] => [
      ["MESSAGE", "x"],
      ["UNIT", `app-forged-${at}.service`],
      ["_PID", "9"],
    ]);
    const honest: readonly (readonly Field[])[] = [
      [
        ["MESSAGE", "x"],
        ["_SYSTEMD_UNIT", "app-1.service"],
        ["_PID", "5"],
      ],
      [
        ["MESSAGE", "x"],
        ["_SYSTEMD_UNIT", "init.scope"],
        ["_PID", "1"],
        ["UNIT", "app-1.service"],
      ],
    ];
    directory.append("system.journal", entriesOfNow([...honest, ...forged]));
    const readsOf = (unit: string): readonly [total: number, reads: number] => {
      let reads = 0;
      const beforeRead = (): void => {
        reads += 1;
      };
      const own = createEngine({ roots: [{ path: directory.path }], beforeRead });
      const { total } = answerOf(own, { ...everything, units: [unit] });
      own.dispose();
      return [total, reads];
    };
    const [nothing, matching] = [readsOf("nope-*"), readsOf("app-*")];
    directory.remove();
    expect([nothing[0], matching]).toEqual([0, [2, nothing[1]]]);
  });
});

/** Where in an entry its time is. */
const entryRealtime = 24;

function writeBytes(path: string, offset: number, bytes: Buffer): void {
  const fd = openSync(path, "r+");
  try {
    writeSync(fd, bytes, 0, bytes.length, offset);
  } finally {
    closeSync(fd);
  }
}
