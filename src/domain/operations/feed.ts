import type { Clock, Dispose } from "#kernel/clock.ts";
import { orReport } from "#kernel/errors.ts";
import { isFinished, type Operation } from "./state.ts";

/** How often operations that somebody follows are read. */
const intervalMs = 200;

interface Waiter {
  readonly id: string;
  readonly check: (operation: Operation | undefined) => boolean;
  readonly resolve: (operation: Operation | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** What a client sees change. */
const seenOf = ({ state }: Operation): string =>
  JSON.stringify([state.status, state.percent, state.step, state.stepEndsAt, state.startedAt, state.cancel]);

export type OperationFeed = ReturnType<typeof createOperationFeed>;

/**
 * Notifies anyone who waits for an operation, or follows all of them, that it has changed. However many they are, each operation is read
 * once in each interval, and none while nobody asks.
 */
export function createOperationFeed(ports: {
  readonly clock: Pick<Clock, "sleep">;
  readonly inspect: (id: string) => Operation | undefined;
  readonly unfinished: () => Iterable<string>;
  readonly onTrouble: (error: unknown) => void;
}) {
  const { clock, inspect, unfinished, onTrouble } = ports;
  const waiters = new Set<Waiter>();
  const listeners = new Set<(operation: Operation) => void>();
  /** Of the operations that are followed, as they were seen last. */
  const seen = new Map<string, string>();
  let isRunning = false;

  const publish = (id: string, operation: Operation | undefined): void => {
    if (operation === undefined) return void seen.delete(id);
    const now = seenOf(operation);
    const isChanged = seen.get(id) !== now;
    if (isFinished(operation.state.status)) seen.delete(id);
    else seen.set(id, now);
    if (!isChanged) return;
    for (const listener of listeners) orReport(() => listener(operation), onTrouble);
  };

  const settle = (waiter: Waiter, end: () => void): void => {
    waiters.delete(waiter);
    end();
  };

  const read = (id: string, ofId: readonly Waiter[], isLast = false): void => {
    let operation: Operation | undefined;
    try {
      operation = inspect(id);
    } catch (error) {
      onTrouble(error);
      for (const waiter of ofId) settle(waiter, () => waiter.reject(error));
      return;
    }
    if (listeners.size > 0) publish(id, operation);
    for (const waiter of ofId)
      if (isLast || operation === undefined || waiter.check(operation)) settle(waiter, () => waiter.resolve(operation));
  };

  const tick = (): void => {
    const byId = Map.groupBy(waiters, ({ id }) => id);
    const followed = listeners.size > 0 ? [...seen.keys(), ...unfinished()] : [];
    for (const id of new Set([...byId.keys(), ...followed])) read(id, byId.get(id) ?? []);
  };

  const run = async (): Promise<void> => {
    if (isRunning) return;
    isRunning = true;
    while (waiters.size > 0 || listeners.size > 0) {
      await clock.sleep(intervalMs);
      tick();
    }
    isRunning = false;
    seen.clear();
  };

  return {
    /** Reads an operation that this process has just changed. */
    changed: (id: string): void => {
      if (listeners.size > 0) read(id, []);
    },
    /**
     * Waits until the check holds, the operation is gone, or the signal fires.
     * @returns the operation at that time; undefined where it is gone.
     */
    until: (
      id: string,
      check: (operation: Operation | undefined) => boolean,
      signal: AbortSignal,
    ): Promise<Operation | undefined> => {
      const operation = inspect(id);
      if (operation === undefined || check(operation) || signal.aborted) return Promise.resolve(operation);
      return new Promise((resolve, reject) => {
        const stop = (): void => read(id, [waiter], true);
        const ended =
          <T>(end: (value: T) => void) =>
          (value: T): void => {
            signal.removeEventListener("abort", stop);
            end(value);
          };
        const waiter: Waiter = { id, check, resolve: ended(resolve), reject: ended(reject) };
        signal.addEventListener("abort", stop, { once: true });
        waiters.add(waiter);
        void run();
      });
    },
    /** Calls with every operation that changes, once for each change that is seen. */
    follow: (listener: (operation: Operation) => void): Dispose => {
      for (const id of unfinished()) {
        if (seen.has(id)) continue;
        const operation = orReport(() => inspect(id), onTrouble);
        if (operation !== undefined && !isFinished(operation.state.status)) seen.set(id, seenOf(operation));
      }
      listeners.add(listener);
      void run();
      return () => void listeners.delete(listener);
    },
  };
}
