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

/** A process that runs programs or libraries whose files have been replaced or removed. */
export interface StaleProcess {
  readonly pid: number;
  readonly name: string;
  /** The system's service that it belongs to; null for what users run, and for none. */
  readonly unit: string | null;
  /** By name. */
  readonly files: readonly string[];
}

export interface StaleProcesses {
  /** By pid, without those that carry out the work of Steward itself, and without those of containers. */
  readonly processes: readonly StaleProcess[];
  /** Number of processes that could not be inspected, since that takes rights. */
  readonly hidden: number;
}

export interface StaleCode {
  readonly find: (signal: AbortSignal) => Promise<StaleProcesses>;
}

/**
 * What of a check counts after a guarded update: any change for the worse, or only a failure that lasts, as of resources, which
 * become short for many reasons.
 */
export type GuardedBy = "change" | "failure";
