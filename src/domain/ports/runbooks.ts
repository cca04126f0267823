import type { RunbookOrigin, RunbookSubject } from "#contract/runbooks.ts";

export interface Runbook {
  readonly id: string;
  readonly origin: RunbookOrigin;
  readonly title: string;
  /** With canonical names and patterns of units. */
  readonly appliesTo: readonly RunbookSubject[];
  /** Markdown. */
  readonly body: string;
}

export interface RunbookFault {
  readonly file: string;
  readonly reason: string;
}

export interface FoundRunbooks {
  /** Those of the administrator first, then the built-in ones that none of them replaces; each by id. */
  readonly runbooks: readonly Runbook[];
  /** Files and directories that are not used. */
  readonly faults: readonly RunbookFault[];
}

export interface Runbooks {
  /** As the files are now. What cannot be read is among the faults. */
  readonly read: (signal: AbortSignal) => Promise<FoundRunbooks>;
}
