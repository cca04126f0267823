import type { AuditBreak, AuditLog } from "#domain/ports/audit.ts";
import { createEmitter } from "#kernel/async.ts";
import type { Clock, Dispose } from "#kernel/clock.ts";

const lookMs = 10 * 60_000;
const dayMs = 24 * 60 * 60_000;

/**
 * Verifies the audit log ten minutes after the start, then once a day. A break stays where it is, so it is reported after each
 * verification. One that fails is repeated ten minutes later: an old file may be removed meanwhile.
 */
export function createVerification(ports: {
  readonly log: Pick<AuditLog, "verify">;
  readonly clock: Pick<Clock, "every" | "monotonicMs">;
  readonly onFailed: (error: unknown) => void;
}) {
  const { log, clock, onFailed } = ports;
  const broken = createEmitter<AuditBreak>();
  const stop = new AbortController();
  let stopLooking: Dispose | undefined;
  let verifiedAtMs: number | undefined;
  let isAtWork = false;

  const verify = async (): Promise<void> => {
    if (isAtWork || (verifiedAtMs !== undefined && clock.monotonicMs() - verifiedAtMs < dayMs)) return;
    isAtWork = true;
    try {
      const found = await log.verify(stop.signal);
      verifiedAtMs = clock.monotonicMs();
      if (found !== undefined) broken.emit(found);
    } catch (error) {
      if (!stop.signal.aborted) onFailed(error);
    } finally {
      isAtWork = false;
    }
  };

  return {
    start: (): void => {
      stopLooking ??= clock.every(lookMs, () => void verify());
    },
    /** Reports where the chain is broken. */
    onBroken: broken.on,
    dispose: (): void => {
      stopLooking?.();
      stop.abort();
    },
  };
}
