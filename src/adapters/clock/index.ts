import { setTimeout as delay } from "node:timers/promises";
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
  async sleep(durationMs, signal) {
    await delay(Math.min(durationMs, longestMs), undefined, signal && { signal }).catch(() => undefined);
  },
};
