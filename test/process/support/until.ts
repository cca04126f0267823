import { setTimeout as sleep } from "node:timers/promises";

const betweenMs = 10;
/** Ends what hangs, before the limit of the test does, and with a name. */
const patienceMs = 30_000;

/**
 * Asks again and again until there is an answer.
 * @throws Error naming what was awaited, when it does not come in time.
 */
export async function until<T>(
  what: string,
  ask: () => T | undefined | Promise<T | undefined>,
  timeoutMs = patienceMs,
): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    if (performance.now() > deadline) throw new Error(`no ${what} within ${timeoutMs} ms`);
    await sleep(betweenMs);
  }
}
