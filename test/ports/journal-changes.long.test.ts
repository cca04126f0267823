import {
  closeSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  truncateSync,
} from "node:fs";
import { basename, join } from "node:path";
import fc from "fast-check";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { createEngine, type Engine } from "#adapters/journald/engine.ts";
import { createFollowThread } from "#adapters/journald/follow-thread.ts";
import { createHostJournal, type HostJournal } from "#adapters/journald/index.ts";
import type { ThreadEvents } from "#adapters/journald/pool.ts";
import type { ThreadRequest } from "#adapters/journald/protocol.ts";
import type { LogList } from "#contract/logs.ts";
import type { LiveEntry } from "#domain/ports/journal.ts";
import { firstDifference } from "../journals/compare.ts";
import { createDirectory, fileKinds, type JournalDirectory, type Writer } from "../journals/corpora.ts";
import { boots, everyday, machines, start } from "../journals/entries.ts";
import type { NewEntry } from "../journals/export-format.ts";
import { answerOf, everything, known } from "../journals/known.ts";
import { createLiveDirectory, entriesOfNow, type LiveDirectory } from "../journals/live-directory.ts";
import { pageOf } from "../journals/oracle.ts";
import { canMakeJournals } from "../journals/programs.ts";
import { queriesOn } from "../journals/queries.ts";
import { decoded } from "../journals/reader.ts";

const lines = (from: number, to: number): readonly string[] =>
  Array.from({ length: to - from }, (_, index) => `line ${from + index}`);
const entriesOf = (messages: readonly string[]): readonly NewEntry[] =>
  entriesOfNow(messages.map((message) => [["MESSAGE", message] as const]));

/** Deleted files that this process still holds. */
function heldFiles(directory: string): readonly string[] {
  return readdirSync("/proc/self/fd").flatMap((fd) => {
    try {
      const target = readlinkSync(`/proc/self/fd/${fd}`);
      return target.startsWith(directory) && target.endsWith(" (deleted)") ? [target] : [];
    } catch {
      // Closed since it was listed.
      return [];
    }
  });
}

describe.skipIf(!canMakeJournals())("a journal whose files change while it is read", () => {
  let directory: LiveDirectory;
  let host: HostJournal;
  let ended: AbortController;
  let unreadable: string[];
  beforeEach(() => {
    directory = createLiveDirectory();
    unreadable = [];
    host = createHostJournal({ dir: directory.path, onUnreadable: ({ path }) => unreadable.push(basename(path)) });
    ended = new AbortController();
  });
  afterEach(() => {
    ended.abort();
    host.dispose();
    directory.remove();
  });

  const append = (file: string, messages: readonly string[]): void => directory.append(file, entriesOf(messages));

  const query = async (): Promise<LogList> => {
    const { bytes } = await host.journal.query(everything, ended.signal);
    return decoded(bytes);
  };
  const messagesOf = async (): Promise<readonly string[]> => (await query()).logs.map(({ message }) => message);

  /** Everything that a follower gives, and a way to wait until it has given this. */
  function follow(cursor?: string) {
    const seen: string[] = [];
    const run = async (): Promise<void> => {
      for await (const batch of host.journal.follow({ cursor }, ended.signal)) {
        seen.push(...batch.map(({ entry }: LiveEntry) => entry.message));
      }
    };
    const done = run();
    done.catch(() => undefined);
    return {
      seen,
      until: (message: string) => expect.poll(() => seen, { interval: 5 }).toContain(message),
    };
  }

  it("is found and followed when its directory appears later", async () => {
    rmSync(directory.path, { recursive: true });
    const follower = follow();
    const reason = `there are no journal files in ${directory.path}`;
    const empty = { logs: [], total: 0, next_cursor: null };
    expect(await query()).toEqual({ ...empty, not_shown: [{ what: "entries", reason }] });
    mkdirSync(directory.path);
    append(`${"a".repeat(32)}/system.journal`, lines(0, 3));
    await follower.until("line 2");
    expect(follower.seen).toEqual(lines(0, 3));
    expect(await messagesOf()).toEqual(lines(0, 3));
  });

  it("gives a follower what a deleted file held, and closes the file", async () => {
    append("system.journal", ["before"]);
    append("other.journal", ["in the other"]);
    const follower = follow();
    append("system.journal", ["seen"]);
    await follower.until("seen");
    await query();
    for (let round = 0; round < 5; round += 1) {
      append("system.journal", [`last ${round}`]);
      renameSync(join(directory.path, "system.journal"), join(directory.path, `system@${round}.journal`));
      rmSync(join(directory.path, `system@${round}.journal`));
      append("system.journal", [`first ${round}`]);
      await follower.until(`first ${round}`);
    }
    const rounds = [0, 1, 2, 3, 4].flatMap((round) => [`last ${round}`, `first ${round}`]);
    expect(follower.seen).toEqual(["seen", ...rounds]);
    expect(await messagesOf()).toEqual(["in the other", "first 4"]);
    await expect.poll(() => heldFiles(directory.path)).toEqual([]);
  });

  it("keeps no deleted file open for a follower that pulls nothing", async () => {
    append("system.journal", ["before"]);
    const batches = host.journal.follow({ cursor: undefined }, ended.signal)[Symbol.asyncIterator]();
    const first = batches.next();
    append("system.journal", ["seen"]);
    await first;
    rmSync(join(directory.path, "system.journal"));
    await expect.poll(() => heldFiles(directory.path)).toEqual([]);
  });

  it("reports no file as unreadable that journald vacuums: empties and deletes", async () => {
    append("system.journal", ["before"]);
    append("archived.journal", lines(0, 300));
    const follower = follow();
    append("system.journal", ["seen"]);
    await follower.until("seen");
    await query();
    renameSync(join(directory.path, "archived.journal"), join(directory.path, "vacuumed.journal"));
    await query();
    const path = join(directory.path, "vacuumed.journal");
    const file = openSync(path, "r+");
    rmSync(path);
    ftruncateSync(file, 0);
    closeSync(file);
    append("system.journal", ["after"]);
    await follower.until("after");
    expect(await messagesOf()).toEqual(["before", "seen", "after"]);
    expect(unreadable).toEqual([]);
  });

  it("is read and followed on beside a file that is truncated, which is reported", async () => {
    append("system.journal", lines(0, 2));
    append("archived.journal", lines(2, 500));
    const follower = follow();
    append("system.journal", ["seen"]);
    await follower.until("seen");
    expect((await query()).total).toBe(501);
    for (const size of [100_000, 300, 0]) {
      truncateSync(join(directory.path, "archived.journal"), size);
      append("system.journal", [`cut to ${size}`]);
      await follower.until(`cut to ${size}`);
      expect(await messagesOf()).toEqual(expect.arrayContaining([...lines(0, 2), "seen", `cut to ${size}`]));
    }
    expect(follower.seen).toEqual(["seen", "cut to 100000", "cut to 300", "cut to 0"]);
    expect(new Set(unreadable)).toEqual(new Set(["archived.journal"]));
  });
});

describe.skipIf(!canMakeJournals()).each(fileKinds.slice(0, 2))(
  "queries of a journal that has changed since the last ones ($name)",
  (kind) => {
    let directory: JournalDirectory & { readonly writer: Writer };
    let engine: Engine;
    let passedMicros = 0;
    const [bootId = "", nextBootId = ""] = boots;

    beforeAll(() => {
      directory = createDirectory(kind, 7);
      engine = createEngine({ roots: [{ path: directory.path }] });
    });

    afterAll(() => {
      engine?.dispose();
      directory?.remove();
    });

    const more = (count: number, boot = bootId): readonly NewEntry[] => {
      passedMicros += 3_600_000_000;
      const clock = { bootId: boot, realtime: start + passedMicros, monotonic: passedMicros };
      return everyday(directory.writer.random, clock, count);
    };
    const append = (file: string, entries: readonly NewEntry[]): void => directory.writer.append(file, entries);
    const rotate = (file: string, entries: readonly NewEntry[]): void => directory.writer.rotate(file, entries);
    const oldestArchived = (): string => {
      const [oldest] = readdirSync(directory.path)
        .filter((name) => name.includes("@"))
        .sort();
      if (oldest === undefined) throw new Error("nothing was rotated");
      return join(directory.path, oldest);
    };

    /** In this order: each continues from what the one before has left. */
    const changes: readonly { readonly name: string; readonly change: () => void }[] = [
      { name: "there is no file yet", change: () => undefined },
      { name: "the first file is there", change: () => append("system.journal", more(20)) },
      { name: "it has grown by one entry", change: () => append("system.journal", more(1)) },
      { name: "it has grown by nothing", change: () => append("system.journal", []) },
      { name: "it has grown by many", change: () => append("system.journal", more(700)) },
      { name: "it is rotated", change: () => rotate("system.journal", more(30)) },
      { name: "a user's file is there", change: () => append("user-1000.journal", more(30)) },
      { name: "a file continues in another boot", change: () => append("system.journal", more(40, nextBootId)) },
      { name: "a machine's directory is there", change: () => append(`${machines[0]}/system.journal`, more(10)) },
      { name: "another is rotated", change: () => rotate("user-1000.journal", more(25, nextBootId)) },
      { name: "the oldest is vacuumed", change: () => rmSync(oldestArchived()) },
      { name: "one is renamed", change: () => renameSync(oldestArchived(), join(directory.path, "kept.journal")) },
      {
        name: "another file is in its place",
        change() {
          rmSync(join(directory.path, "system.journal"));
          append("system.journal", more(15, nextBootId));
        },
      },
      {
        name: "all are gone",
        change() {
          for (const name of readdirSync(directory.path)) rmSync(join(directory.path, name), { recursive: true });
        },
      },
      { name: "there is a first file again", change: () => append("system.journal", more(15)) },
    ];

    it.each(changes)("answer what journalctl has once $name", ({ change }) => {
      change();
      const journal = known(directory);
      const whole = pageOf(journal.all, everything, undefined);
      const answer = answerOf(engine, everything);
      expect(firstDifference(answer, whole)).toBeUndefined();
      expect(answer.not_shown === undefined).toBe(journal.all.length > 0);
      fc.assert(
        fc.property(queriesOn(journal.all, []), (query) => {
          const expected = pageOf(journal.all, query, journal.positionOf(query.cursor));
          const difference = firstDifference(answerOf(engine, query), expected);
          if (difference !== undefined) throw new Error(difference);
        }),
        { numRuns: 40 },
      );
    });
  },
);

describe("the thread of the journal's followers", () => {
  afterEach(() => vi.useRealTimers());

  it("fails only those that it served when it ends", async () => {
    vi.useFakeTimers();
    const threads: { readonly events: ThreadEvents; readonly asked: ThreadRequest[] }[] = [];
    const { follow, dispose } = createFollowThread((events) => {
      const asked: ThreadRequest[] = [];
      threads.push({ events, asked });
      return { send: (request) => void asked.push(request), cancel: () => undefined, end: () => undefined };
    });
    const begin = (signal: AbortSignal) => follow({ cursor: undefined }, signal)[Symbol.asyncIterator]();
    const leaving = new AbortController();
    const earlier = begin(leaving.signal);
    const pulled = earlier.next();
    leaving.abort();
    expect((await pulled).done).toBe(true);
    await vi.runAllTimersAsync();

    const staying = new AbortController();
    const later = begin(staying.signal);
    const next = later.next();
    // The end of a thread takes some time: the next one is up when it is reported.
    threads[0]?.events.onEnd("it ended");
    const id = threads[1]?.asked.find(({ kind }) => kind === "pull")?.id ?? 0;
    threads[1]?.events.onReply({ kind: "entries", id, entries: [live] });
    expect(await next).toEqual({ done: false, value: [live] });
    const cut = later.next();
    threads[1]?.events.onEnd("it ran out of memory");
    await expect(cut).rejects.toThrow("it ran out of memory");
    dispose();
  });
});

const live: LiveEntry = {
  units: [],
  namespace: "",
  priority: 6,
  entry: {
    timestamp: "2026-01-01T00:00:00.000000Z",
    unit: "",
    priority: 6,
    message: "one",
    cursor: "",
    identifier: "",
    pid: null,
    hostname: "",
    boot_id: "",
  },
};
