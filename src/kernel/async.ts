import type { Clock, Dispose } from "./clock.ts";

/** Does work when its result is first asked for, once; again only where it failed. */
export function lazy<T>(work: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined;
  return () => {
    result ??= work().catch((error: unknown) => {
      result = undefined;
      throw error;
    });
    return result;
  };
}

export interface Emitter<T> {
  /** @returns ends it. */
  readonly on: (listener: (event: T) => void) => Dispose;
  readonly emit: (event: T) => void;
}

/** One kind of event, for all who listen. */
export function createEmitter<T>(): Emitter<T> {
  const listeners = new Set<(event: T) => void>();
  return {
    on(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    emit(event) {
      for (const listener of listeners) listener(event);
    },
  };
}

/** Does work once for all who ask for the same, by its key, until it ends. */
export function createShared(): <T>(key: string, work: () => Promise<T>) => Promise<T> {
  const running = new Map<string, Promise<unknown>>();
  return <T>(key: string, work: () => Promise<T>) => {
    const before = running.get(key) as Promise<T> | undefined;
    if (before !== undefined) return before;
    const result = work().finally(() => running.delete(key));
    running.set(key, result);
    return result;
  };
}

/** Gives out a fixed number of slots, first come first served. Who waits for one leaves with the signal. @throws the signal's reason. */
export function createSlots(count: number): <T>(work: () => Promise<T>, signal?: AbortSignal) => Promise<T> {
  const waiting = new Set<() => void>();
  let free = count;
  const turn = (signal: AbortSignal | undefined): Promise<void> =>
    new Promise((resolve, reject) => {
      const leave = (): void => {
        waiting.delete(enter);
        reject(signal?.reason);
      };
      const enter = (): void => {
        waiting.delete(enter);
        signal?.removeEventListener("abort", leave);
        resolve();
      };
      waiting.add(enter);
      signal?.addEventListener("abort", leave, { once: true });
    });
  return async (work, signal) => {
    signal?.throwIfAborted();
    if (free > 0) free -= 1;
    else await turn(signal);
    try {
      return await work();
    } finally {
      const [next] = waiting;
      // A slot is handed on to who waits, so that nobody who comes now gets in between.
      if (next === undefined) free += 1;
      else next();
    }
  };
}

/** A signal that fires after a time, or with another signal. */
export type TimeLimit = ReturnType<typeof createTimeLimit>;

/** Why a signal fires where work has ended, made once: nobody sees it, and a stack for each would cost more than most of the work. */
export const isOver = new DOMException("the work is over, or its time is", "AbortError");

/** @param timeUp makes what the signal fires with when the time is over. */
export function createTimeLimit(
  clock: Pick<Clock, "sleep" | "monotonicMs">,
  limitMs: number,
  outer: AbortSignal,
  timeUp: (limitMs: number) => Error,
) {
  const deadline = clock.monotonicMs() + limitMs;
  const over = new AbortController();
  const ended = new AbortController();
  void clock.sleep(limitMs, ended.signal).then(() => {
    if (!ended.signal.aborted) over.abort(timeUp(limitMs));
  });
  return {
    signal: AbortSignal.any([outer, over.signal]),
    remainingMs: (): number => deadline - clock.monotonicMs(),
    /** Ends it, and what still listens to its signal. */
    end: (): void => {
      ended.abort(isOver);
      over.abort(isOver);
    },
  };
}

/** What work gives within the time, else what `timeUp` gives or throws. The signal of the work fires when that is decided. */
export async function withinTime<T>(
  clock: Pick<Clock, "sleep">,
  limitMs: number,
  outer: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
  timeUp: (limitMs: number) => T,
): Promise<T> {
  const over = new AbortController();
  const signal = AbortSignal.any([outer, over.signal]);
  try {
    const result = work(signal);
    const late = clock.sleep(limitMs, signal).then(() => (over.signal.aborted ? result : timeUp(limitMs)));
    late.catch(() => undefined);
    return await Promise.race([result, late]);
  } finally {
    over.abort(isOver);
  }
}

/** Waits for work, but not beyond the signal: it may be deaf to it. @throws the signal's reason. */
export async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const onAbort = (): void => aborted.reject(signal.reason);
  signal.addEventListener("abort", onAbort);
  if (signal.aborted) onAbort();
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
    // Work that ends after nobody waits for it must not become an unhandled rejection.
    work.catch(() => undefined);
    aborted.promise.catch(() => undefined);
  }
}
