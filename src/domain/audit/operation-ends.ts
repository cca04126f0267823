import type { AuditRecord } from "#contract/audit.ts";
import { isUnsuccessful } from "#contract/operation-entry.ts";
import type { AuditEntry, AuditLog } from "#domain/ports/audit.ts";
import type { OperationSpec, OperationState } from "#domain/ports/operations.ts";
import { type Clock, toTimestamp } from "#kernel/clock.ts";
import { auditEvent } from "./entry.ts";

const operationEnded = "operation.ended";

export interface EndedOperation {
  readonly spec: Pick<OperationSpec, "id" | "kind" | "keyId">;
  readonly state: Pick<OperationState, "status" | "startedAt" | "finishedAt" | "result" | "error">;
}

/** The entries of an operation page by page, newest first. */
async function* pages(
  log: Pick<AuditLog, "list">,
  { operation, since }: { readonly operation: string; readonly since?: number },
  signal: AbortSignal,
): AsyncGenerator<readonly AuditRecord[]> {
  const query = {
    operation,
    since,
    until: undefined,
    keyId: undefined,
    target: undefined,
    outcome: undefined,
    limit: 1000,
  };
  let cursor: string | undefined;
  do {
    const { entries, nextCursor } = await log.list({ ...query, cursor }, signal);
    yield entries;
    cursor = nextCursor;
  } while (cursor !== undefined);
}

/** Records the end of each operation once, also those while the service was stopped. */
export function createOperationEnds(ports: {
  readonly log: AuditLog;
  readonly clock: Pick<Clock, "now">;
  readonly onEnded?: (operation: EndedOperation) => void;
}) {
  const { log, clock, onEnded } = ports;
  const ended = (operation: EndedOperation): void => {
    const { spec, state } = operation;
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
    onEnded?.(operation);
  };

  /** The ids without an end in the log; the newest entries are read first, since most are there. */
  const unknownOf = async (ids: ReadonlySet<string>, signal: AbortSignal): Promise<ReadonlySet<string>> => {
    const left = new Set(ids);
    for await (const entries of pages(log, { operation: operationEnded }, signal)) {
      for (const { operation_id: id } of entries) if (id !== null) left.delete(id);
      if (left.size === 0) break;
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
export async function isRecorded(
  log: Pick<AuditLog, "list">,
  { operation, time, request_id: requestId }: Pick<AuditEntry, "operation" | "time" | "request_id">,
  signal: AbortSignal,
): Promise<boolean> {
  for await (const entries of pages(log, { operation, since: Date.parse(time) }, signal))
    if (entries.some(({ request_id: id }) => id === requestId)) return true;
  return false;
}

/** Records the calls in progress when an earlier process ended, as failed and without a status: their progress is unknown. */
export async function recordInterrupted(
  { log, clock }: { readonly log: AuditLog; readonly clock: Pick<Clock, "now"> },
  signal: AbortSignal,
): Promise<void> {
  for (const { entry, forget } of log.left) {
    const { time, target } = entry;
    if (await isRecorded(log, entry, signal)) forget();
    else log.record({ ...entry, time: toTimestamp(clock.now()), target: { ...target, begun_at: time } }, forget);
  }
}
