/** Time as the domain sees it; tests pass one that they move by hand. */
export interface Clock {
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Milliseconds that never jump, for durations. */
  readonly monotonicMs: () => number;
  /** Runs the task again and again until disposed; does not keep the process alive. */
  readonly every: (intervalMs: number, task: () => void) => Dispose;
  /** Resolves after the time, or as soon as the signal fires. */
  readonly sleep: (durationMs: number, signal?: AbortSignal) => Promise<void>;
}

/** Gives back what was opened. */
export type Dispose = () => void;

/** The end of the years that RFC 3339 can write. */
export const latestMs = Date.parse("9999-12-31T23:59:59.999Z");

/** Epoch milliseconds as RFC 3339 in UTC; up to {@link latestMs}. */
export const toTimestamp = (epochMs: number): string => new Date(epochMs).toISOString();

/** The day in UTC, as YYYY-MM-DD. */
export const toDay = (epochMs: number): string => new Date(epochMs).toISOString().slice(0, 10);

export const toNullableTimestamp = (epochMs: number | null): string | null =>
  epochMs === null ? null : toTimestamp(epochMs);
