import type { AutomaticOutcome } from "#contract/automatic-updates.ts";

/** What became of one window. Times are epoch milliseconds. */
export interface AutomaticRun {
  readonly windowOpenedAt: number;
  readonly endedAt: number;
  readonly outcome: AutomaticOutcome;
  readonly message: string;
  readonly operationId: string | null;
  readonly rebootAt: number | null;
}

/** The last run of automatic updates, kept across restarts of the service. */
export interface AutomaticRuns {
  readonly last: () => AutomaticRun | undefined;
  /** Replaces the one before. */
  readonly save: (run: AutomaticRun) => void;
}
