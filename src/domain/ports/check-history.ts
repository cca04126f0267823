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

/** What happened to one check within one hour of UTC. */
export interface StoredHour {
  /** Start of the hour. */
  readonly hour: number;
  readonly runs: number;
  /** Changes of the status. */
  readonly changes: number;
  /** Durations of runs in milliseconds; all 0 without runs. */
  readonly minMs: number;
  readonly maxMs: number;
  readonly totalMs: number;
  /** Milliseconds in each state. What is missing to an hour is unknown. */
  readonly inStatus: Readonly<Record<CheckStatus, number>>;
}

/** A figure of a check that is followed over time. */
export interface StoredSeries {
  /** From 1 to {@link maxSeriesId}. */
  readonly id: number;
  readonly checkId: string;
  readonly name: string;
  /** As the plugin wrote it; "" where the name contains it. */
  readonly unit: string;
  /** Start of the day of UTC on which it last had a value. */
  readonly seenAt: number;
}

export const maxSeriesId = 0x7fff;

/** The figures of a minute or an hour, by the id of the series. */
export type PointsById<T> = ReadonlyMap<number, T>;

export interface HourPoint {
  /** Values in the hour, 65,535 at most. */
  readonly count: number;
  readonly mean: number;
  readonly min: number;
  readonly max: number;
}

/** What is written at once, or not at all. */
export interface HistoryChanges {
  /** The last time at which the service is known to have run. */
  readonly aliveUntil?: number | undefined;
  readonly states?: ReadonlyMap<string, StoredState>;
  /** By check, oldest first. */
  readonly runs?: ReadonlyMap<string, readonly StoredRun[]>;
  /** Runs before are forgotten. */
  readonly runsSince?: number;
  /** By check, oldest first. */
  readonly transitions?: ReadonlyMap<string, readonly StoredRun[]>;
  /** Whether the transitions are older than all that are stored, as those of a migration are. */
  readonly areEarlier?: boolean;
  /** By check; added to what is stored of the same hours. */
  readonly hours?: ReadonlyMap<string, readonly StoredHour[]>;
  readonly series?: readonly StoredSeries[];
  /** By the start of the minute; a value replaces the one that is stored. */
  readonly minutes?: ReadonlyMap<number, PointsById<number>>;
  /** By the start of the hour; combined with what is stored of the same hour. */
  readonly pointHours?: ReadonlyMap<number, PointsById<HourPoint>>;
}

/** What is forgotten: everything before these times. */
export interface HistoryLimits {
  /** The newest of each check stays. */
  readonly transitions?: number;
  readonly transitionsPerCheck?: number;
  readonly hours?: number;
  readonly minutes?: number;
  readonly pointHours?: number;
  readonly series?: number;
}

/** Where the history of checks is kept over restarts. Times are epoch milliseconds. */
export interface CheckHistory {
  readonly aliveUntil: () => number | undefined;
  readonly state: (checkId: string) => StoredState | undefined;
  readonly series: () => readonly StoredSeries[];
  readonly apply: (changes: HistoryChanges) => void;
  readonly forget: (before: HistoryLimits) => void;
  /** In the order of their times, those of one time in the order in which they were written. */
  readonly runs: (checkId: string, since: number) => readonly StoredRun[];
  /** In the order in which they happened, which a clock that was set back does not change. */
  readonly transitions: (checkId: string) => readonly StoredRun[];
  readonly hours: (checkId: string, since: number) => readonly StoredHour[];
  /** The points of these series, oldest first, with both ends of the window. */
  readonly minutes: (
    ids: ReadonlySet<number>,
    since: number,
    until: number,
  ) => readonly (readonly [minute: number, PointsById<number>])[];
  readonly pointHours: (
    ids: ReadonlySet<number>,
    since: number,
    until: number,
  ) => readonly (readonly [hour: number, PointsById<HourPoint>])[];
}
