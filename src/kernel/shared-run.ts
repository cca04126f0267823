interface Run<T> {
  readonly result: Promise<T>;
  readonly stop: AbortController;
  waiting: number;
}

/** Shares one run of some work among concurrent callers. It is aborted when nobody waits any more. */
export function createSharedRun<T>(work: (signal: AbortSignal) => Promise<T>): (signal: AbortSignal) => Promise<T> {
  let current: Run<T> | undefined;

  const begin = (): Run<T> => {
    const stop = new AbortController();
    const result = work(stop.signal).finally(() => {
      if (current === run) current = undefined;
    });
    const run: Run<T> = { result, stop, waiting: 0 };
    return run;
  };

  return async (signal) => {
    signal.throwIfAborted();
    current ??= begin();
    const run = current;
    run.waiting += 1;
    const gone = Promise.withResolvers<never>();
    const leave = (): void => {
      run.waiting -= 1;
      // The last one waits for the end, so that nothing is left running.
      if (run.waiting > 0) {
        gone.reject(signal.reason);
      } else {
        if (current === run) current = undefined;
        run.stop.abort(signal.reason);
      }
    };
    signal.addEventListener("abort", leave, { once: true });
    try {
      return await Promise.race([run.result, gone.promise]);
    } finally {
      signal.removeEventListener("abort", leave);
    }
  };
}
