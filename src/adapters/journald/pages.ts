import type { LogList } from "#contract/logs.ts";
import { type Journal, LogQueryRefused } from "#domain/ports/journal.ts";
import { errorSummary } from "#kernel/errors.ts";

/** Entries that are asked for at a time: with lines of usual length not quite the largest answer that there is. */
const pageEntries = 50_000;

export interface Wanted {
  readonly unit: string;
  readonly uid?: number;
  readonly grep: string;
}

export async function* journalPages(
  query: Journal["query"],
  { unit, uid, grep }: Wanted,
  signal: AbortSignal,
): AsyncGenerator<LogList["logs"]> {
  const wanted = {
    units: [unit],
    since: 0,
    until: Infinity,
    priority: undefined,
    identifier: undefined,
    uid,
    boot: undefined,
    grep,
    order: "desc",
  } as const;
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const { bytes } = await query({ ...wanted, cursor, limit: pageEntries }, signal);
    const page = JSON.parse(Buffer.from(bytes).toString("utf8")) as LogList;
    yield page.logs;
    cursor = page.next_cursor;
  }
}

/** Why not all pages could be read. The words for a query that takes long are meant for who can choose what to look for. */
export function unreadReason(error: unknown, signal: AbortSignal): string {
  const isLate = signal.aborted || (error instanceof LogQueryRefused && error.field === "grep");
  return isLate ? "reading it takes too long" : errorSummary(error);
}
