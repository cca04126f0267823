import type { Clock } from "#kernel/clock.ts";

export interface FakeClock extends Clock {
  /** Moves time on and runs what falls due on the way. */
  readonly advance: (durationMs: number) => Promise<void>;
  /** Sets the wall clock, as an administrator might. */
  readonly set: (epochMs: number) => void;
  /** Whether somebody sleeps by it. */
  readonly isSleptBy: () => boolean;
}

interface Timer {
  dueMs: number;
  readonly run: () => void;
  readonly everyMs: number | undefined;
}

/** Lets everything that is ready to run, run. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A clock that stands still until it is moved. */
export function createFakeClock(startMs = Date.parse("2026-01-01T00:00:00Z")): FakeClock {
  let epochMs = startMs;
  let elapsedMs = 0;
  const timers = new Set<Timer>();

  const nextDue = (untilMs: number): Timer | undefined =>
    [...timers].filter(({ dueMs }) => dueMs <= untilMs).sort((a, b) => a.dueMs - b.dueMs)[0];

  const moveTo = (targetMs: number): void => {
    epochMs += targetMs - elapsedMs;
    elapsedMs = targetMs;
  };

  return {
    now: () => epochMs,
    monotonicMs: () => elapsedMs,
    every(intervalMs, task) {
      const timer: Timer = { dueMs: elapsedMs + intervalMs, run: task, everyMs: intervalMs };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
    sleep(durationMs, signal) {
      return new Promise((resolve) => {
        if (signal?.aborted) return resolve();
        const timer: Timer = { dueMs: elapsedMs + durationMs, run: resolve, everyMs: undefined };
        timers.add(timer);
        signal?.addEventListener("abort", () => {
          timers.delete(timer);
          resolve();
        });
      });
    },
    async advance(durationMs) {
      const targetMs = elapsedMs + durationMs;
      for (let timer = nextDue(targetMs); timer !== undefined; timer = nextDue(targetMs)) {
        moveTo(timer.dueMs);
        if (timer.everyMs === undefined) timers.delete(timer);
        else timer.dueMs += timer.everyMs;
        timer.run();
        await settle();
      }
      moveTo(targetMs);
      await settle();
    },
    isSleptBy: () => [...timers].some(({ everyMs }) => everyMs === undefined),
    set(newEpochMs) {
      epochMs = newEpochMs;
    },
  };
}
