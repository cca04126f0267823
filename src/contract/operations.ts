import { Type } from "typebox";
import { DryRunQuery, type Operations } from "./operation.ts";
import {
  OperationDetail,
  OperationEntry,
  OperationList,
  operationListLimit,
  operationStatuses,
} from "./operation-entry.ts";
import { Choice, Cursor, Options } from "./schema.ts";

const OperationId = Type.String({ minLength: 1, maxLength: 64, description: "Id of the operation." });

export const longOperations = {
  listOperations: {
    method: "GET",
    path: "/operations",
    tag: "Updates",
    summary: "Running and past operations",
    description:
      "Mutations that outlive their request: updates, rollbacks, snapshots. The newest 200 of the last 30 days are kept.",
    scope: "updates:read",
    effect: "read",
    query: Options({
      status: Choice(operationStatuses, "Only operations with this status."),
      limit: Type.Integer({ ...operationListLimit, description: "Maximum operations." }),
      cursor: Cursor,
    }),
    response: OperationList,
    errors: [],
  },
  getOperation: {
    method: "GET",
    path: "/operations/{id}",
    tag: "Updates",
    summary: "One operation, with its log",
    description:
      "With `wait` the answer is sent when the status changes, or after that time; at once if the operation has ended. `/ws/operations` follows all operations.",
    scope: "updates:read",
    effect: "read",
    takesLong: true,
    params: Type.Object({ id: OperationId }),
    query: Options({
      wait: Type.String({
        pattern: "^\\d{1,9}(?:ms|s|m)?$",
        examples: ["30s"],
        description: "How long to wait for a change of its status, up to `60s`; seconds without a unit.",
      }),
    }),
    response: OperationDetail,
    errors: ["NOT_FOUND"],
  },
  cancelOperation: {
    method: "DELETE",
    path: "/operations/{id}",
    tag: "Updates",
    summary: "Cancel an operation that has not changed anything yet",
    description:
      "It ends as `failed`, with the reason `cancelled`; cancelling it again gives the same answer. Needs the scope that was needed to start it, including for the packages that it names. If it has started to change the host, or has ended, the answer is `CONFLICT` with `details.reason` `not_cancellable` or `ended`: aborting a transaction would leave it incomplete.",
    scope: "updates:read",
    effect: "write",
    params: Type.Object({ id: OperationId }),
    query: DryRunQuery,
    response: OperationEntry,
    errors: ["NOT_FOUND", "CONFLICT"],
  },
} as const satisfies Operations;
