import { DomainError } from "#domain/common/error.ts";
import type { StoredWindow, WindowStore } from "#domain/ports/access.ts";
import type { Clock } from "#kernel/clock.ts";

/** A fixed window, counted from its first request. */
export interface Window {
  /** Name in the `RateLimit` headers. */
  readonly name: string;
  readonly quota: number;
  readonly seconds: number;
  readonly isStored?: true;
}

export interface WindowState {
  readonly window: Window;
  readonly remaining: number;
  readonly endsInMs: number;
}

export interface Decision {
  readonly allowed: boolean;
  /** The window that refuses, else the one with least left. */
  readonly tightest: WindowState;
  readonly windows: readonly WindowState[];
}

interface Counter {
  readonly window: Window;
  used: number;
  /** Of the monotonic clock, so that setting the clock changes no window. */
  endsAtMs: number;
  /** The stored count: `used` or somewhat more. */
  stored: number;
}

export const wholeSeconds = (durationMs: number): number => Math.max(1, Math.ceil(durationMs / 1000));

/** The refusal of a key whose budget is used up. */
export function budgetRefusal({ tightest: { window, endsInMs } }: Decision): DomainError {
  const retryAfter = wholeSeconds(endsInMs);
  const message = `too many requests: ${window.quota} in ${window.seconds} s are allowed for this key (try again in ${retryAfter} s)`;
  return new DomainError("RATE_LIMITED", message, {
    limit: window.quota,
    window_seconds: window.seconds,
    retry_after_seconds: retryAfter,
  });
}

export type RateLimiter = ReturnType<typeof createRateLimiter>;

export interface RateLimiterPorts {
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly windows: readonly [Window, ...Window[]];
  /** For stored windows; read at the first request. */
  readonly store?: WindowStore;
  readonly maxSubjects?: number;
}

const defaultMaxSubjects = 10_000;
/** Requests that are stored ahead: one write for so many; a crash costs the subject at most these, and gives it none. */
const storedAhead = ({ quota }: Window): number => Math.max(20, Math.floor(quota / 50));
/** How often a full table is searched for ended windows. */
const pruneEveryMs = 1_000;
const sharedSubject = "";

/** Counts requests for each subject (key or address) in several windows. A refused request is not counted. */
export function createRateLimiter(ports: RateLimiterPorts) {
  const { clock, windows, store, maxSubjects = defaultMaxSubjects } = ports;
  let subjects: Map<string, Counter[]> | undefined;
  let prunedAtMs = -Infinity;

  const freshCounters = (): Counter[] => windows.map((window) => ({ window, used: 0, endsAtMs: 0, stored: 0 }));

  const load = (): Map<string, Counter[]> => {
    const loaded = new Map<string, Counter[]>();
    const nowMs = clock.monotonicMs();
    for (const { subject, name, used, endsInMs } of store?.load() ?? []) {
      const counters = loaded.get(subject) ?? freshCounters();
      const counter = counters.find(({ window }) => window.isStored && window.name === name);
      if (counter === undefined) continue;
      const longestMs = counter.window.seconds * 1000;
      Object.assign(counter, { used, stored: used, endsAtMs: nowMs + Math.min(endsInMs, longestMs) });
      loaded.set(subject, counters);
    }
    return loaded;
  };

  const pruneSubjects = (known: Map<string, Counter[]>, nowMs: number): void => {
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
    if (subjects.size >= maxSubjects) pruneSubjects(subjects, nowMs);
    // No subject is forgotten to make room: many addresses would then give fresh budgets.
    const owner = subjects.size >= maxSubjects ? sharedSubject : subject;
    const counters = subjects.get(owner) ?? freshCounters();
    subjects.set(owner, counters);
    return [owner, counters];
  };

  const toStoredWindow = (subject: string, { window, stored, endsAtMs }: Counter, nowMs: number): StoredWindow => ({
    subject,
    name: window.name,
    used: stored,
    endsInMs: endsAtMs - nowMs,
  });

  /** Counts a request, in the store too before it is answered. */
  const count = (subject: string, counters: readonly Counter[], nowMs: number): void => {
    for (const counter of counters) {
      const { window } = counter;
      counter.used += 1;
      if (store === undefined || !window.isStored || counter.used <= counter.stored) continue;
      counter.stored = Math.min(counter.used + storedAhead(window), window.quota);
      store.save([toStoredWindow(subject, counter, nowMs)]);
    }
  };

  const decide = (subject: string, isCounted: boolean): Decision => {
    const nowMs = clock.monotonicMs();
    const [owner, counters] = countersOf(subject, nowMs);
    let allowed = true;
    for (const counter of counters) {
      const { quota, seconds } = counter.window;
      if (counter.endsAtMs <= nowMs) Object.assign(counter, { used: 0, stored: 0, endsAtMs: nowMs + seconds * 1000 });
      if (counter.used >= quota) allowed = false;
    }
    if (allowed && isCounted) count(owner, counters, nowMs);
    const states = counters.map(({ window, used, endsAtMs }) => ({
      window,
      remaining: Math.max(0, window.quota - used),
      endsInMs: endsAtMs - nowMs,
    }));
    return { allowed, tightest: tightest(states), windows: states };
  };

  return {
    take: (subject: string): Decision => decide(subject, true),
    /** The answer to a request now, without counting one. */
    look: (subject: string): Decision => decide(subject, false),
    flush: (): void => {
      const nowMs = clock.monotonicMs();
      const changed: StoredWindow[] = [];
      for (const [subject, counters] of subjects ?? []) {
        for (const counter of counters) {
          if (!counter.window.isStored || counter.endsAtMs <= nowMs || counter.stored === counter.used) continue;
          counter.stored = counter.used;
          changed.push(toStoredWindow(subject, counter, nowMs));
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
