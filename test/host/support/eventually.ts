import { setTimeout as sleep } from "node:timers/promises";

/**
 * Runs a check again and again until it holds.
 * @returns what the check returned.
 * @throws what the check threw last, when it does not hold in time.
 */
export async function eventually<T>(check: () => T | Promise<T>, timeoutMs = 90_000, betweenMs = 50): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (performance.now() > deadline) throw error;
    }
    await sleep(betweenMs);
  }
}
