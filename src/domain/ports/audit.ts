import type { AuditOutcome, AuditRecord } from "#contract/audit.ts";
import type { Dispose } from "#kernel/clock.ts";

/** What is to be written down; its place in the chain is the log's to find. */
export type AuditEntry = Omit<AuditRecord, "seq" | "prev" | "hash">;

/** A call that was begun. */
export interface BegunCall {
  /** Who asked for what, from where and when; what came of it is not known. */
  readonly entry: AuditEntry;
  readonly forget: Dispose;
}

/** What to look for. Moments are epoch milliseconds; undefined: whatever it is. */
export interface AuditQuery {
  readonly since: number | undefined;
  readonly until: number | undefined;
  readonly operation: string | undefined;
  readonly keyId: string | undefined;
  readonly outcome: AuditOutcome | undefined;
  readonly limit: number;
  /** Go on with what is older than the page that this came with. */
  readonly cursor: string | undefined;
}

export interface AuditPage {
  /** Newest first. */
  readonly entries: readonly AuditRecord[];
  /** Undefined when there is nothing older to look at. */
  readonly nextCursor: string | undefined;
  /** Lines that are no entries. */
  readonly unreadable: number;
}

/** An append-only log, each entry of which holds the hash of the one before. */
export interface AuditLog {
  /**
   * Appends an entry. The kernel has it when this returns: the end of this process does not lose it. Where it cannot be
   * written, it is kept and written as soon as it can be. `onWritten` is called once the kernel has it, and never if that
   * does not come about.
   */
  readonly record: (entry: AuditEntry, onWritten?: Dispose) => void;
  /**
   * Notes a call that is about to change something, so that the end of this process does not leave it unmentioned.
   * @returns what forgets it: for `onWritten` of its entry.
   */
  readonly begin: (entry: AuditEntry) => Dispose;
  /** The calls that earlier processes have begun and not recorded, the oldest first. */
  readonly left: readonly BegunCall[];
  /** @throws AuditQueryRefused when the cursor leads nowhere, AuditUnavailable when the log cannot be read. */
  readonly list: (query: AuditQuery, signal: AbortSignal) => Promise<AuditPage>;
}

/** The query cannot be answered as it is put. */
export class AuditQueryRefused extends Error {
  override readonly name = "AuditQueryRefused";
  readonly field: string;

  constructor(field: string, issue: string) {
    super(issue);
    this.field = field;
  }
}

/** The log is there and cannot be read. */
export class AuditUnavailable extends Error {
  override readonly name = "AuditUnavailable";
}
