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
    summary: "Operations that run and have run",
    description:
      "Mutations that outlive their request: updates, rollbacks, snapshots. The newest 200 of the last 30 days are kept.",
    scope: "updates:read",
    effect: "read",
    query: Options({
      status: Choice(operationStatuses, "Only operations in this status."),
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
      "With `wait` the answer comes when its status changes, or after that time: at once for one that has ended. `/ws/operations` follows all of them.",
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
    summary: "Cancel an operation that has changed nothing yet",
    description:
      "It ends as `failed`, with the reason `cancelled`; cancelling it again answers the same. Takes the scope that it took to begin it, also for the packages that it names. One that has begun to change the host, or has ended, is `CONFLICT` with `details.reason` `not_cancellable` or `ended`: breaking off a transaction would leave it half-done.",
    scope: "updates:read",
    effect: "write",
    params: Type.Object({ id: OperationId }),
    query: DryRunQuery,
    response: OperationEntry,
    errors: ["NOT_FOUND", "CONFLICT"],
  },
} as const satisfies Operations;
