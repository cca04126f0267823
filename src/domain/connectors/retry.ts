import { ProviderFailed } from "#domain/ports/connectors.ts";
import { type TimeLimit, untilAborted } from "#kernel/async.ts";
import type { Clock } from "#kernel/clock.ts";

const maxRetries = 2;
const firstDelayMs = 500;

/** The delay before another attempt; undefined where none is useful. */
function delayBefore(error: unknown, retries: number, remainingMs: number): number | undefined {
  if (!(error instanceof ProviderFailed) || !error.isRetryable || retries >= maxRetries) return undefined;
  const delayMs = Math.max(error.retryAfterMs ?? 0, firstDelayMs * 2 ** retries);
  // Waiting longer than the limit would hide what the provider said.
  return delayMs < remainingMs ? delayMs : undefined;
}

/**
 * Repeats work where the provider says that this may help. @param ports.onFailed called after each failed attempt.
 * @throws the last error, or the reason of the limit's signal.
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
