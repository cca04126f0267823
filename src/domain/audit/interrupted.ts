import type { AuditLog } from "#domain/ports/audit.ts";
import { type Clock, toTimestamp } from "#kernel/clock.ts";

const page = 1000;

/** Whether the log has the entry of a request: the process may have ended before it removed the note. */
async function isRecorded(
  log: Pick<AuditLog, "list">,
  { operation, since, requestId }: { operation: string; since: number; requestId: string | null },
  signal: AbortSignal,
): Promise<boolean> {
  const query = { since, until: undefined, operation, keyId: undefined, outcome: undefined, limit: page };
  for (let cursor: string | undefined; ; ) {
    const { entries, nextCursor } = await log.list({ ...query, cursor }, signal);
    if (entries.some(({ request_id: id }) => id === requestId)) return true;
    if (nextCursor === undefined) return false;
    cursor = nextCursor;
  }
}

/** Records the calls in progress when an earlier process ended, as failed and without a status: their progress is unknown. */
export async function recordInterrupted(
  { log, clock }: { readonly log: AuditLog; readonly clock: Pick<Clock, "now"> },
  signal: AbortSignal,
): Promise<void> {
  for (const { entry, forget } of log.left) {
    const { operation, time, request_id: requestId, target } = entry;
    const interrupted = { ...entry, time: toTimestamp(clock.now()), target: { ...target, begun_at: time } };
    if (await isRecorded(log, { operation, since: Date.parse(time), requestId }, signal)) forget();
    else log.record(interrupted, forget);
  }
}
