import { describe, expect, it } from "vitest";
import type { LogList } from "#contract/logs.ts";
import { SerializedJson } from "#contract/operation.ts";
import type { LogQuery } from "#domain/ports/journal.ts";
import { JournalUnavailable } from "#domain/ports/journal.ts";
import { readHeads } from "./audit-heads.ts";

const log = { directory: "/var/lib/steward/audit", unit: "steward.service" };
const hashOf = (digit: string): string => digit.repeat(64);
const headLine = (seq: number, hash: string, directory = log.directory): string =>
  JSON.stringify({
    level: "info",
    time: "2026-01-01T00:00:00.000Z",
    seq,
    hash,
    folder: directory,
    msg: "audit checkpoint",
  });

/** A journal of these messages, the newest first; answers hold no more than so many of them. */
function journalOf(messages: readonly string[], largest = Number.POSITIVE_INFINITY) {
  const queries: LogQuery[] = [];
  const query = (wanted: LogQuery): Promise<SerializedJson<LogList>> => {
    queries.push(wanted);
    const { cursor = "0", grep = "" } = wanted;
    const limit = Math.min(wanted.limit, largest);
    const fitting = messages.filter((message) => new RegExp(grep).test(message));
    const from = Number(cursor);
    const page = fitting.slice(from, from + limit);
    const logs = page.map((message, at) => ({ message, timestamp: `${from + at}` }));
    const next = from + limit < fitting.length ? String(from + limit) : null;
    const text = JSON.stringify({ logs, total: fitting.length, next_cursor: next });
    return Promise.resolve(new SerializedJson<LogList>(Buffer.from(text)));
  };
  return { queries, query };
}

const read = (journal: ReturnType<typeof journalOf>) => readHeads(journal, log, new AbortController().signal);

describe("audit checkpoints in the journal", () => {
  it("are found behind any number of others, each once", async () => {
    const flood = Array.from({ length: 120_000 }, () => headLine(7, hashOf("7")));
    const journal = journalOf([...flood, headLine(3, hashOf("3"))]);
    expect(await read(journal)).toEqual({
      heads: [
        { seq: 7, hash: hashOf("7"), source: "the journal (0)" },
        { seq: 3, hash: hashOf("3"), source: "the journal (120000)" },
      ],
      contradiction: undefined,
      missing: undefined,
    });
    expect(journal.queries.map(({ units, order }) => [units, order])).toEqual(
      Array.from({ length: 3 }, () => [["steward.service"], "desc"]),
    );
  });

  it("contradict each other with two hashes of one entry", async () => {
    const journal = journalOf([headLine(3, hashOf("a")), headLine(4, hashOf("4")), headLine(3, hashOf("b"))]);
    expect((await read(journal)).contradiction).toMatchObject([
      { seq: 3, hash: hashOf("b") },
      { seq: 3, hash: hashOf("a") },
    ]);
  });

  it("are not read from forged lines", async () => {
    const other = headLine(3, hashOf("3"), "/srv/audit");
    const long = `${headLine(4, hashOf("4")).slice(0, -1)},"more":"${"x".repeat(1000)}"}`;
    const odd = [headLine(0, hashOf("0")), headLine(1.5, hashOf("1")), headLine(2, "x"), '"msg":"audit head"'];
    const journal = journalOf([other, long, ...odd, headLine(5, hashOf("5"))]);
    expect(await read(journal)).toMatchObject({ heads: [{ seq: 5 }], missing: undefined });
  });

  it("include those of earlier versions, and are read on after a short page", async () => {
    const journal = journalOf([headLine(2, hashOf("2")), headLine(1, hashOf("1"))], 1);
    expect(await read(journal)).toMatchObject({ heads: [{ seq: 2 }, { seq: 1 }], missing: undefined });
    expect(journal.queries).toHaveLength(2);
    const earlier = headLine(7, hashOf("7")).replace("audit checkpoint", "audit head");
    expect((await read(journalOf([earlier]))).heads).toEqual([
      { seq: 7, hash: hashOf("7"), source: "the journal (0)" },
    ]);
  });

  it("are incomplete when the journal cannot be read, or has too many", async () => {
    const query = () => Promise.reject(new JournalUnavailable("no permission"));
    expect(await readHeads({ query }, log, new AbortController().signal)).toMatchObject({ missing: "no permission" });
    const ended = AbortSignal.abort();
    expect(await readHeads({ query }, log, ended)).toMatchObject({ missing: "reading it takes too long" });
    const many = Array.from({ length: 200_001 }, (_, at) => headLine(at + 1, hashOf("1")));
    expect(await read(journalOf(many))).toMatchObject({ missing: "there are more than 200000 heads in it" });
  });
});
