import type { OperationError, OperationStatus } from "#contract/operation-entry.ts";
import type { OperationState, StoredOperation } from "./ports.ts";

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
