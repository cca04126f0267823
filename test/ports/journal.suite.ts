import { afterEach, describe, expect, it } from "vitest";
import type { LogEntry } from "#contract/log-entry.ts";
import type { LogList } from "#contract/logs.ts";
import type { Journal, LiveEntry, LogQuery } from "#domain/ports/journal.ts";
import { everything } from "../journals/known.ts";
import { decoded, never } from "../journals/reader.ts";

/** An entry that the suite wants to find; what is left out is as in {@link usual}. */
export interface SuiteEntry {
  readonly message: string;
  /** Microseconds since the epoch. */
  readonly time: number;
  readonly unit?: string;
  /** Null: none was written. */
  readonly priority?: number | null;
}

export interface JournalUnderTest {
  readonly journal: Pick<Journal, "query" | "follow">;
  /** Writes entries now, in this order. */
  readonly write: (messages: readonly string[]) => Promise<void>;
  readonly dispose: () => void;
}

const start = Date.parse("2026-01-02T03:04:05Z") * 1000;
const firstBoot = "1".repeat(32);

/** What an entry has unless it says otherwise. */
export const usual = {
  unit: "app.service",
  priority: 6,
  identifier: "app",
  pid: 42,
  uid: 1000,
  hostname: "testhost",
  bootId: firstBoot,
} as const;

const numbered = (from: number, to: number): readonly string[] =>
  Array.from({ length: to - from }, (_, index) => `line ${from + index}`);
const numberedEntries = (count: number): readonly SuiteEntry[] =>
  numbered(0, count).map((message, index) => ({ message, time: start + index * 1000 }));
const messagesOf = ({ logs }: LogList): readonly string[] => logs.map(({ message }) => message);

/** The cursor of an entry that stood right after this one and is gone, written to a file that is gone too. */
function cursorAfter({ cursor }: LogEntry): string {
  const grown = cursor.replaceAll(/(?<=;[mt]=)[0-9a-f]+/g, (digits) => (Number.parseInt(digits, 16) + 1).toString(16));
  return grown.replace(/^s=[0-9a-f]+/, `s=${"e".repeat(32)}`).replace(/x=.*$/, "x=1");
}

/**
 * What every implementation of the Journal port does; `make` writes the entries, in this order, before it returns. What filters find,
 * journal-differential compares with journalctl, and the tests of the API with what a caller asks for.
 */
export function journalSuite(make: (entries: readonly SuiteEntry[]) => JournalUnderTest): void {
  const made: JournalUnderTest[] = [];
  const open = (entries: readonly SuiteEntry[]): JournalUnderTest => {
    const under = make(entries);
    made.push(under);
    return under;
  };
  afterEach(() => {
    for (const under of made.splice(0)) under.dispose();
  });
  const asker =
    ({ journal }: JournalUnderTest) =>
    async (query: Partial<LogQuery> = {}): Promise<LogList> =>
      decoded((await journal.query({ ...everything, ...query }, never)).bytes);

  describe("a query of the journal", () => {
    it("has the newest entries, oldest first or newest first, and counts all", async () => {
      const ask = asker(open(numberedEntries(10)));
      expect(messagesOf(await ask())).toEqual(numbered(0, 10));
      const oldestFirst = await ask({ limit: 3 });
      expect([messagesOf(oldestFirst), oldestFirst.total]).toEqual([numbered(7, 10), 10]);
      const newestFirst = await ask({ limit: 3, order: "desc" });
      expect([messagesOf(newestFirst), newestFirst.total]).toEqual([[...numbered(7, 10)].reverse(), 10]);
    });

    it("pages on by next_cursor, and polls where nothing is new", async () => {
      const under = open(numberedEntries(7));
      const ask = asker(under);
      const first = (await ask()).logs[0]?.cursor;
      const page = await ask({ cursor: first, limit: 4 });
      expect(messagesOf(page)).toEqual(numbered(1, 5));
      const rest = await ask({ cursor: page.next_cursor ?? undefined, limit: 4 });
      expect([messagesOf(rest), rest.total]).toEqual([numbered(5, 7), 7]);
      expect(rest.next_cursor).toBe(rest.logs.at(-1)?.cursor);
      const nothing = await ask({ cursor: rest.next_cursor ?? undefined });
      expect(nothing).toEqual({ logs: [], total: 7, next_cursor: rest.next_cursor });
      await under.write(["new"]);
      expect(messagesOf(await ask({ cursor: nothing.next_cursor ?? undefined }))).toEqual(["new"]);
    });

    it("continues where an entry was that is gone", async () => {
      const ask = asker(open(numberedEntries(6)));
      const { logs } = await ask();
      const [, , third] = logs;
      if (third === undefined) throw new Error("the third entry is missing");
      const cursor = cursorAfter(third);
      expect(messagesOf(await ask({ cursor }))).toEqual(numbered(3, 6));
      expect(messagesOf(await ask({ cursor, order: "desc" }))).toEqual([...numbered(0, 3)].reverse());
    });
  });

  describe("a follower of the journal", () => {
    const following = (
      { journal }: JournalUnderTest,
      { cursor }: { cursor?: string | undefined } = {},
    ): { readonly take: (count: number) => Promise<readonly LiveEntry[]>; readonly end: () => Promise<void> } => {
      const ended = new AbortController();
      const batches = journal.follow({ cursor }, ended.signal)[Symbol.asyncIterator]();
      const waiting: LiveEntry[] = [];
      // Begins with its first pull, so that one is always under way.
      let pull = batches.next();
      return {
        async take(count) {
          while (waiting.length < count) {
            const { value, done } = await pull;
            if (done === true) throw new Error(`the follower ended after ${waiting.length} of ${count} entries`);
            waiting.push(...value);
            pull = batches.next();
          }
          return waiting.splice(0, count);
        },
        async end() {
          ended.abort();
          const last = await pull;
          expect([last.done === true ? [] : last.value, (await batches.next()).done]).toEqual([[], true]);
        },
      };
    };
    const texts = (entries: readonly LiveEntry[]): readonly string[] => entries.map(({ entry }) => entry.message);

    it("gets what is written after it was asked for, though its thread is not up", async () => {
      const under = open(numberedEntries(3));
      const follower = following(under);
      await under.write(["at once"]);
      expect(texts(await follower.take(1))).toEqual(["at once"]);
      await under.write(["a", "b"]);
      await under.write(["c"]);
      expect(texts(await follower.take(3))).toEqual(["a", "b", "c"]);
      await follower.end();
    });

    it("begins after a cursor, and gets each entry once", async () => {
      const under = open(numberedEntries(600));
      const { logs } = await asker(under)();
      const follower = following(under, { cursor: logs[9]?.cursor });
      await under.write(["new"]);
      const found = await follower.take(591);
      expect(texts(found)).toEqual([...numbered(10, 600), "new"]);
      expect(found.slice(0, -1).map(({ entry }) => entry)).toEqual(logs.slice(10));
      const behindLast = following(under, { cursor: found.at(-1)?.entry.cursor });
      await under.write(["later"]);
      expect(texts(await behindLast.take(1))).toEqual(["later"]);
      expect(texts(await follower.take(1))).toEqual(["later"]);
      await Promise.all([follower.end(), behindLast.end()]);
    });

    it("begins where an entry was that is gone", async () => {
      const under = open(numberedEntries(6));
      const fourth = (await asker(under)()).logs[3];
      if (fourth === undefined) throw new Error("the fourth entry is missing");
      const follower = following(under, { cursor: cursorAfter(fourth) });
      expect(texts(await follower.take(2))).toEqual(numbered(4, 6));
      await follower.end();
    });

    it("gets the same as others beside it", async () => {
      const under = open(numberedEntries(3));
      const followers = [following(under), following(under), following(under)];
      await under.write(numbered(3, 6));
      for (const follower of followers) expect(texts(await follower.take(3))).toEqual(numbered(3, 6));
      const [first, ...others] = followers;
      await first?.end();
      await under.write(["more"]);
      for (const follower of others) {
        expect(texts(await follower.take(1))).toEqual(["more"]);
        await follower.end();
      }
    });

    it("loses nothing when it is pulled slowly", async () => {
      const under = open([]);
      const [slow, quick] = [following(under), following(under)];
      for (let from = 0; from < 2000; from += 500) {
        await under.write(numbered(from, from + 500));
        expect(texts(await quick.take(500))).toEqual(numbered(from, from + 500));
      }
      expect(texts(await slow.take(2000))).toEqual(numbered(0, 2000));
      await Promise.all([slow.end(), quick.end()]);
    });

    it("gets the units, and the severity as it was written", async () => {
      const under = open([
        { message: "before", time: start },
        { message: "stated", time: start + 1, priority: 2, unit: "a.service" },
        { message: "not stated", time: start + 2, priority: null, unit: "kernel" },
        { message: "of nobody", time: start + 3, unit: "" },
      ]);
      const follower = following(under, { cursor: (await asker(under)()).logs[0]?.cursor });
      expect((await follower.take(3)).map(({ entry, ...rest }) => ({ ...rest, shown: entry.priority }))).toEqual([
        { units: ["a.service"], namespace: "", priority: 2, shown: 2 },
        { units: ["kernel"], namespace: "", priority: null, shown: 6 },
        { units: [], namespace: "", priority: 6, shown: 6 },
      ]);
      await follower.end();
    });

    it("ends with its signal, and does not begin after it", async () => {
      const under = open(numberedEntries(2));
      const follower = following(under);
      await under.write(["seen"]);
      await follower.take(1);
      await follower.end();
      const batches = under.journal.follow({ cursor: undefined }, AbortSignal.abort())[Symbol.asyncIterator]();
      expect((await batches.next()).done).toBe(true);
    });
  });
}
