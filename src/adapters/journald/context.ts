import type { LogEntry } from "#contract/log-entry.ts";
import type { LogList } from "#contract/logs.ts";
import { anyEntries, type ContextQuery, type LogQuery } from "#domain/ports/journal.ts";
import { maxAnswerBytes } from "./query.ts";

/** As many as there is room for, beginning with those that stand next to the entry. */
function nearest(logs: readonly LogEntry[], room: number): readonly string[] {
  const texts: string[] = [];
  let left = room;
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
 * @returns the JSON of a LogContext; undefined where the entry is not there.
 */
export async function answerContext(
  { cursor, units, namespace, before, after, fields }: ContextQuery,
  ask: (query: LogQuery) => Promise<LogList>,
): Promise<Uint8Array | undefined> {
  const wanted = { ...anyEntries, units, namespace, fields };
  const { logs } = await ask({ ...wanted, limit: 1, entry: { cursor, offset: 0 } });
  const [entry] = logs;
  if (entry === undefined) return undefined;
  const beside = async (order: "asc" | "desc", limit: number): Promise<readonly LogEntry[]> =>
    limit === 0 ? [] : (await ask({ ...wanted, cursor: entry.cursor, order, limit })).logs;
  const own = JSON.stringify(entry);
  const room = maxAnswerBytes - Buffer.byteLength(own);
  const earlier = nearest(await beside("desc", before), room / 2);
  const later = nearest(await beside("asc", after), room / 2);
  const texts = [...earlier.toReversed(), own, ...later];
  return Buffer.from(`{"entries":[${texts.join(",")}],"index":${earlier.length}}`);
}
