import type { StoredWindow, WindowStore } from "#domain/ports/access.ts";
import type { Clock } from "#kernel/clock.ts";

/** A fixed window: so many requests in so many seconds, counted from the first one. */
export interface Window {
  /** Name in the `RateLimit` headers. */
  readonly name: string;
  readonly quota: number;
  readonly seconds: number;
  /** Whether its counts survive a restart of the service. */
  readonly isStored?: true;
}

export interface WindowState {
  readonly window: Window;
  readonly remaining: number;
  /** Milliseconds until the window starts anew. */
  readonly endsInMs: number;
}

export interface Decision {
  readonly allowed: boolean;
  /** The window that ends the budget first: the one that refuses, else the one with least left. */
  readonly tightest: WindowState;
  readonly windows: readonly WindowState[];
}

interface Counter {
  used: number;
  /** Of the monotonic clock: a clock that is set neither ends a window nor stretches it. */
  endsAtMs: number;
  /** What the store has: `used` or somewhat more. */
  stored: number;
}

export interface RateLimiter {
  readonly take: (subject: string) => Decision;
  /** Stores what was counted, exactly: for the end of the service. */
  readonly flush: () => void;
}

export interface RateLimiterPorts {
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly windows: readonly [Window, ...Window[]];
  /** Where windows are kept that are stored. It is read at the first request. */
  readonly store?: WindowStore;
  /** Subjects that are counted for themselves at the same time; those beyond it share one budget. */
  readonly maxSubjects?: number;
}

const defaultMaxSubjects = 10_000;
/** Requests that are stored ahead: one write for so many, and after a crash at most so many are lost to the subject, none won. */
const storedAhead = 20;
/** How often a full table is searched for windows that have ended. */
const pruneEveryMs = 1_000;
/** No subject is called so. */
const sharedSubject = "";

/**
 * Counts requests for each subject (a key, or an address) in several windows at once.
 * A refused request takes nothing from any window.
 */
export function createRateLimiter(ports: RateLimiterPorts): RateLimiter {
  const { clock, windows, store, maxSubjects = defaultMaxSubjects } = ports;
  let subjects: Map<string, Counter[]> | undefined;
  let prunedAtMs = -Infinity;

  const freshCounters = (): Counter[] => windows.map(() => ({ used: 0, endsAtMs: 0, stored: 0 }));

  const load = (): Map<string, Counter[]> => {
    const loaded = new Map<string, Counter[]>();
    const nowMs = clock.monotonicMs();
    for (const { subject, name, used, endsInMs } of store?.load() ?? []) {
      const index = windows.findIndex((window) => window.isStored && window.name === name);
      const counters = loaded.get(subject) ?? freshCounters();
      const counter = counters[index];
      if (counter === undefined) continue;
      const longestMs = (windows[index]?.seconds ?? 0) * 1000;
      Object.assign(counter, { used, stored: used, endsAtMs: nowMs + Math.min(endsInMs, longestMs) });
      loaded.set(subject, counters);
    }
    return loaded;
  };

  const prune = (known: Map<string, Counter[]>, nowMs: number): void => {
    if (nowMs - prunedAtMs < pruneEveryMs) return;
    prunedAtMs = nowMs;
    for (const [subject, counters] of known) {
      if (counters.every(({ endsAtMs }) => endsAtMs <= nowMs)) known.delete(subject);
    }
  };

  const countersOf = (subject: string, nowMs: number): readonly [owner: string, counters: Counter[]] => {
    subjects ??= load();
    const known = subjects.get(subject);
    if (known !== undefined) return [subject, known];
    if (subjects.size >= maxSubjects) prune(subjects, nowMs);
    // Nobody is forgotten to make room: whoever comes from many addresses would win a fresh budget by it.
    const owner = subjects.size >= maxSubjects ? sharedSubject : subject;
    const counters = subjects.get(owner) ?? freshCounters();
    subjects.set(owner, counters);
    return [owner, counters];
  };

  const entryOf = (subject: string, { name }: Window, counter: Counter, nowMs: number): StoredWindow => ({
    subject,
    name,
    used: counter.stored,
    endsInMs: counter.endsAtMs - nowMs,
  });

  /** Counts one request, in the store as well before it is answered. */
  const count = (subject: string, counters: readonly Counter[], nowMs: number): void => {
    for (const [index, counter] of counters.entries()) {
      counter.used += 1;
      const window = windows[index];
      if (store === undefined || !window?.isStored || counter.used <= counter.stored) continue;
      counter.stored = Math.min(counter.used + storedAhead, window.quota);
      store.save([entryOf(subject, window, counter, nowMs)]);
    }
  };

  return {
    take(subject) {
      const nowMs = clock.monotonicMs();
      const [owner, counters] = countersOf(subject, nowMs);
      let allowed = true;
      for (const [index, { quota, seconds }] of windows.entries()) {
        const counter = counters[index];
        if (counter === undefined) continue;
        if (counter.endsAtMs <= nowMs) Object.assign(counter, { used: 0, stored: 0, endsAtMs: nowMs + seconds * 1000 });
        if (counter.used >= quota) allowed = false;
      }
      if (allowed) count(owner, counters, nowMs);
      const states = windows.map((window, index) => ({
        window,
        remaining: Math.max(0, window.quota - (counters[index]?.used ?? 0)),
        endsInMs: (counters[index]?.endsAtMs ?? nowMs) - nowMs,
      }));
      return { allowed, tightest: tightest(states), windows: states };
    },
    flush() {
      const nowMs = clock.monotonicMs();
      const changed: StoredWindow[] = [];
      for (const [subject, counters] of subjects ?? []) {
        for (const [index, counter] of counters.entries()) {
          const window = windows[index];
          if (!window?.isStored || counter.endsAtMs <= nowMs || counter.stored === counter.used) continue;
          counter.stored = counter.used;
          changed.push(entryOf(subject, window, counter, nowMs));
        }
      }
      if (changed.length > 0) store?.save(changed);
    },
  };
}

const tightest = (states: readonly WindowState[]): WindowState =>
  states.reduce((a, b) =>
    b.remaining < a.remaining || (b.remaining === a.remaining && b.endsInMs > a.endsInMs) ? b : a,
  );
