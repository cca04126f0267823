import { isUnsuccessful } from "#contract/operation-entry.ts";
import type { AuditLog } from "#domain/ports/audit.ts";
import type { OperationSpec, OperationState } from "#domain/ports/operations.ts";
import type { Clock } from "#kernel/clock.ts";
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
