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
  description: "Why it failed, in the form of the `error` of an error answer; null if it did not fail.",
});

const entry = {
  id: Type.String({ description: "Id; ids sort by the time of creation." }),
  kind: Type.String({ description: "Kind of operation." }),
  status: Choice(operationStatuses, "`queued`: not started yet. `done` and `failed` are final."),
  progress: Type.Object({
    percent: Type.Integer({
      description: "Progress in percent, as far as it is known.",
      minimum: 0,
      maximum: 100,
    }),
    step: Type.String({ description: "The current step, or the last one." }),
    until: Type.Optional(
      Timestamp("When this step ends unless something happens; left out if that is not known, and after the end."),
    ),
  }),
  created_at: Timestamp("When it was requested."),
  started_at: NullableTimestamp("When it started; null before that."),
  finished_at: NullableTimestamp("When it ended; null before that."),
  result: Type.Unknown({ description: "The answer that the call would have got by waiting; null until it is done." }),
  error: OperationError,
  cancellable: Type.Optional(
    Type.Boolean({ description: "Whether it can be cancelled now: it has not changed anything yet." }),
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
