import type { CheckStatus } from "#contract/checks.ts";

/** A run of a check as it is kept. Times are epoch milliseconds. */
export interface StoredRun {
  readonly checkedAt: number;
  readonly status: CheckStatus;
  readonly message: string;
  readonly durationMs: number;
}

/** What is kept of a check between starts of the service. */
export interface StoredState {
  readonly status: CheckStatus;
  /** Since when it has had this status. */
  readonly since: number;
  readonly consecutiveFailures: number;
}

/** Runs of checks, kept over restarts. */
export interface CheckHistory {
  readonly record: (checkId: string, run: StoredRun, state: StoredState) => void;
  readonly state: (checkId: string) => StoredState | undefined;
  /** The newest `limit` runs since a moment, oldest first, and how many there are. */
  readonly runs: (
    checkId: string,
    since: number,
    limit: number,
  ) => { readonly runs: readonly StoredRun[]; readonly total: number };
  /** Forgets runs before a moment. */
  readonly forget: (before: number) => void;
}
