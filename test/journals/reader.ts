import { createHostJournal, type HostJournal } from "#adapters/journald/index.ts";
import type { LogList } from "#contract/logs.ts";
import type { LogQuery } from "#domain/ports/journal.ts";

/** A signal that never comes. */
export const never = new AbortController().signal;

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** What an answer in bytes says. @throws TypeError when it is not valid UTF-8. */
export const decoded = <T>(bytes: Uint8Array): T => JSON.parse(decoder.decode(bytes)) as T;

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
