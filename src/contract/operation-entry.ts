import { type Static, Type } from "typebox";
import { isRecord } from "#kernel/values.ts";
import { type ErrorCode, errorStatus } from "./errors.ts";
import { Choice, CountedListShape, NullableTimestamp, Timestamp } from "./schema.ts";

export const operationStatuses = ["queued", "running", "done", "failed"] as const;
export type OperationStatus = (typeof operationStatuses)[number];

export const operationListLimit = { minimum: 1, maximum: 200, default: 50 } as const;

export const operationLogLines = 200;

/** Longest wait of a request for an operation. */
export const maxOperationWaitMs = 60_000;

export interface OperationError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

export const OperationError = Type.Unsafe<OperationError | null>({
  type: ["object", "null"],
  properties: {
    code: { type: "string", enum: Object.keys(errorStatus) },
    message: { type: "string" },
    details: { type: "object", additionalProperties: true },
  },
  required: ["code", "message"],
  description: "Why it failed, as the `error` of an error answer; null unless it did.",
});

const entry = {
  id: Type.String({ description: "Sorts by the time of creation." }),
  kind: Type.String({ description: "What is being done." }),
  status: Choice(operationStatuses, "`queued`: nothing has been done yet. `done` and `failed` are final."),
  progress: Type.Object({
    percent: Type.Integer({
      description: "How much of it is done, as far as that is known.",
      minimum: 0,
      maximum: 100,
    }),
    step: Type.String({ description: "What is being done now, or was done last." }),
    until: Type.Optional(
      Timestamp("When this step is over unless something comes up; left out where nobody can say, and after the end."),
    ),
  }),
  created_at: Timestamp("When it was asked for."),
  started_at: NullableTimestamp("When it began; null before."),
  finished_at: NullableTimestamp("When it ended; null before."),
  result: Type.Unknown({ description: "What the mutation answers when it is waited for; null before it is done." }),
  error: OperationError,
  cancellable: Type.Optional(
    Type.Boolean({ description: "Whether it can be cancelled as it is: it has changed nothing yet." }),
  ),
};

export const OperationEntry = Type.Object(entry);
export type OperationEntry = Static<typeof OperationEntry>;

export const OperationDetail = Type.Object({
  ...entry,
  log: Type.Array(Type.String(), { description: `The last ${operationLogLines} lines that it wrote, oldest first.` }),
});
export type OperationDetail = Static<typeof OperationDetail>;

export const OperationList = Type.Object({
  operations: Type.Array(OperationEntry, { description: "Newest first." }),
  ...CountedListShape,
});
export type OperationList = Static<typeof OperationList>;

/** The answer 202 to a mutation, with the address of its operation. */
export class Accepted {
  readonly operation: OperationEntry;

  constructor(operation: OperationEntry) {
    this.operation = operation;
  }
}

/** Whether a result reports a failure: `success: false`. */
export const isUnsuccessful = (result: unknown): boolean => isRecord(result) && result["success"] === false;
