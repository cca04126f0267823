import type { LogEntry, UnreadFiles } from "#contract/log-entry.ts";
import type { LogContext, LogFacet, LogTemplateStatus } from "#contract/log-exploration.ts";
import type { LogFieldValues, LogList, logExportFormats } from "#contract/logs.ts";
import type { SerializedJson } from "#contract/operation.ts";

/** Times are microseconds since the epoch, as in the journal. */
export interface LogQuery {
  /**
   * Canonical names or patterns (`*`, `?`, `[…]`) of units, matched as by `journalctl -u`; `kernel` for the kernel's messages. Undefined:
   * all entries.
   */
  readonly units: readonly string[] | undefined;
  /** Namespaces of the journal, as `isInNamespace` takes them. */
  readonly namespace?: string | undefined;
  /** Inclusive, as `until`. */
  readonly since: number;
  readonly until: number;
  /** Least severe; undefined: all. */
  readonly priority: number | undefined;
  /** SYSLOG_IDENTIFIER. */
  readonly identifier: string | undefined;
  /** _UID: the user of the process, as the kernel gave it to journald. */
  readonly uid?: number | undefined;
  /** A boot id, 32 hex digits; or an offset as in `journalctl -b`: 0 the last boot, -1 the one before, 1 the first. */
  readonly boot: string | undefined;
  /** Regular expression for the message; without a capital letter it ignores case. */
  readonly grep: string | undefined;
  /** Id of the template of which they are. */
  readonly template?: string | undefined;
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

/** A file of the journal that cannot be read, or not completely; or a directory of such files that cannot be listed. */
export interface UnreadFile {
  readonly path: string;
  /** What is reported it to callers that see some units only: paths name namespaces. */
  readonly name: string;
  /** Undefined for a directory of files of any. */
  readonly namespace: string | undefined;
  readonly reason: string;
}

/** What an answer may lack: the entries of these files. */
export interface Lacking {
  readonly unread: UnreadFiles;
}

/** Which entries are counted. */
export type LogFilters = Pick<
  LogQuery,
  "units" | "namespace" | "since" | "until" | "priority" | "identifier" | "boot" | "grep" | "template"
>;

/** Of which entries the journal lists boots, fields and values. */
export type ListedEntries = Pick<LogQuery, "units" | "namespace">;

/** Entries over time. */
export interface HistogramQuery extends LogFilters {
  /** At most so many buckets. */
  readonly buckets: number;
  /** Whether it begins, or ends, with the first, or last, entry of the boot, instead of `since` and `until`. */
  readonly isFitted: { readonly since: boolean; readonly until: boolean };
}

/** Times are microseconds since the epoch. */
export interface LogCounts {
  readonly since: number;
  readonly until: number;
  readonly bucketSeconds: number;
  /** In the order of time, without gaps. The first and the last one reach beyond the window. */
  readonly buckets: readonly {
    readonly at: number;
    readonly total: number;
    /** Entries of each severity, from 0 on; those without one are in `total` only. */
    readonly priorities: readonly number[];
  }[];
}

export interface FacetQuery extends LogFilters {
  readonly fields: readonly LogFacet[];
  /** At most so many values of each. */
  readonly limit: number;
}

/** The values that entries have. */
export interface LogFacetCounts {
  readonly total: number;
  readonly facets: readonly {
    readonly field: LogFacet;
    /** The most frequent ones first. */
    readonly values: readonly { readonly value: string; readonly count: number }[];
    /** How many there are; null where they are too many to be distinguished, of which only the first are counted. */
    readonly distinct: number | null;
  }[];
}

/** Infinite where it has no end. */
export type ComparedWindow = Pick<LogQuery, "since" | "until" | "boot">;

export interface TemplateQuery extends LogFilters {
  /** At most so many templates. */
  readonly limit: number;
  /** Compare with what this window has, all other filters being the same; undefined: nothing is compared. */
  readonly before: ComparedWindow | undefined;
  /** Those alone that have changed so. */
  readonly status: LogTemplateStatus | undefined;
}

/** Messages that are alike but for what differs from entry to entry, from one origin. */
export interface MessageClass {
  readonly unit: string;
  readonly identifier: string;
  /** MESSAGE_ID, else CODE_FILE:CODE_LINE; empty where the entries have neither. */
  readonly origin: string;
  /** The masked message. */
  readonly text: string;
}

/** What programs write again and again. */
export interface LogTemplate extends MessageClass {
  /** 16 hex digits. */
  readonly id: string;
}

/** A template, and how often it occurs. */
export interface CountedTemplate extends LogTemplate {
  /** The severity of its most severe entry; null where its entries state no severity. */
  readonly priority: number | null;
  readonly count: number;
  /** Times of its first and last entry, in microseconds since the epoch. */
  readonly first: number;
  readonly last: number;
  /** Of its last entry; null where that can no longer be read. */
  readonly cursor: string | null;
  /** Where two windows are compared: how many entries the one before has, and what came of it. */
  readonly before: number | undefined;
  readonly status: LogTemplateStatus | undefined;
  /** When it was first an error, as far as that is remembered, also of entries that the journal no longer has. */
  readonly firstError: number | undefined;
}

/** What programs write again and again, and how often. */
export interface LogTemplateCounts {
  readonly total: number;
  /** The most frequent ones first. */
  readonly templates: readonly CountedTemplate[];
  /** How many there are. */
  readonly distinct: number;
  /** Entries that are of no template: of programs that write too many different messages, and those that cannot be read. */
  readonly other: number;
}

/** What stands around an entry. */
export interface ContextQuery extends ListedEntries {
  readonly cursor: string;
  readonly before: number;
  readonly after: number;
  readonly fields?: LogQuery["fields"];
}

/** How entries are written: systemd's export format, its JSON with a line for each entry, lines as `journalctl -o short-iso`. */
export type ExportFormat = (typeof logExportFormats)[number];

/** Where an export continues: made by the part before. */
export interface ExportPosition {
  /** The last entry that was inspected. */
  readonly cursor: string;
  /** The last entry that was written; undefined where there was none. */
  readonly written: string | undefined;
  /** The boot that an offset of the query meant at the start. */
  readonly boot: string | undefined;
  /** Ids of the files that had more entries. */
  readonly files: readonly string[];
}

/** All entries that match, oldest first, in parts. */
export interface ExportQuery extends LogFilters {
  readonly format: ExportFormat;
  /** Whether values are written that are very long or not printable, as `journalctl --all` does. */
  readonly all: boolean;
  /** Begin after this entry. */
  readonly cursor: string | undefined;
  /** `next` of the part before; undefined for the first part. */
  readonly position: ExportPosition | undefined;
}

export interface ExportPart {
  /** Whole entries; may be empty where many were inspected. */
  readonly bytes: Uint8Array;
  /** The last entry that was written, in this part or before; undefined where there was none. */
  readonly written: string | undefined;
  /** Undefined at the end. */
  readonly next: ExportPosition | undefined;
  /** Of all files that the export reads, also those that the part did not come to. */
  readonly unread: UnreadFiles;
}

/** The newest entries of all; what a query narrows is put over it. */
export const anyEntries: Omit<LogQuery, "limit"> = {
  units: undefined,
  namespace: "*",
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
  /** Empty for the default one. */
  readonly namespace: string;
  readonly priority: number | null;
}

/** Sizes of the journal's files in bytes. */
export interface JournalSize {
  readonly diskBytes: number;
  readonly memoryBytes: number;
  readonly files: number;
  /** Of the files on disk. */
  readonly directory: string;
  /** Files on disk that are complete and can be removed. */
  readonly archivedBytes: number;
  /** Files on disk that journald writes; archived as soon as it begins new ones. */
  readonly activeBytes: number;
}

/** The journal of the host, or of a directory; an absent one is empty, and `missing`. */
export interface Journal {
  /**
   * @returns JSON, written where the entries are read.
   * @throws LogQueryRefused for a fault of the query, JournalUnavailable when the journal cannot be read.
   */
  readonly query: (query: LogQuery, signal: AbortSignal) => Promise<SerializedJson<LogList>>;
  /**
   * Entries from now on, or after the cursor: each once, in journal order, until the signal fires. Slow reading loses none: they are
   * read from the journal when needed.
   * @param options.onUnread called with all files that cannot be read, where there are any, and again when they have changed.
   */
  readonly follow: (
    options: {
      readonly cursor: string | undefined;
      readonly onUnread?: (files: readonly UnreadFile[]) => void;
    },
    signal: AbortSignal,
  ) => AsyncIterable<readonly LiveEntry[]>;
  /** Counts entries over time, exactly. @throws as `query`. */
  readonly histogram: (query: HistogramQuery, signal: AbortSignal) => Promise<LogCounts & Lacking>;
  /** Counts entries by the values that they have, exactly. @throws as `query`. */
  readonly facets: (query: FacetQuery, signal: AbortSignal) => Promise<LogFacetCounts & Lacking>;
  /** Counts entries by the templates of their messages. @throws as `query`. */
  readonly templates: (query: TemplateQuery, signal: AbortSignal) => Promise<LogTemplateCounts & Lacking>;
  /**
   * Goes on remembering templates, briefly and with little effort, so that they are known when the journal has removed their entries.
   * @returns whether nothing is left to do. @throws as `query`.
   */
  readonly learnTemplates: (signal: AbortSignal) => Promise<boolean>;
  /**
   * Templates of which the first error that is remembered was logged at this time or later.
   * @returns `knownSince`: from when on the host's logs are known; null until all of the journal has been read once. `unread`: files
   * that the journal has now, and of which not all is remembered.
   */
  readonly rememberedErrors: (
    since: number,
    signal: AbortSignal,
  ) => Promise<{ readonly knownSince: number | null; readonly errors: readonly RememberedError[] } & Lacking>;
  /** @returns JSON; where the entry is not there, the files that may have it. @throws as `query`. */
  readonly context: (query: ContextQuery, signal: AbortSignal) => Promise<SerializedJson<LogContext> | Lacking>;
  /**
   * Writes a part of all entries that match, large enough to be worth a turn.
   * @throws as `query`; JournalUnavailable where files with further entries were removed since the part before.
   */
  readonly export: (query: ExportQuery, signal: AbortSignal) => Promise<ExportPart>;
  /** Undefined where the host keeps no journal. */
  readonly size: (signal: AbortSignal) => Promise<JournalSize | undefined>;
  /** Whether journald writes there; not so in a directory of journals from elsewhere. */
  readonly canRotate: boolean;
  /** Begins new files. @throws when journald refuses. */
  readonly rotate: (signal: AbortSignal) => Promise<void>;
  /** Removes the oldest archived files until those of each directory take no more than this. @throws when it fails. */
  readonly vacuum: (keepBytes: number, signal: AbortSignal) => Promise<void>;
  // What the journal lists beside entries.
  /** In their order. */
  readonly boots: (
    listed: ListedEntries,
    signal: AbortSignal,
  ) => Promise<{ readonly boots: readonly JournalBoot[] } & Lacking>;
  readonly fieldNames: (
    listed: ListedEntries,
    signal: AbortSignal,
  ) => Promise<{ readonly names: readonly string[] } & Lacking>;
  readonly fieldValues: (
    name: string,
    listed: ListedEntries,
    signal: AbortSignal,
  ) => Promise<Pick<LogFieldValues, "values" | "truncated"> & Lacking>;
  /** Why there are no entries at all, whatever is asked for: there is no journal; undefined where there is one. */
  readonly missing: (listed: ListedEntries, signal: AbortSignal) => Promise<string | undefined>;
}

export interface MessageSearch {
  readonly pattern: string;
  /** Searches may share the array; then it is passed on once. */
  readonly messages: readonly string[];
}

/** What the journal lists beside entries. */
export type JournalLists = Pick<Journal, "boots" | "fieldNames" | "fieldValues" | "missing">;

/** What is counted in the journal, and what stands around an entry. */
export type JournalExploration = Pick<Journal, "histogram" | "facets" | "templates" | "context">;

/** A template of which this host has logged errors. Times are microseconds since the epoch. */
export interface RememberedError extends LogTemplate {
  readonly firstError: number;
}

/** Remembers what is logged. */
export type JournalMemory = Pick<Journal, "learnTemplates" | "rememberedErrors">;

/** Writes whole windows of the journal. */
export type JournalExport = Pick<Journal, "export">;

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
