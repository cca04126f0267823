import { Type } from "typebox";
import type { Operations } from "./operation.ts";
import { OperationDetail, OperationList, operationListLimit, operationStatuses } from "./operation-entry.ts";
import { Choice, LooseOptions } from "./schema.ts";

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
    query: LooseOptions({
      status: Choice(operationStatuses, "Only operations in this status."),
      limit: Type.Integer({ ...operationListLimit, description: "Maximum operations." }),
    }),
    response: OperationList,
    errors: [],
  },
  getOperation: {
    method: "GET",
    path: "/operations/{id}",
    tag: "Updates",
    summary: "One operation, with its log",
    scope: "updates:read",
    effect: "read",
    params: Type.Object({ id: Type.String({ minLength: 1, maxLength: 64, description: "Id of the operation." }) }),
    response: OperationDetail,
    errors: ["NOT_FOUND"],
  },
} as const satisfies Operations;
