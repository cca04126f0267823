import { isUnsuccessful } from "#contract/operation-entry.ts";
import type { AuditLog } from "#domain/ports/audit.ts";
import type { OperationSpec, OperationState } from "#domain/ports/operations.ts";
import { type Clock, toTimestamp } from "#kernel/clock.ts";
import { auditEvent } from "./entry.ts";

const operationEnded = "operation.ended";

export interface EndedOperation {
  readonly spec: Pick<OperationSpec, "id" | "kind" | "keyId">;
  readonly state: Pick<OperationState, "status" | "startedAt" | "finishedAt" | "result" | "error">;
}

const page = 1000;

/** Records the end of each operation once, also those while the service was stopped. */
export function createOperationEnds({ log, clock }: { log: AuditLog; clock: Pick<Clock, "now"> }) {
  const ended = ({ spec, state }: EndedOperation): void => {
    const { startedAt, finishedAt, error } = state;
    log.record(
      auditEvent(operationEnded, clock.now(), {
        outcome: error !== null || isUnsuccessful(state.result) ? "failed" : "ok",
        error: error?.code ?? null,
        target: { kind: spec.kind, ...(finishedAt !== null && { ended_at: new Date(finishedAt).toISOString() }) },
        key_id: spec.keyId,
        operation_id: spec.id,
        duration_ms: startedAt === null || finishedAt === null ? null : Math.max(0, Math.round(finishedAt - startedAt)),
      }),
    );
  };

  /** The ids without an end in the log; the newest entries are read first, since most are there. */
  const unknownOf = async (ids: ReadonlySet<string>, signal: AbortSignal): Promise<ReadonlySet<string>> => {
    const left = new Set(ids);
    const any = { since: undefined, until: undefined, keyId: undefined, outcome: undefined };
    for (let cursor: string | undefined; left.size > 0; ) {
      const { entries, nextCursor } = await log.list(
        { ...any, operation: operationEnded, limit: page, cursor },
        signal,
      );
      for (const { operation_id: id } of entries) if (id !== null) left.delete(id);
      if (nextCursor === undefined) break;
      cursor = nextCursor;
    }
    return left;
  };

  return {
    ended,
    async resume(finished: readonly EndedOperation[], signal: AbortSignal): Promise<void> {
      if (finished.length === 0) return;
      const unknown = await unknownOf(new Set(finished.map(({ spec }) => spec.id)), signal);
      for (const operation of finished) if (unknown.has(operation.spec.id)) ended(operation);
    },
  };
}

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
