import type { Handlers } from "#contract/operation.ts";
import type { OperationEntry } from "#contract/operation-entry.ts";
import { operationListLimit, operationLogLines } from "#contract/operation-entry.ts";
import type { longOperations } from "#contract/operations.ts";
import { DomainError } from "#domain/common/error.ts";
import { toNullableTimestamp, toTimestamp } from "#kernel/clock.ts";
import type { Operations } from "./operations.ts";
import type { Operation } from "./state.ts";

/** An operation as callers see it. */
export const toOperationEntry = ({ spec, state }: Operation): OperationEntry => ({
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

/** Operations that run and have run. */
export function operationHandlers({
  operations,
}: {
  readonly operations: Pick<Operations, "get" | "list" | "log">;
}): Handlers<typeof longOperations> {
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
