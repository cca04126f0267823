import {
  checkHistoryKeptMs,
  checkRunsKeptMs,
  maxTransitionsPerCheck,
  metricHoursKeptMs,
  metricMinutesKeptMs,
  uptimeDays,
} from "#contract/limits.ts";
import type {
  CheckHistory,
  HistoryChanges,
  HourPoint,
  PointsById,
  StoredHour,
  StoredRun,
  StoredSeries,
  StoredState,
} from "#domain/ports/check-history.ts";
import { combine, createSeries, type Figure } from "./series.ts";
import { addHours, createTimeline, hourMs, startOfHour, type Timeline } from "./timeline.ts";
import { type Day, dayMs, daysOf, type Uptime, uptimeOf } from "./uptime.ts";

/** Runs of a check that wait to be written while the store fails. */
const maxPendingRuns = 1000;

export type RunHistory = ReturnType<typeof createRunHistory>;

export interface Entries {
  readonly runs: readonly StoredRun[];
  readonly total: number;
}

export interface MetricQuery {
  readonly checkId: string;
  /** All series of the check when left out. */
  readonly name?: string | undefined;
  /** Epoch milliseconds; both ends belong to the window. */
  readonly since: number;
  readonly until: number;
}

export interface MetricPoints<T> {
  readonly series: StoredSeries;
  /** By the start of the minute or hour, oldest first. */
  readonly points: readonly (readonly [at: number, T])[];
}

interface Held {
  readonly store: CheckHistory;
  readonly timeline: Timeline;
  readonly series: ReturnType<typeof createSeries>;
  readonly states: Map<string, StoredState>;
  /** What has not been written yet. */
  changedStates: Map<string, StoredState>;
  runs: Map<string, StoredRun[]>;
}

function stateOf({ store, states }: Pick<Held, "store" | "states">, checkId: string): StoredState | undefined {
  const state = states.get(checkId) ?? store.state(checkId);
  if (state !== undefined) states.set(checkId, state);
  return state;
}

function apply(held: Held, changes: HistoryChanges): void {
  held.store.apply(changes);
  held.timeline.clearTransitions();
  held.changedStates = new Map();
}

/** Whether two states differ in what must survive a kill; the number of failures in a row may be a minute old. */
const differ = (one: StoredState | undefined, other: StoredState): boolean =>
  JSON.stringify({ ...one, consecutiveFailures: 0 }) !== JSON.stringify({ ...other, consecutiveFailures: 0 });

function record(
  held: Held,
  checkId: string,
  run: StoredRun,
  state: StoredState,
  figures: readonly Figure[] = [],
): void {
  const { timeline, series, states, changedStates, runs } = held;
  const before = stateOf(held, checkId);
  const isTransition = timeline.run(checkId, run);
  states.set(checkId, state);
  if (JSON.stringify(before) !== JSON.stringify(state)) changedStates.set(checkId, state);
  const pending = runs.get(checkId) ?? [];
  runs.set(checkId, pending);
  pending.push(run);
  if (pending.length > maxPendingRuns) pending.shift();
  series.add(checkId, figures, run.checkedAt);
  if (isTransition || differ(before, state))
    apply(held, { states: changedStates, transitions: timeline.transitions() });
}

function flush(held: Held, now: number): void {
  const { timeline, series } = held;
  timeline.settle(now);
  const aliveUntil = timeline.aliveUntil() ?? now;
  apply(held, {
    aliveUntil,
    states: held.changedStates,
    runs: held.runs,
    runsSince: aliveUntil - checkRunsKeptMs,
    transitions: timeline.transitions(),
    hours: timeline.hours(),
    ...series.pending(),
  });
  timeline.clearHours();
  series.clear();
  held.runs = new Map();
}

const newest = (all: readonly StoredRun[], limit: number): Entries => ({ runs: all.slice(-limit), total: all.length });

const transitionsOf = ({ store, timeline }: Held, checkId: string): readonly StoredRun[] => [
  ...store.transitions(checkId),
  ...(timeline.transitions().get(checkId) ?? []),
];

function recentRunsOf({ store, timeline, runs }: Held, checkId: string, since: number): readonly StoredRun[] {
  const from = Math.max(since, (timeline.aliveUntil() ?? since) - checkRunsKeptMs);
  const pending = (runs.get(checkId) ?? []).filter(({ checkedAt }) => checkedAt >= from);
  return [...store.runs(checkId, from), ...pending].sort((a, b) => a.checkedAt - b.checkedAt);
}

function entriesOf(held: Held, checkId: string, since: number): readonly StoredRun[] {
  const hourAgo = (held.timeline.aliveUntil() ?? since) - checkRunsKeptMs;
  const older = transitionsOf(held, checkId).filter(({ checkedAt }) => checkedAt >= since && checkedAt < hourAgo);
  return [...older, ...recentRunsOf(held, checkId, since)];
}

function hoursOf({ store, timeline }: Held, checkId: string, since: number, now: number): readonly StoredHour[] {
  timeline.settle(now);
  const hours = new Map(store.hours(checkId, since).map((each) => [each.hour, each]));
  for (const each of timeline.hours().get(checkId) ?? []) {
    const stored = hours.get(each.hour);
    hours.set(each.hour, stored === undefined ? each : addHours(stored, each));
  }
  return [...hours.values()];
}

/** The points of the window in the store and in memory, by time. */
function pointsOf<T>(
  { series }: Held,
  { checkId, name, since, until }: MetricQuery,
  from: {
    readonly read: (
      ids: ReadonlySet<number>,
      since: number,
      until: number,
    ) => readonly (readonly [number, PointsById<T>])[];
    readonly pending: ReadonlyMap<number, PointsById<T>>;
    readonly join: (before: T | undefined, after: T) => T;
  },
): readonly MetricPoints<T>[] {
  const wanted = series.ofCheck(checkId).filter((each) => name === undefined || each.name === name);
  const all = wanted.map((each) => ({ series: each, points: new Map<number, T>() }));
  const stored = from.read(new Set(wanted.map(({ id }) => id)), since, until);
  const pending = [...from.pending].filter(([at]) => at >= since && at <= until);
  for (const [at, byId] of [...stored, ...pending]) {
    for (const { series: each, points } of all) {
      const point = byId.get(each.id);
      if (point !== undefined) points.set(at, from.join(points.get(at), point));
    }
  }
  return all.map((each) => ({ series: each.series, points: [...each.points].sort(([a], [b]) => a - b) }));
}

/** What is asked of the history. */
const readerOf = (held: Held) => ({
  /**
   * The newest `limit` entries since a time, oldest first, and their total: transitions, and of the last hour every run.
   * @param since epoch milliseconds.
   */
  runs: (checkId: string, since: number, limit: number): Entries => newest(entriesOf(held, checkId, since), limit),
  /** The same of the runs of the last hour alone. */
  recentRuns: (checkId: string, since: number, limit: number): Entries =>
    newest(recentRunsOf(held, checkId, since), limit),
  /** The same of transitions alone. */
  transitions: (checkId: string, since: number, limit: number): Entries =>
    newest(
      transitionsOf(held, checkId).filter(({ checkedAt }) => checkedAt >= since),
      limit,
    ),
  /** Each day of UTC since a time, up to now; 30 at most. */
  days(checkId: string, since: number, now: number): readonly Day[] {
    const from = Math.max(since, now - checkHistoryKeptMs + dayMs);
    return daysOf(hoursOf(held, checkId, Math.floor(from / dayMs) * dayMs, now), from, now);
  },
  /** The time in each state over 1, 7 and 30 days. */
  uptime: (checkId: string, now: number): readonly Uptime[] =>
    uptimeOf(hoursOf(held, checkId, startOfHour(now) - checkHistoryKeptMs, now), uptimeDays, now),
  /** The last value of each minute. */
  minutes: (query: MetricQuery): readonly MetricPoints<number>[] =>
    pointsOf(held, query, {
      read: held.store.minutes,
      pending: held.series.pending().minutes,
      join: (_, value) => value,
    }),
  hours: (query: MetricQuery): readonly MetricPoints<HourPoint>[] =>
    pointsOf(held, query, { read: held.store.pointHours, pending: held.series.pending().pointHours, join: combine }),
});

/**
 * The history of checks: transitions, the time in each state by the hour, the runs of the last hour, and figures over time. Transitions
 * and states are written at once, all else when `flush` is called; reading writes nothing, so that it works on a full disk. Everything
 * throws what the store throws, and what could not be written is written later.
 */
export function createRunHistory(store: CheckHistory) {
  const states = new Map<string, StoredState>();
  const held: Held = {
    store,
    timeline: createTimeline({
      aliveUntil: store.aliveUntil(),
      statusOf: (checkId) => stateOf({ store, states }, checkId)?.status,
    }),
    series: createSeries(store.series()),
    states,
    changedStates: new Map(),
    runs: new Map(),
  };
  return {
    /** @param figures what is followed over time. */
    record: (checkId: string, run: StoredRun, state: StoredState, figures?: readonly Figure[]): void =>
      record(held, checkId, run, state, figures),
    state: (checkId: string): StoredState | undefined => stateOf(held, checkId),
    /** To be called every minute while the service runs, and at its end. @param now epoch milliseconds. */
    flush: (now: number): void => flush(held, now),
    /** The check no longer runs for now. */
    suspend: (checkId: string, now: number): void => held.timeline.suspend(checkId, now),
    /** Forgets what is older than it must be kept, counted from now. */
    forget: (now: number): void =>
      store.forget({
        transitions: now - checkHistoryKeptMs,
        transitionsPerCheck: maxTransitionsPerCheck,
        hours: now - checkHistoryKeptMs - hourMs,
        minutes: now - metricMinutesKeptMs,
        pointHours: now - metricHoursKeptMs,
        series: now - metricHoursKeptMs - dayMs,
      }),
    ...readerOf(held),
  };
}
