import type { CheckStatus } from "#contract/checks.ts";
import { maxTransitionsPerCheck } from "#contract/limits.ts";
import type { StoredHour, StoredRun } from "#domain/ports/check-history.ts";

export const hourMs = 60 * 60 * 1000;
/** The service says each minute that it runs. After a longer silence it was stopped, or the host slept, or the clock was set. */
const longestSilenceMs = 3 * 60_000;
/** A clock that is set back by less is waited for: the time has been counted. */
const longestStepBackMs = hourMs;

/** Both of the same hour. */
export const addHours = (one: StoredHour, other: StoredHour): StoredHour => ({
  hour: one.hour,
  runs: one.runs + other.runs,
  changes: one.changes + other.changes,
  minMs: one.runs === 0 ? other.minMs : other.runs === 0 ? one.minMs : Math.min(one.minMs, other.minMs),
  maxMs: Math.max(one.maxMs, other.maxMs),
  totalMs: one.totalMs + other.totalMs,
  inStatus: {
    pass: one.inStatus.pass + other.inStatus.pass,
    warn: one.inStatus.warn + other.inStatus.warn,
    fail: one.inStatus.fail + other.inStatus.fail,
    skip: one.inStatus.skip + other.inStatus.skip,
  },
});

export const startOfHour = (at: number): number => Math.floor(at / hourMs) * hourMs;

type Counted = { -readonly [K in keyof Omit<StoredHour, "inStatus">]: number } & {
  readonly inStatus: Record<CheckStatus, number>;
};

interface Track {
  status: CheckStatus | undefined;
  /** Whether the check has been in the status ever since `countedUntil`. */
  isKnown: boolean;
  countedUntil: number;
  /** The next run is a transition even if the status is the same: nobody knows what was in between. */
  isInterrupted: boolean;
}

interface Kept {
  readonly statusOf: (checkId: string) => CheckStatus | undefined;
  readonly tracks: Map<string, Track>;
  transitions: Map<string, StoredRun[]>;
  hours: Map<string, Map<number, Counted>>;
  aliveUntil: number | undefined;
  /** Until when the time of checks that have not run yet may have been counted by an earlier process. */
  countedBefore: number;
  wasInterrupted: boolean;
}

function countsOf({ hours }: Kept, checkId: string, hour: number): Counted {
  const ofCheck = hours.get(checkId) ?? new Map<number, Counted>();
  hours.set(checkId, ofCheck);
  const inStatus = { pass: 0, warn: 0, fail: 0, skip: 0 };
  const counts = ofCheck.get(hour) ?? { hour, runs: 0, changes: 0, minMs: 0, maxMs: 0, totalMs: 0, inStatus };
  ofCheck.set(hour, counts);
  return counts;
}

function count(kept: Kept, checkId: string, track: Track, until: number): void {
  if (!track.isKnown || track.status === undefined) return;
  while (track.countedUntil < until) {
    const hour = startOfHour(track.countedUntil);
    const end = Math.min(until, hour + hourMs);
    countsOf(kept, checkId, hour).inStatus[track.status] += end - track.countedUntil;
    track.countedUntil = end;
  }
}

function interrupt(kept: Kept, at: number): void {
  for (const [checkId, track] of kept.tracks) {
    count(kept, checkId, track, kept.aliveUntil ?? at);
    track.isKnown = false;
    track.isInterrupted = true;
    track.countedUntil = Math.min(track.countedUntil, at);
  }
  kept.countedBefore = Math.min(kept.countedBefore, at);
  kept.wasInterrupted = true;
}

function observe(kept: Kept, now: number): void {
  const before = kept.aliveUntil ?? now;
  const isJump = now - before > longestSilenceMs || before - now > longestStepBackMs;
  if (isJump) interrupt(kept, now);
  kept.aliveUntil = isJump ? now : Math.max(before, now);
}

function trackOf({ tracks, statusOf, countedBefore, wasInterrupted }: Kept, checkId: string): Track {
  const track = tracks.get(checkId) ?? {
    status: statusOf(checkId),
    isKnown: false,
    countedUntil: countedBefore,
    isInterrupted: wasInterrupted,
  };
  tracks.set(checkId, track);
  return track;
}

function addTransition({ transitions }: Kept, checkId: string, run: StoredRun): void {
  const ofCheck = transitions.get(checkId) ?? [];
  transitions.set(checkId, ofCheck);
  ofCheck.push(run);
  if (ofCheck.length > maxTransitionsPerCheck) ofCheck.shift();
}

function addRun(kept: Kept, checkId: string, run: StoredRun): boolean {
  observe(kept, run.checkedAt);
  const track = trackOf(kept, checkId);
  count(kept, checkId, track, run.checkedAt);
  const isChange = track.status !== run.status;
  const isTransition = isChange || track.isInterrupted;
  const durationMs = Math.max(0, run.durationMs);
  const counts = countsOf(kept, checkId, startOfHour(run.checkedAt));
  counts.minMs = counts.runs === 0 ? durationMs : Math.min(counts.minMs, durationMs);
  counts.maxMs = Math.max(counts.maxMs, durationMs);
  counts.totalMs += durationMs;
  counts.runs += 1;
  if (isChange && track.status !== undefined) counts.changes += 1;
  if (isTransition) addTransition(kept, checkId, run);
  track.status = run.status;
  track.isKnown = true;
  track.isInterrupted = false;
  track.countedUntil = Math.max(track.countedUntil, run.checkedAt);
  return isTransition;
}

export type Timeline = ReturnType<typeof createTimeline>;

/**
 * Makes transitions, and the time in each state by the hour, out of runs. A state lasts until the next run, however rare runs are, while
 * the service is known to run; time without the service is in no state.
 * @param start.aliveUntil until when the service is known to have run before, epoch milliseconds.
 * @param start.statusOf the last status of a check before.
 */
export function createTimeline(start: {
  readonly aliveUntil: number | undefined;
  readonly statusOf: (checkId: string) => CheckStatus | undefined;
}) {
  const kept: Kept = {
    ...start,
    tracks: new Map(),
    transitions: new Map(),
    hours: new Map(),
    countedBefore: start.aliveUntil ?? Number.NEGATIVE_INFINITY,
    wasInterrupted: start.aliveUntil === undefined,
  };
  return {
    /** Epoch milliseconds; undefined before anything was seen. */
    aliveUntil: (): number | undefined => kept.aliveUntil,
    /** @returns whether the run is a transition: it changed the status, or is the first after an interruption, or the first ever. */
    run: (checkId: string, run: StoredRun): boolean => addRun(kept, checkId, run),
    /** Counts the time up to now. To be called every minute while the service runs. */
    settle(now: number): void {
      observe(kept, now);
      for (const [checkId, track] of kept.tracks) count(kept, checkId, track, now);
    },
    /** The check no longer runs for now. */
    suspend(checkId: string, now: number): void {
      const track = trackOf(kept, checkId);
      count(kept, checkId, track, now);
      track.isKnown = false;
      track.isInterrupted = true;
    },
    /** By check, since they were last cleared. */
    transitions: (): ReadonlyMap<string, readonly StoredRun[]> => kept.transitions,
    hours: (): ReadonlyMap<string, readonly StoredHour[]> =>
      new Map([...kept.hours].map(([checkId, ofCheck]) => [checkId, [...ofCheck.values()]])),
    clearTransitions(): void {
      kept.transitions = new Map();
    },
    clearHours(): void {
      kept.hours = new Map();
    },
  };
}
