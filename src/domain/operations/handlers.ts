import type { Context, Handlers } from "#contract/operation.ts";
import { Accepted, type OperationEntry, operationListLimit, operationLogLines } from "#contract/operation-entry.ts";
import type { longOperations } from "#contract/operations.ts";
import { DomainError } from "#domain/common/error.ts";
import { toNullableTimestamp, toTimestamp } from "#kernel/clock.ts";
import type { Operations } from "./operations.ts";
import type { Operation } from "./state.ts";

const toOperationEntry = ({ spec, state }: Operation): OperationEntry => ({
  id: spec.id,
  kind: spec.kind,
  status: state.status,
  progress: { percent: state.percent, step: state.step },
  created_at: toTimestamp(spec.createdAt),
  started_at: toNullableTimestamp(state.startedAt),
  finished_at: toNullableTimestamp(state.finishedAt),
  result: state.result,
  error: state.error,
});

export function operationHandlers(ports: {
  readonly operations: Pick<Operations, "get" | "list" | "log">;
}): Handlers<typeof longOperations> {
  const { operations } = ports;
  return {
    listOperations({ query: { status, limit = operationListLimit.default } }) {
      const found = operations.list(status);
      return { operations: found.slice(0, limit).map(toOperationEntry), total: found.length };
    },
    getOperation({ params: { id } }) {
      const operation = operations.get(id);
      if (operation === undefined) throw new DomainError("NOT_FOUND", `cannot find operation ${id}`, { id });
      return { ...toOperationEntry(operation), log: [...operations.log(id, operationLogLines)] };
    },
  };
}

export interface ReplyPreferences {
  /** Not to wait (RFC 7240, `respond-async`). */
  readonly prefersAsync: boolean;
  readonly idempotencyKey: string | undefined;
}

/**
 * Begins an operation for a request and waits for its result, unless the request prefers not to.
 * @throws DomainError: that of the operation, of {@link Operations.start}, or `UNAVAILABLE` when the service stops first.
 */
export async function beginOperation<Result>(
  operations: Pick<Operations, "admit" | "start" | "wait">,
  work: { readonly kind: string; readonly input: unknown },
  context: Pick<Context, "caller" | "signal" | "touched"> & ReplyPreferences,
  /** Refuses what is impossible before it is recorded; not called for a repeated request. */
  check: () => Promise<unknown> = () => Promise.resolve(),
): Promise<Result | Accepted> {
  const { caller, signal, touched, prefersAsync, idempotencyKey } = context;
  const request = { ...work, keyId: caller?.keyId ?? null, idempotencyKey: idempotencyKey ?? null };
  if (operations.admit(request) === undefined) await check();
  const begun = operations.start(request);
  touched({ operation_id: begun.spec.id });
  if (prefersAsync) return new Accepted(toOperationEntry(begun));
  const { state } = await operations.wait(begun.spec.id, signal());
  // The verb of this kind returned it, before it was stored as JSON.
  if (state.error === null) return state.result as Result;
  const { code, message, details } = state.error;
  throw new DomainError(code, message, { ...details, operation_id: begun.spec.id });
}
