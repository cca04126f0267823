import { createHostJournal, type HostJournal } from "#adapters/journald/index.ts";
import type { LogContext } from "#contract/log-exploration.ts";
import type { LogList } from "#contract/logs.ts";
import { SerializedJson } from "#contract/operation.ts";
import type { Journal, LogQuery } from "#domain/ports/journal.ts";

/** A signal that never comes. */
export const never = new AbortController().signal;

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** What an answer in bytes says. @throws TypeError when it is not valid UTF-8. */
export const decoded = <T>(bytes: Uint8Array): T => JSON.parse(decoder.decode(bytes)) as T;

/** What stands around an entry. @throws Error where the entry is not there. */
export function contextOf(found: Awaited<ReturnType<Journal["context"]>>): LogContext {
  if (found instanceof SerializedJson) return decoded<LogContext>(found.bytes);
  throw new Error(`the journal does not have the entry, files that are not read: ${found.unread.length}`);
}

/** The journal of a directory through its port, as the service reads it. */
export interface Reader {
  readonly journal: HostJournal["journal"];
  readonly ask: (query: LogQuery, signal?: AbortSignal) => Promise<LogList>;
  /** Paths of files that were reported as unreadable. */
  readonly unreadable: readonly string[];
  readonly dispose: () => void;
}

export function openJournal(path: string): Reader {
  const unreadable: string[] = [];
  const { journal, dispose } = createHostJournal({
    dir: path,
    limits: { threads: 1 },
    onUnreadable: (fault) => void unreadable.push(fault.path),
  });
  const ask: Reader["ask"] = async (query, signal = never) => decoded((await journal.query(query, signal)).bytes);
  return { journal, ask, unreadable, dispose };
}
