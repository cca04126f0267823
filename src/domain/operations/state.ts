import type { OperationError, OperationStatus } from "#contract/operation-entry.ts";
import type { OperationSpec, OperationState, StoredOperation } from "#domain/ports/operations.ts";

/** What the service knows of a kind of operation; how it is done is the verb's, which the task has. */
export interface OperationKind {
  /** Operations with the same lock never run at the same time. */
  readonly lock: string;
  /**
   * Whether the verb can go on from the phase that it saved last. One that cannot is never begun twice: when its process is
   * gone, it has failed.
   */
  readonly canGoOn: boolean;
}

export type OperationKinds = Readonly<Record<string, OperationKind>>;

/** A kind that only an earlier version knew is safe to wait for, and not to do again. */
export const kindOf = (kinds: OperationKinds, kind: string): OperationKind =>
  Object.hasOwn(kinds, kind) ? (kinds[kind] ?? { lock: kind, canGoOn: false }) : { lock: kind, canGoOn: false };

/** How often an operation is begun: the first time and after interruptions. */
export const maxAttempts = 3;

/** An operation as it stands. */
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

export const isFinished = (status: OperationStatus): boolean => status === "done" || status === "failed";

/** The state as far as it is known: who has a claim has begun. */
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

/** JSON text that is the same for the same value, whatever the order of its members. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((each) => canonicalJson(each ?? null)).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value ?? null);
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  members.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`).join(",")}}`;
}
