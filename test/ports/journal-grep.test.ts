import { closeSync, openSync, readdirSync, writeSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createEngine, type Engine } from "#adapters/journald/engine.ts";
import { compileGrep } from "#adapters/journald/grep-postings.ts";
import { createBlockPool } from "#adapters/journald/journal-file/blocks.ts";
import { openJournalFile } from "#adapters/journald/journal-file/file.ts";
import { searchMessages } from "#adapters/journald/journal-file/walk.ts";
import { createFinder } from "#adapters/journald/word-finder.ts";
import type { Field } from "../journals/export-format.ts";
import { answerOf, everything } from "../journals/known.ts";
import { createLiveFolder, entriesOfNow, type LiveFolder } from "../journals/live-folder.ts";
import { canMakeJournals } from "../journals/programs.ts";

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

describe.skipIf(!canMakeJournals())("journal: searches", () => {
  let folder: LiveFolder;
  let engine: Engine;

  beforeAll(() => {
    folder = createLiveFolder();
    folder.append("system.journal", entriesOfNow(entries));
    engine = createEngine({ roots: [{ path: folder.path }] });
  });
  afterAll(() => {
    engine?.dispose();
    folder?.remove();
  });

  it.each(patterns)("%s finds the entries whose message fits", (grep) => {
    const { test } = compileGrep(grep);
    const all = answerOf(engine, { ...everything, limit: 10_000 });
    const fitting = all.logs.filter(({ message }) => test(message)).map(({ cursor }) => cursor);
    // Entries without a message are shown with an empty one.
    const without = new Set(all.logs.filter(({ message }) => message === "").map(({ cursor }) => cursor));
    const found = answerOf(engine, { ...everything, grep, limit: 10_000 });
    const cursors = found.logs.map(({ cursor }) => cursor);
    expect(found.total).toBe(cursors.length);
    expect(cursors.filter((cursor) => !without.has(cursor))).toEqual(fitting.filter((cursor) => !without.has(cursor)));
  });

  it.each(patterns)("%s finds the same messages in one pass as each for itself", (grep) => {
    const file = openJournalFile(join(folder.path, readdirSync(folder.path)[0] ?? ""), createBlockPool(16));
    const expression = compileGrep(grep);
    const search = { matches: expression.test, onDamage: (error: Error) => expect.fail(error.message) };
    const one = searchMessages(file, { ...createFinder(expression.words), ...search });
    expect(one).toEqual(searchMessages(file, { finder: undefined, isDecided: false, ...search }));
    file.close();
  });

  it.each(["asc", "desc"] as const)("goes on to those behind the first that cannot be read, %s", (order) => {
    const damaged = createLiveFolder();
    const own = createEngine({ roots: [{ path: damaged.path }] });
    try {
      damaged.append("system.journal", entriesOfNow(entries));
      const whole = answerOf(own, { ...everything, grep: "request", limit: 10_000 });
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
