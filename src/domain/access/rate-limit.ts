import type { Clock } from "#domain/kernel/clock.ts";

/** A fixed window: so many requests in so many seconds, counted from the first one. */
export interface Window {
  /** Name in the `RateLimit` headers. */
  readonly name: string;
  readonly quota: number;
  readonly seconds: number;
}

export interface WindowState {
  readonly window: Window;
  readonly remaining: number;
  /** Epoch milliseconds at which the window starts anew. */
  readonly resetAt: number;
}

export interface Decision {
  readonly allowed: boolean;
  /** The window that ends the budget first: the one that refuses, else the one with least left. */
  readonly tightest: WindowState;
  readonly windows: readonly WindowState[];
}

interface Counter {
  used: number;
  resetAt: number;
}

/** Subjects that are remembered at once; past it the ones whose windows have ended are forgotten first. */
const maxSubjects = 10_000;

/**
 * Counts requests for each subject (a key, or an address) in several windows at once.
 * A refused request takes nothing from any window.
 */
export function createRateLimiter(ports: { clock: Pick<Clock, "now">; windows: readonly [Window, ...Window[]] }): {
  readonly take: (subject: string) => Decision;
} {
  const { clock, windows } = ports;
  const subjects = new Map<string, Counter[]>();

  const makeRoom = (now: number): void => {
    for (const [subject, counters] of subjects) {
      if (counters.every((counter) => counter.resetAt <= now)) subjects.delete(subject);
    }
    for (const subject of subjects.keys()) {
      if (subjects.size < maxSubjects) return;
      subjects.delete(subject);
    }
  };

  const countersOf = (subject: string, now: number): Counter[] => {
    const known = subjects.get(subject);
    if (known !== undefined) return known;
    if (subjects.size >= maxSubjects) makeRoom(now);
    const fresh = windows.map(() => ({ used: 0, resetAt: 0 }));
    subjects.set(subject, fresh);
    return fresh;
  };

  return {
    take(subject) {
      const now = clock.now();
      const counters = countersOf(subject, now);
      let allowed = true;
      for (const [index, window] of windows.entries()) {
        const counter = counters[index];
        if (counter === undefined) continue;
        // A clock that was set back must not stretch a window beyond its length.
        if (counter.resetAt <= now || counter.resetAt > now + window.seconds * 1000) {
          counter.used = 0;
          counter.resetAt = now + window.seconds * 1000;
        }
        if (counter.used >= window.quota) allowed = false;
      }
      if (allowed) for (const counter of counters) counter.used += 1;
      const states = windows.map((window, index) => ({
        window,
        remaining: window.quota - (counters[index]?.used ?? 0),
        resetAt: counters[index]?.resetAt ?? now,
      }));
      return { allowed, tightest: tightest(states), windows: states };
    },
  };
}

const tightest = (states: readonly WindowState[]): WindowState =>
  states.reduce((a, b) =>
    b.remaining < a.remaining || (b.remaining === a.remaining && b.resetAt > a.resetAt) ? b : a,
  );
