import type { Clock } from "#kernel/clock.ts";

/** As long as a timer can be; one for longer would fire at once. */
const longestMs = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  every(intervalMs, task) {
    const timer = setInterval(task, intervalMs);
    timer.unref();
    return () => clearInterval(timer);
  },
  // Not that of node:timers/promises, which makes an error with a stack for each sleep that a signal ends: nearly all of them.
  sleep: (durationMs, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted === true) return resolve();
      const end = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", end);
        resolve();
      };
      const timer = setTimeout(end, Math.min(durationMs, longestMs));
      signal?.addEventListener("abort", end);
    }),
};
