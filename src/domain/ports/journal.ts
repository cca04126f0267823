import type { LogEntry, LogList } from "#contract/logs.ts";
import type { SerializedJson } from "#contract/operation.ts";

/** What to look for in the journal. Moments are microseconds since the epoch, as the journal counts. */
export interface LogQuery {
  /**
   * Names or patterns (`*`, `?`, `[…]`) of units in canonical form; entries of any of them, by the rules of
   * `journalctl -u`; `kernel` stands for the kernel's own messages. Undefined: all entries.
   */
  readonly units: readonly string[] | undefined;
  /** First moment of the window, itself included. */
  readonly since: number;
  /** Last moment of the window, itself included. */
  readonly until: number;
  /** This severity and more severe ones; undefined: all. */
  readonly priority: number | undefined;
  /** SYSLOG_IDENTIFIER. */
  readonly identifier: string | undefined;
  /** _UID: the user of the process that wrote an entry, as the kernel has told journald; all users unless given. */
  readonly uid?: number | undefined;
  /** A boot id, 32 hex digits; or an offset as `journalctl -b` takes it: 0 the last boot, -1 the one before it, 1 the first. */
  readonly boot: string | undefined;
  /** Regular expression over the message; without a capital letter in it, case does not matter. */
  readonly grep: string | undefined;
  /** Go on from this entry, in the direction of `order`. */
  readonly cursor: string | undefined;
  /** `asc`: the newest entries (with a cursor: the next after it), oldest first. `desc`: newest first (with a cursor: the next before it). */
  readonly order: "asc" | "desc";
  readonly limit: number;
}

/** An entry as it is streamed, with what filters look at. */
export interface LiveEntry {
  readonly entry: LogEntry;
  /** Every unit that the entry belongs to by the rules of `journalctl -u`; `kernel` for the kernel's own messages. */
  readonly units: readonly string[];
  /** PRIORITY as it was written; null where it was not. */
  readonly priority: number | null;
}

/** The journal of the host, or of a folder. An absent journal is an empty one. */
export interface Journal {
  /**
   * @returns the answer, already serialised: the entries are written as JSON where they are read.
   * @throws LogQueryRefused when the query is at fault, JournalUnavailable when the journal cannot be read at all.
   */
  readonly query: (query: LogQuery, signal: AbortSignal) => Promise<SerializedJson<LogList>>;
  /**
   * Entries from now on, or from the first after the cursor: each once, in journal order, none left out.
   * Pulling slowly is safe: what was not pulled yet is read later. Ends when the signal fires.
   */
  readonly follow: (
    options: { readonly cursor: string | undefined },
    signal: AbortSignal,
  ) => AsyncIterable<readonly LiveEntry[]>;
}

/** Tests messages against expressions that clients chose, which may take for ever: away from the event loop and bounded in time. */
export interface Grep {
  /**
   * @returns the positions of the messages that match.
   * @throws LogQueryRefused when the expression is malformed or takes too long.
   */
  readonly matching: (pattern: string, messages: readonly string[]) => Promise<ReadonlySet<number>>;
}

/** The query cannot be answered as it is put: the field at fault and what is wrong with it. */
export class LogQueryRefused extends Error {
  override readonly name = "LogQueryRefused";
  readonly field: string;

  constructor(field: string, issue: string) {
    super(issue);
    this.field = field;
  }
}

/** The journal is there and cannot be read. */
export class JournalUnavailable extends Error {
  override readonly name = "JournalUnavailable";
}

/** A line of the kernel log. */
export interface KernelMessage {
  /** RFC 3339. */
  readonly timestamp: string;
  readonly message: string;
}

export interface KernelLog {
  /**
   * Messages since a moment (epoch microseconds) that match a regular expression, the newest 1000, oldest first.
   * @returns undefined where the host keeps no journal.
   * @throws when the journal is there and cannot be read.
   */
  readonly matching: (
    pattern: string,
    sinceMicros: number,
    signal: AbortSignal,
  ) => Promise<readonly KernelMessage[] | undefined>;
}

/** What the files of the journal take, in bytes. */
export interface JournalSize {
  readonly diskBytes: number;
  /** Of journals in memory, below /run. */
  readonly memoryBytes: number;
  readonly files: number;
  /** Folder of those on the disk. */
  readonly folder: string;
  /** Of the files on the disk, what those take that are written no more and that vacuuming can remove. */
  readonly archivedBytes: number;
  /** Of the files on the disk, what those take that journald writes: archived ones as soon as it begins new files. */
  readonly activeBytes: number;
}

export interface JournalStorage {
  /** @returns undefined where the host keeps no journal. */
  readonly size: (signal: AbortSignal) => Promise<JournalSize | undefined>;
  /** Whether journald writes there, so that its files can be rotated; not so in a folder of journals from elsewhere. */
  readonly canRotate: boolean;
  /**
   * Begins new files: those of now become archived ones.
   * @throws when journald does not do it.
   */
  readonly rotate: (signal: AbortSignal) => Promise<void>;
  /**
   * Removes archived files, the oldest first, until those of each folder take no more than this.
   * @throws when it cannot be done.
   */
  readonly vacuum: (keepBytes: number, signal: AbortSignal) => Promise<void>;
}
