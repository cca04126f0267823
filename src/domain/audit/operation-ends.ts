import type { OperationError, OperationStatus } from "#contract/operation-entry.ts";
import { isUnsuccessful } from "#contract/operation-entry.ts";
import type { AuditLog } from "#domain/ports/audit.ts";
import type { Clock } from "#kernel/clock.ts";
import { auditEvent } from "./entry.ts";

const operationEnded = "operation.ended";

/** What of an operation that came to an end is written down. */
export interface EndedOperation {
  readonly spec: { readonly id: string; readonly kind: string; readonly keyId: string | null };
  readonly state: {
    readonly status: OperationStatus;
    readonly startedAt: number | null;
    readonly finishedAt: number | null;
    readonly result: unknown;
    readonly error: OperationError | null;
  };
}

const page = 1000;

/**
 * Writes down the ends of operations: each once, also of those that ended while the service was away.
 * @returns what is told of each end that is noticed, and what is to be told of all operations once after a start.
 */
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

  /** Of these ids, those that the log has no end of; newest entries are looked at first, since most are there. */
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
    /** Writes down those of finished operations, oldest first, that are not in the log yet. */
    async resume(finished: readonly EndedOperation[], signal: AbortSignal): Promise<void> {
      if (finished.length === 0) return;
      const unknown = await unknownOf(new Set(finished.map(({ spec }) => spec.id)), signal);
      for (const operation of finished) if (unknown.has(operation.spec.id)) ended(operation);
    },
  };
}
