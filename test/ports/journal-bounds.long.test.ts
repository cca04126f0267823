import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { wholeEntry } from "#adapters/journal-format/whole-entry.ts";
import type { LogEntry } from "#contract/log-entry.ts";
import type { LogList } from "#contract/logs.ts";
import type { LogQuery } from "#domain/ports/journal.ts";
import type { Field } from "../journals/export-format.ts";
import { everything } from "../journals/known.ts";
import { createLiveDirectory, entriesOfNow, type LiveDirectory } from "../journals/live-directory.ts";
import { canMakeJournals, runJournalctl } from "../journals/programs.ts";
import { never, openJournal, type Reader } from "../journals/reader.ts";

const shownBytes = 8 * 2 ** 20;
const far = { ...everything, until: 2 ** 55 };

describe.skipIf(!canMakeJournals())("the journal beyond usual bounds", () => {
  let directory: LiveDirectory;
  let readers: Reader[];
  beforeEach(() => {
    directory = createLiveDirectory();
    readers = [];
  });
  afterEach(() => {
    for (const reader of readers) {
      expect(reader.unreadable).toEqual([]);
      reader.dispose();
    }
    directory.remove();
  });

  const open = () => {
    const reader = openJournal(directory.path);
    readers.push(reader);
    const ask = (query: Partial<LogQuery>): Promise<LogList> => reader.ask({ ...far, ...query });
    const whole = async ({ cursor }: LogEntry, units?: readonly string[]): Promise<string> => {
      let text = "";
      for (let offset: number | undefined = 0; offset !== undefined; ) {
        const { logs, total } = await ask({ entry: { cursor, offset }, units });
        expect(total).toBe(logs.length);
        text += logs[0]?.message ?? "";
        offset = logs[0]?.next_offset;
      }
      return text;
    };
    return { journal: reader.journal, ask, whole };
  };

  /** @param characters of three bytes each, so that no part ends where a character does by chance. */
  const longText = (characters: number): string => `${"€".repeat(characters)} the end`;
  const write = (...messages: readonly string[]): void =>
    directory.append(
      "system.journal",
      entriesOfNow(
        messages.map((message) => [
          ["MESSAGE", message],
          ["_SYSTEMD_UNIT", "a.service"],
        ]),
      ),
    );

  it("cuts a message of 70 MB in lists and streams, finds words at its end, and gives all of it by its cursor", async () => {
    const text = longText(24_000_000);
    write("before", text, "after", ...Array.from({ length: 9 }, () => "more"));
    const { journal, ask, whole } = open();
    const { logs, total } = await ask({});
    expect([total, logs.flatMap(({ truncated }, at) => (truncated ? [at] : []))]).toEqual([12, [1]]);
    const [, cut] = logs;
    if (cut === undefined) throw new Error("there is no entry");
    expect(Buffer.byteLength(cut.message)).toBe(cut.next_offset);
    expect([shownBytes - (cut.next_offset ?? 0), text.startsWith(cut.message)]).toEqual([2, true]);
    const searched = await ask({ grep: "the end$" });
    expect(searched.logs).toEqual([cut]);
    const { cursor } = cut;
    expect((await ask({ grep: "the end$", entry: { cursor, offset: 0 } })).logs).toEqual([cut]);
    expect((await ask({ grep: "no end$", entry: { cursor, offset: 0 } })).logs).toEqual([]);
    expect((await whole(cut)) === text).toBe(true);
    expect(await whole(cut, ["b.service"])).toBe("");
    for await (const [entry] of journal.follow({ cursor: logs[0]?.cursor }, never)) {
      expect(entry?.entry).toEqual(cut);
      break;
    }
  });

  it("has fewer entries in a page that would be too large, and pages on after them", async () => {
    write(...Array.from({ length: 70 }, (_, at) => `${at} ${longText(400_000)}`));
    const { ask } = open();
    for (const order of ["asc", "desc"] as const) {
      const seen: string[] = [];
      let cursor: string | null | undefined =
        order === "asc" ? (await ask({ order: "desc" })).logs.at(-1)?.cursor : undefined;
      for (let pages = 0; pages < 9 && cursor !== null; pages += 1) {
        const { logs, next_cursor }: LogList = await ask({ order, cursor });
        if (logs.length === 0) break;
        seen.push(...logs.map(({ message }) => message.split(" ")[0] ?? ""));
        cursor = next_cursor;
      }
      const from = order === "asc" ? 70 - seen.length : 0;
      const all = Array.from({ length: 70 }, (_, at) => String(order === "asc" ? at : 69 - at)).slice(from);
      expect(seen).toEqual(all);
      expect(seen.length).toBeGreaterThan(20);
    }
    // Without a cursor the newest are there, the last one last.
    expect((await ask({})).logs.at(-1)?.message.slice(0, 3)).toBe("69 ");
  });

  it("has the cursors of journalctl beyond the year 2255, whose times no number holds exactly", async () => {
    const first = 2n ** 53n + 1n;
    const bootId = "b".repeat(32);
    const times = [first, first + 1n, first + 2n, first + 5n, 2n ** 55n - 1n];
    directory.append(
      "system.journal",
      times.map((realtime, at) => ({ realtime, monotonic: at + 1, bootId, fields: [["MESSAGE", `line ${at}`]] })),
    );
    const { ask, whole } = open();
    const { logs } = await ask({});
    const { stdout } = runJournalctl(["-o", "json", `--file=${join(directory.path, "system.journal")}`]);
    const theirs = stdout
      .toString()
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Readonly<Record<string, string>>);
    expect(logs.map(({ cursor }) => cursor)).toEqual(theirs.map(({ __CURSOR }) => __CURSOR));
    expect(logs.map(({ timestamp }) => timestamp.slice(-8, -1))).toEqual(
      theirs.map(({ __REALTIME_TIMESTAMP = "" }) => `.${__REALTIME_TIMESTAMP.slice(-6)}`),
    );
    for (const [at, entry] of logs.entries()) {
      expect(await whole(entry)).toBe(`line ${at}`);
      expect((await ask({ cursor: entry.cursor })).logs).toEqual(logs.slice(at + 1));
    }
  });

  it("gives values that are too long for one answer in parts, of several in one entry too", async () => {
    const long = [7, 13, 1].map((size, at) => Buffer.alloc(size * 1024 * 1024, `é${at}\n`));
    // In JSON six times as long.
    const message: Field = ["MESSAGE", Buffer.alloc(9 * 1024 * 1024, "\u0001")];
    directory.append("system.journal", entriesOfNow([[message, ...long.map((value): Field => ["OTHER", value])]]));
    const { ask } = open();
    const [entry] = (await ask({ fields: "all" })).logs;
    if (entry === undefined) throw new Error("the entry is not there");
    let asked = 0;
    const raw = await wholeEntry(entry, ({ entry: cursor, fields: name, offset }) => {
      asked += 1;
      return ask({ entry: { cursor, offset }, fields: [name] });
    });
    const values = raw.fields.filter(({ name }) => name === "OTHER").map((field) => field.bytes);
    expect(values.map((value, at) => value.equals(long[at] ?? Buffer.alloc(0)))).toEqual([true, true, true]);
    expect(asked).toBeLessThan(20);
  });
});
