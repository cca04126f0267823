import { ProviderFailed } from "#domain/ports/connectors.ts";
import type { TimeLimit } from "#kernel/async.ts";
import { untilAborted } from "#kernel/async.ts";
import type { Clock } from "#kernel/clock.ts";

/** Attempts after the first. */
const maxRetries = 2;
const firstDelayMs = 500;

/** How long to wait before another attempt; undefined where there is none to be made. */
function delayBefore(error: unknown, retries: number, remainingMs: number): number | undefined {
  if (!(error instanceof ProviderFailed) || !error.isRetryable || retries >= maxRetries) return undefined;
  const delayMs = Math.max(error.retryAfterMs ?? 0, firstDelayMs * 2 ** retries);
  // Waited for in vain, it would hide what the provider said.
  return delayMs < remainingMs ? delayMs : undefined;
}

/**
 * Does the work until it succeeds, again only where the provider says that this may help.
 * @param onFailed is told of each attempt that failed.
 * @throws what the last attempt threw; the reason of the limit's signal when it fires.
 */
export async function withRetries<T>(
  work: () => Promise<T>,
  ports: {
    readonly limit: TimeLimit;
    readonly clock: Pick<Clock, "sleep">;
    readonly onFailed: (error: unknown) => void;
  },
): Promise<T> {
  const { limit, clock, onFailed } = ports;
  for (let retries = 0; ; retries += 1) {
    try {
      return await untilAborted(work(), limit.signal);
    } catch (error) {
      onFailed(error);
      const delayMs = limit.signal.aborted ? undefined : delayBefore(error, retries, limit.remainingMs());
      if (delayMs === undefined) throw error;
      await clock.sleep(delayMs, limit.signal);
      limit.signal.throwIfAborted();
    }
  }
}
