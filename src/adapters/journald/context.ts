import type { LogEntry, UnreadFiles } from "#contract/log-entry.ts";
import type { LogList } from "#contract/logs.ts";
import { namesUnread } from "#domain/logs/unread.ts";
import { anyEntries, type ContextQuery, type Lacking, type LogQuery } from "#domain/ports/journal.ts";
import { maxAnswerBytes } from "./query.ts";

/** As many as there is space for, starting with those that stand next to the entry. */
function nearest(logs: readonly LogEntry[], space: number): readonly string[] {
  const texts: string[] = [];
  let left = space;
  for (const entry of logs) {
    const text = JSON.stringify(entry);
    left -= Buffer.byteLength(text) + 1;
    if (left < 0) break;
    texts.push(text);
  }
  return texts;
}

/**
 * An entry and those around it, oldest first.
 * @param ask answers a query.
 * @returns the JSON of a LogContext; where the entry is not there, the files that may have it.
 */
export function answerContext(
  { cursor, units, namespace, before, after, fields }: ContextQuery,
  ask: (query: LogQuery) => LogList,
): Uint8Array | Lacking {
  const wanted = { ...anyEntries, units, namespace, fields };
  let unread: UnreadFiles = [];
  const read = (query: Pick<LogQuery, "limit"> & Partial<LogQuery>): readonly LogEntry[] => {
    if (query.limit === 0) return [];
    const answer = ask({ ...wanted, ...query });
    unread = answer.unread ?? unread;
    return answer.logs;
  };
  const [entry] = read({ limit: 1, entry: { cursor, offset: 0 } });
  if (entry === undefined) return { unread };
  const own = JSON.stringify(entry);
  const space = maxAnswerBytes - Buffer.byteLength(own);
  const earlier = nearest(read({ cursor: entry.cursor, order: "desc", limit: before }), space / 2);
  const later = nearest(read({ cursor: entry.cursor, order: "asc", limit: after }), space / 2);
  const texts = [...earlier.toReversed(), own, ...later];
  const rest = { index: earlier.length, ...namesUnread({ unread }) };
  return Buffer.from(`{"entries":[${texts.join(",")}],${JSON.stringify(rest).slice(1)}`);
}
