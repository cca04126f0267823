import { CommandExited } from "#adapters/exec/index.ts";
import type { LogEntry } from "#contract/log-entry.ts";
import type { LogList } from "#contract/logs.ts";
import { JournalUnavailable, type LogQuery } from "#domain/ports/journal.ts";
import { mayCopy, samenessOf } from "./copies.ts";
import type { FieldCountAnswer, FieldCountQuestion } from "./exploration.ts";
import type { Journalctl, OneFile } from "./journalctl.ts";
import { comparePlaces, type Location, type Place, parseCursor } from "./order.ts";
import type { Ordering } from "./ordering.ts";
import { beginsAtOldest, maxAnswerBytes } from "./query.ts";
import type { Fault } from "./registry.ts";
import type { Source } from "./source.ts";

interface ForeignPorts {
  readonly journalctl: Journalctl;
  readonly holds: Ordering["holds"];
  readonly onDamage: (fault: Fault) => void;
}

/**
 * Adds the entries of files that only `journalctl` reads to an answer from the others. A file that it cannot read either is
 * reported, and left out.
 * @throws LogQueryRefused, JournalUnavailable
 */
export async function addForeignFiles(
  ours: Uint8Array,
  {
    files,
    query,
    signal,
  }: { readonly files: readonly Source[]; readonly query: LogQuery; readonly signal: AbortSignal },
  { journalctl, holds, onDamage }: ForeignPorts,
): Promise<Uint8Array> {
  const answers = await answersOfForeign(files, async (only) => parse(await journalctl.query(query, signal, only)), {
    holds,
    onDamage,
  });
  const list = answers.reduce((merged, answer) => mergeLists(merged, answer, query), parse(ours));
  return Buffer.from(JSON.stringify(list));
}

/** The same of what is counted. @throws LogQueryRefused, JournalUnavailable */
export async function countForeignFiles(
  files: readonly Source[],
  { question, signal }: { readonly question: FieldCountQuestion; readonly signal: AbortSignal },
  { journalctl, holds, onDamage }: ForeignPorts,
): Promise<readonly FieldCountAnswer[]> {
  return answersOfForeign(files, (only) => journalctl.count(question, signal, only), { holds, onDamage });
}

/** Asks journalctl for each file alone, without what another one shows. */
async function answersOfForeign<T>(
  files: readonly Source[],
  ask: (only: OneFile) => Promise<T>,
  { holds, onDamage }: Omit<ForeignPorts, "journalctl">,
): Promise<readonly T[]> {
  const answers: T[] = [];
  const repetitions = createRepetitions(files);
  for (const file of files) {
    const { path } = file;
    const isCopy: OneFile["isCopy"] = (...entry) => {
      const isInOther = repetitions.hold(file, ...entry);
      return isInOther || holds(file, ...entry);
    };
    try {
      answers.push(await ask({ path, isCopy }));
    } catch (error) {
      if (!(error instanceof JournalUnavailable && error.cause instanceof CommandExited)) throw error;
      repetitions.forget(file);
      onDamage({
        path,
        what: `of a kind that this service does not read, and journalctl fails: ${error.cause.message}`,
      });
    }
  }
  return answers;
}

/** Entries of each file that a later one may hold too, kept as long as the query takes. */
function createRepetitions(files: readonly Source[]): {
  /** Whether a file before this one holds the entry. */
  readonly hold: Ordering["holds"];
  readonly forget: (file: Source) => void;
} {
  const kept = new Map<Source, Map<number, Location[]>>();
  return {
    forget: (file) => kept.delete(file),
    hold(file, location, before) {
      const { realtime } = location;
      const isHeld = [...kept].some(([other, entries]) => {
        if (!mayCopy(file, other)) return false;
        const isSame = samenessOf(file, other);
        const countSame = (all: readonly Location[]): number => all.filter((each) => isSame(each, location)).length;
        return countSame(entries.get(realtime) ?? []) > countSame(before);
      });
      const mayFollow = files.slice(files.indexOf(file) + 1).some((other) => {
        const { headRealtime, tailRealtime } = other.file.header;
        return mayCopy(file, other) && headRealtime <= realtime && realtime <= tailRealtime;
      });
      if (mayFollow) {
        const entries = kept.get(file) ?? new Map<number, Location[]>();
        kept.set(file, entries);
        const alike = entries.get(realtime);
        if (alike === undefined) entries.set(realtime, [location]);
        else alike.push(location);
      }
      return isHeld;
    },
  };
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
function mergeLists(left: LogList, right: LogList, query: LogQuery): LogList {
  const { order, limit, cursor } = query;
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
  const isNewest = order === "asc" && !beginsAtOldest(query);
  const logs = isNewest ? fitting(merged.slice(-limit).reverse()).reverse() : fitting(merged.slice(0, limit));
  const hasMore = merged.length > logs.length || left.next_cursor !== null || right.next_cursor !== null;
  const last = logs.at(-1)?.cursor ?? null;
  const next = order === "asc" ? (last ?? cursor ?? null) : hasMore ? last : null;
  return { ...left, logs, total: left.total + right.total, next_cursor: next };
}
