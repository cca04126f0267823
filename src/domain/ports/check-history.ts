import type { CheckStatus } from "#contract/checks.ts";

/** A stored run of a check. Times are epoch milliseconds. */
export interface StoredRun {
  readonly checkedAt: number;
  readonly status: CheckStatus;
  readonly message: string;
  readonly durationMs: number;
}

export interface StoredState {
  readonly status: CheckStatus;
  readonly since: number;
  readonly consecutiveFailures: number;
}

export interface CheckHistory {
  readonly record: (checkId: string, run: StoredRun, state: StoredState) => void;
  readonly state: (checkId: string) => StoredState | undefined;
  /** The newest `limit` runs since a time, oldest first, and their total. */
  readonly runs: (
    checkId: string,
    since: number,
    limit: number,
  ) => { readonly runs: readonly StoredRun[]; readonly total: number };
  readonly forget: (before: number) => void;
}
