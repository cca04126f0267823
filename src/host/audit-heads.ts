import type { KnownHead } from "#adapters/audit/index.ts";
import type { LogList } from "#contract/logs.ts";
import { type Journal, LogQueryRefused } from "#domain/logs/ports.ts";
import { reasonOf } from "./error-reason.ts";

/** The message by which the service logs the newest entry of its audit log. */
export const headMessage = "audit head";

/** Entries that are asked for at a time: with lines of usual length not quite the largest answer that there is. */
const pageEntries = 50_000;
/** Different heads that are kept: those of four years, with one in ten minutes. */
const maxHeads = 200_000;
/** What stands in the line of a head besides the folder is shorter than this. */
const restOfLine = 300;

/** What the journal knows of the audit log. */
export interface JournalHeads {
  readonly heads: readonly KnownHead[];
  /** Two entries of one number: one of them is not the one that was there when it was logged. */
  readonly contradiction: readonly [KnownHead, KnownHead] | undefined;
  /** Why there may be more; undefined when these are all. */
  readonly missing: string | undefined;
}

const hashForm = /^[0-9a-f]{64}$/;

/** A head as the service has logged it; undefined for any other line. */
function headIn(message: string, folder: string): Pick<KnownHead, "seq" | "hash"> | undefined {
  try {
    const { seq, hash, folder: of, msg }: Readonly<Record<string, unknown>> = JSON.parse(message);
    if (msg !== headMessage || of !== folder || typeof hash !== "string" || !hashForm.test(hash)) return undefined;
    return Number.isSafeInteger(seq) && Number(seq) > 0 ? { seq: Number(seq), hash } : undefined;
  } catch {
    return undefined;
  }
}

/** Lines as long as those of heads are: what else a program writes does not make the answer too large. */
function patternFor(folder: string): string {
  const some = `.{0,${JSON.stringify(folder).length + restOfLine}}`;
  return `^${some}"msg":"${headMessage}"${some}$`;
}

type Query = Journal["query"];

/** Everything that a unit has logged and that may be a head, page by page, the newest first. */
async function* pagesOf(query: Query, { folder, unit }: Log, signal: AbortSignal): AsyncGenerator<LogList["logs"]> {
  const wanted = {
    units: [unit],
    since: 0,
    until: Number.MAX_SAFE_INTEGER,
    priority: undefined,
    identifier: undefined,
    boot: undefined,
    grep: patternFor(folder),
    order: "desc",
  } as const;
  let limit = pageEntries;
  const ask = async (cursor: string | undefined): Promise<LogList> => {
    for (;;) {
      try {
        const { bytes } = await query({ ...wanted, cursor, limit }, signal);
        return JSON.parse(Buffer.from(bytes).toString("utf8")) as LogList;
      } catch (error) {
        const isTooLarge = error instanceof LogQueryRefused && error.field === "limit" && limit > 1;
        if (!isTooLarge) throw error;
        limit = Math.floor(limit / 2);
      }
    }
  };
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await ask(cursor);
    yield page.logs;
    cursor = page.next_cursor;
  }
}

/** Whose heads are looked for. */
interface Log {
  readonly folder: string;
  /** Which unit has written a line, journald says, and not the line. */
  readonly unit: string;
}

/**
 * All the heads that a unit has logged to the journal, each once. Whoever can log as the unit can log any number of them, so none is
 * left out for being old: the false ones are not to push out those from before.
 */
export async function readHeads(journal: Pick<Journal, "query">, log: Log, signal: AbortSignal): Promise<JournalHeads> {
  const bySeq = new Map<number, KnownHead>();
  const so = (rest: Partial<JournalHeads> = {}): JournalHeads => ({
    heads: [...bySeq.values()],
    contradiction: undefined,
    missing: undefined,
    ...rest,
  });
  try {
    for await (const page of pagesOf(journal.query, log, signal)) {
      for (const { message, timestamp } of page) {
        const found = headIn(message, log.folder);
        if (found === undefined) continue;
        const head = { ...found, source: `the journal (${timestamp})` };
        const known = bySeq.get(head.seq);
        if (known === undefined) bySeq.set(head.seq, head);
        else if (known.hash !== head.hash) return so({ contradiction: [head, known] });
        if (bySeq.size > maxHeads) return so({ missing: `there are more than ${maxHeads} heads in it` });
      }
    }
    return so();
  } catch (error) {
    // The words for that are meant for who can choose what to look for.
    const isLate = signal.aborted || (error instanceof LogQueryRefused && error.field === "grep");
    return so({ missing: isLate ? "reading it takes too long" : reasonOf(error) });
  }
}
