import type { LogEntry, LogFieldValues, LogList } from "#contract/logs.ts";
import type { SerializedJson } from "#contract/operation.ts";

/** Times are microseconds since the epoch, as in the journal. */
export interface LogQuery {
  /**
   * Canonical names or patterns (`*`, `?`, `[…]`) of units, matched as by `journalctl -u`; `kernel` for the kernel's messages. Undefined:
   * all entries.
   */
  readonly units: readonly string[] | undefined;
  /** Inclusive, as `until`. */
  readonly since: number;
  readonly until: number;
  /** Least severe; undefined: all. */
  readonly priority: number | undefined;
  /** SYSLOG_IDENTIFIER. */
  readonly identifier: string | undefined;
  /** _UID: the user of the process, as the kernel told journald. */
  readonly uid?: number | undefined;
  /** A boot id, 32 hex digits; or an offset as in `journalctl -b`: 0 the last boot, -1 the one before, 1 the first. */
  readonly boot: string | undefined;
  /** Regular expression for the message; without a capital letter it ignores case. */
  readonly grep: string | undefined;
  /** Continue after this entry, in the direction of `order`. */
  readonly cursor: string | undefined;
  /** `asc`: the newest entries (after a cursor: the next), oldest first. `desc`: newest first (before a cursor: the previous). */
  readonly order: "asc" | "desc";
  readonly limit: number;
  /** Only the entry with this cursor, its message from a byte on: the other filters apply, cursor, order and limit do not. */
  readonly entry?: { readonly cursor: string; readonly offset: number } | undefined;
  /** Whether a page without a cursor begins with the oldest entry, with `asc`. */
  readonly isFromOldest?: boolean | undefined;
  /** Fields that come with each entry as they are. Undefined: none. */
  readonly fields?: "all" | readonly string[] | undefined;
}

/** The newest entries of all; what a query narrows is put over it. */
export const anyEntries: Omit<LogQuery, "limit"> = {
  units: undefined,
  since: 0,
  until: Number.POSITIVE_INFINITY,
  priority: undefined,
  identifier: undefined,
  boot: undefined,
  grep: undefined,
  cursor: undefined,
  order: "asc",
};

/** A boot of which there are entries. */
export interface JournalBoot {
  /** 0 the last of all, -1 the one before it. */
  readonly index: number;
  readonly id: string;
  /** Microseconds since the epoch: its first and its last entry. */
  readonly first: number;
  readonly last: number;
}

/** A streamed entry, with the fields for filters. */
export interface LiveEntry {
  readonly entry: LogEntry;
  /** All units of the entry by the rules of `journalctl -u`; `kernel` for the kernel's messages. */
  readonly units: readonly string[];
  readonly priority: number | null;
}

/** Sizes of the journal's files in bytes. */
export interface JournalSize {
  readonly diskBytes: number;
  readonly memoryBytes: number;
  readonly files: number;
  /** Of the files on disk. */
  readonly folder: string;
  /** Files on disk that are complete and can be removed. */
  readonly archivedBytes: number;
  /** Files on disk that journald writes; archived as soon as it begins new ones. */
  readonly activeBytes: number;
}

/** The journal of the host, or of a folder; an absent one is empty. */
export interface Journal {
  /**
   * @returns JSON, written where the entries are read.
   * @throws LogQueryRefused for a fault of the query, JournalUnavailable when the journal cannot be read.
   */
  readonly query: (query: LogQuery, signal: AbortSignal) => Promise<SerializedJson<LogList>>;
  /**
   * Entries from now on, or after the cursor: each once, in journal order, until the signal fires. Slow reading loses none: they are
   * read from the journal when needed.
   */
  readonly follow: (
    options: { readonly cursor: string | undefined },
    signal: AbortSignal,
  ) => AsyncIterable<readonly LiveEntry[]>;
  /** Undefined where the host keeps no journal. */
  readonly size: (signal: AbortSignal) => Promise<JournalSize | undefined>;
  /** Whether journald writes there; not so in a folder of journals from elsewhere. */
  readonly canRotate: boolean;
  /** Begins new files. @throws when journald refuses. */
  readonly rotate: (signal: AbortSignal) => Promise<void>;
  /** Removes the oldest archived files until those of each folder take no more than this. @throws when it fails. */
  readonly vacuum: (keepBytes: number, signal: AbortSignal) => Promise<void>;
  // What the journal lists beside entries; `units`: of the entries of these alone.
  /** In their order. */
  readonly boots: (units: LogQuery["units"], signal: AbortSignal) => Promise<readonly JournalBoot[]>;
  readonly fieldNames: (units: LogQuery["units"], signal: AbortSignal) => Promise<readonly string[]>;
  readonly fieldValues: (name: string, units: LogQuery["units"], signal: AbortSignal) => Promise<LogFieldValues>;
}

export interface MessageSearch {
  readonly pattern: string;
  /** Searches may share the array; then it is passed on once. */
  readonly messages: readonly string[];
}

/** What the journal lists beside entries. */
export type JournalLists = Pick<Journal, "boots" | "fieldNames" | "fieldValues">;

/** The files of the journal. */
export type JournalStorage = Pick<Journal, "size" | "canRotate" | "rotate" | "vacuum">;

/** Matches expressions of clients, which may take for ever: outside the event loop, with a time limit. */
export interface Grep {
  /**
   * Does many searches in one pass.
   * @returns for each the positions of matching messages, or why it failed: LogQueryRefused where the expression is malformed
   * or too slow.
   */
  readonly matching: (searches: readonly MessageSearch[]) => Promise<readonly (ReadonlySet<number> | Error)[]>;
}

/** The query has a fault in this field. */
export class LogQueryRefused extends Error {
  override readonly name = "LogQueryRefused";
  readonly field: string;

  constructor(field: string, issue: string) {
    super(issue);
    this.field = field;
  }
}

/** The journal exists and cannot be read. */
export class JournalUnavailable extends Error {
  override readonly name = "JournalUnavailable";
}
