import type { OperationError, OperationStatus } from "#contract/operation-entry.ts";
import type { OperationSpec, OperationState, StoredOperation } from "#domain/ports/operations.ts";

/** The properties of a kind of operation; the task has its verb. */
export interface OperationKind {
  readonly lock: string;
  /** Whether the verb can continue from the last saved phase; otherwise it has failed when its process is gone. */
  readonly canGoOn: boolean;
}

export type OperationKinds = Readonly<Record<string, OperationKind>>;

/** Kinds of earlier versions can be waited for, but not run. */
export const kindOf = (kinds: OperationKinds, kind: string): OperationKind =>
  Object.hasOwn(kinds, kind) ? (kinds[kind] ?? { lock: kind, canGoOn: false }) : { lock: kind, canGoOn: false };

/** Starts of an operation, including the first. */
export const maxAttempts = 3;

export interface Operation {
  readonly spec: OperationSpec;
  readonly state: OperationState;
}

export const queuedState: OperationState = {
  status: "queued",
  percent: 0,
  step: "",
  startedAt: null,
  finishedAt: null,
  phase: null,
  result: null,
  error: null,
};

/** `details.reason` of an operation that was cancelled. */
export const cancelledReason = "cancelled";

export const isFinished = (status: OperationStatus): boolean => status === "done" || status === "failed";

/** The state; with a claim it is running. */
export function stateOf({ state, claim }: Pick<StoredOperation, "state" | "claim">): OperationState {
  const known = state ?? queuedState;
  return claim !== undefined && known.status === "queued" ? { ...known, status: "running" } : known;
}

export const failedState = (state: OperationState, error: OperationError, at: number): OperationState => ({
  ...state,
  status: "failed",
  finishedAt: at,
  result: null,
  error,
});
