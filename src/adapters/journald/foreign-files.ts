import { CommandExited } from "#adapters/exec/index.ts";
import type { LogEntry, LogList } from "#contract/logs.ts";
import { JournalUnavailable, type LogQuery } from "#domain/ports/journal.ts";
import type { Journalctl } from "./journalctl.ts";
import { comparePlaces, type Place, parseCursor } from "./order.ts";
import { maxAnswerBytes } from "./query.ts";
import type { Fault } from "./registry.ts";

/**
 * Adds the entries of files that only `journalctl` reads to an answer from the others. A file that it cannot read either is
 * reported, and left out.
 * @throws LogQueryRefused, JournalUnavailable
 */
export async function addForeignFiles(
  ours: Uint8Array,
  {
    paths,
    query,
    signal,
  }: { readonly paths: readonly string[]; readonly query: LogQuery; readonly signal: AbortSignal },
  { journalctl, onDamage }: { readonly journalctl: Journalctl; readonly onDamage: (fault: Fault) => void },
): Promise<Uint8Array> {
  let list = parse(ours);
  for (const path of paths) {
    try {
      list = mergeLists(list, parse(await journalctl.query(query, signal, path)), query);
    } catch (error) {
      if (!(error instanceof JournalUnavailable && error.cause instanceof CommandExited)) throw error;
      onDamage({
        path,
        what: `of a kind that this service does not read, and journalctl fails: ${error.cause.message}`,
      });
    }
  }
  return Buffer.from(JSON.stringify(list));
}

const parse = (bytes: Uint8Array): LogList => JSON.parse(Buffer.from(bytes).toString("utf8")) as LogList;

interface Placed {
  readonly entry: LogEntry;
  readonly place: Place | undefined;
}

function placed({ logs }: LogList): readonly Placed[] {
  return logs.map((entry) => {
    const location = parseCursor(entry.cursor);
    return { entry, place: location && { ...location, moment: location.realtime } };
  });
}

/** As many as an answer has room for, from the first on. */
function fitting(logs: readonly LogEntry[]): LogEntry[] {
  let size = 0;
  const end = logs.findIndex((entry) => {
    size += Buffer.byteLength(JSON.stringify(entry)) + 1;
    return size > maxAnswerBytes;
  });
  return logs.slice(0, end < 0 ? logs.length : end);
}

/** Two pages of the same query over different files. Each keeps its own order. */
function mergeLists(left: LogList, right: LogList, { order, limit, cursor }: LogQuery): LogList {
  const [ours, theirs] = [placed(left), placed(right)];
  const sign = order === "asc" ? 1 : -1;
  const merged: LogEntry[] = [];
  for (let [a, b] = [0, 0]; a < ours.length || b < theirs.length; ) {
    const [one, other] = [ours[a], theirs[b]];
    const isOurs =
      other === undefined ||
      (one?.place !== undefined && other.place !== undefined && sign * comparePlaces(one.place, other.place) <= 0);
    const next = isOurs ? one : other;
    if (isOurs) a += 1;
    else b += 1;
    if (next !== undefined) merged.push(next.entry);
  }
  const isNewest = order === "asc" && cursor === undefined;
  const logs = isNewest ? fitting(merged.slice(-limit).reverse()).reverse() : fitting(merged.slice(0, limit));
  const hasMore = merged.length > logs.length || left.next_cursor !== null || right.next_cursor !== null;
  const last = logs.at(-1)?.cursor ?? null;
  const next = order === "asc" ? (last ?? cursor ?? null) : hasMore ? last : null;
  return { logs, total: left.total + right.total, next_cursor: next };
}
