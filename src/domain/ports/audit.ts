import type { AuditOutcome, AuditRecord } from "#contract/audit.ts";
import type { Dispose } from "#kernel/clock.ts";

/** An entry without its place in the chain. */
export type AuditEntry = Omit<AuditRecord, "seq" | "prev" | "hash">;

export interface StartedCall {
  /** Without an outcome. */
  readonly entry: AuditEntry;
  readonly forget: Dispose;
}

/** Times are epoch milliseconds; undefined matches all. */
export interface AuditQuery {
  readonly since: number | undefined;
  readonly until: number | undefined;
  readonly operation: string | undefined;
  readonly keyId: string | undefined;
  /** One of the values of an entry's target; a service with its suffix, which the entry may lack. */
  readonly target: string | undefined;
  readonly outcome: AuditOutcome | undefined;
  readonly limit: number;
  /** Continue with entries older than the page of this cursor. */
  readonly cursor: string | undefined;
}

export interface AuditPage {
  /** Newest first. */
  readonly entries: readonly AuditRecord[];
  /** Undefined when there are no older entries. */
  readonly nextCursor: string | undefined;
  /** Lines that are not entries. */
  readonly unreadable: number;
}

/** The first place at which the chain is broken. */
export interface AuditBreak {
  readonly file: string;
  /** From 1; 0 where it is not a line. */
  readonly line: number;
  readonly seq: number;
  readonly what: string;
}

/** An append-only log; each entry has the hash of the previous one. */
export interface AuditLog {
  /**
   * Appends an entry; the kernel has it on return. Where that fails, it is kept and written as soon as possible. `onWritten` is called
   * once the kernel has it.
   */
  readonly record: (entry: AuditEntry, onWritten?: Dispose) => void;
  /** Notes a call before it changes anything, in case this process ends. @returns removes the note; for `onWritten` of its entry. */
  readonly begin: (entry: AuditEntry) => Dispose;
  /** Calls that earlier processes have started and not recorded, oldest first. */
  readonly left: readonly StartedCall[];
  /** @throws AuditQueryRefused for an unknown cursor, AuditUnavailable when the log cannot be read. */
  readonly list: (query: AuditQuery, signal: AbortSignal) => Promise<AuditPage>;
  /** Reads all of it, slowly, so that others are answered meanwhile. @throws when it cannot be read. */
  readonly verify: (signal: AbortSignal) => Promise<AuditBreak | undefined>;
}

/** The query has a fault. */
export class AuditQueryRefused extends Error {
  override readonly name = "AuditQueryRefused";
  readonly field: string;

  constructor(field: string, issue: string) {
    super(issue);
    this.field = field;
  }
}

/** The log exists and cannot be read. */
export class AuditUnavailable extends Error {
  override readonly name = "AuditUnavailable";
}
