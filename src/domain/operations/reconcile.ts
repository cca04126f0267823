import type { OperationError } from "#contract/operation-entry.ts";
import { findUnavailable } from "#domain/common/host-unavailable.ts";
import type { OperationStore, ProcessIdentity, TaskLauncher } from "#domain/ports/operations.ts";
import type { Clock } from "#kernel/clock.ts";
import { failedState, isFinished, kindOf, maxAttempts, type Operation, type OperationKinds, stateOf } from "./state.ts";

/** What this process knows of operations besides their records. */
export interface Tracked {
  readonly store: OperationStore;
  readonly launcher: TaskLauncher;
  readonly clock: Clock;
  readonly kinds: OperationKinds;
  readonly self: ProcessIdentity;
  readonly onEnded?: (operation: Operation) => void;
  readonly onTrouble: (error: unknown) => void;
  readonly unfinished: Set<string>;
  /** The last launch by this process: claim at that time, and failure. */
  readonly launches: Map<
    string,
    { readonly claim: number; readonly atMs: number; readonly failed?: { readonly cause: unknown } }
  >;
  /** Errors to be written for claims that this process holds. */
  readonly endings: Map<string, OperationError>;
}

/** Oldest request that is started late, and longest time from launch to claim. */
const beginWithinMs = 60_000;

/** Reason of an operation that never began and may be requested again. */
export const notStarted = "not_begun";

function neverStarted(kind: string, why: string, cause?: unknown): OperationError {
  const found = findUnavailable(cause);
  const reason = found === undefined ? why : `${why}: ${found.message}`;
  return {
    code: "UNAVAILABLE",
    message: `cannot do ${kind}: ${reason}; nothing was done`,
    details: { retryable: true, ...found?.details, reason: notStarted },
  };
}

const interrupted = (kind: string, attempts: number): OperationError => ({
  code: "INTERNAL_ERROR",
  message: `cannot finish ${kind}: its process was ended from outside (its log shows how far it came)`,
  details: { reason: "interrupted", attempts },
});

const damaged = (kind: string): OperationError => ({
  code: "INTERNAL_ERROR",
  message: `cannot determine how ${kind} ended: its record is damaged`,
  details: { reason: "damaged" },
});

export function launch({ clock, launcher, launches, onTrouble }: Tracked, id: string, claim: number): void {
  const atMs = clock.monotonicMs();
  launches.set(id, { claim, atMs });
  launcher.launch(id).catch((error: unknown) => {
    onTrouble(error);
    // The failure of an earlier launch says nothing about a later one.
    if (launches.get(id)?.claim === claim) launches.set(id, { claim, atMs, failed: { cause: error } });
  });
}

/**
 * Records the failure of an operation without a task. The claim keeps a late task from starting meanwhile. Once it is ours the
 * failure is final, and writing it is repeated until it succeeds.
 */
export function fail(tracked: Tracked, id: string, claim: number, error: OperationError): Operation | undefined {
  const { store, clock, self, endings, onTrouble } = tracked;
  if (!endings.has(id) && store.claim(id, claim + 1, self)) endings.set(id, error);
  const stored = store.read(id);
  if (stored === undefined) return undefined;
  const { spec } = stored;
  const state = stateOf(stored);
  const ending = endings.get(id);
  if (ending === undefined || isFinished(state.status)) {
    endings.delete(id);
    return { spec, state };
  }
  const ended = failedState(state, ending, clock.now());
  try {
    store.write(id, ended);
    endings.delete(id);
  } catch (fault) {
    onTrouble(fault);
  }
  return { spec, state: ended };
}

function settle(tracked: Tracked, id: string, lostClaim: number): Operation | undefined {
  const { store, clock, kinds, launches, endings } = tracked;
  // Read again: its task may have recorded its end before it was found gone.
  const stored = store.read(id);
  if (stored === undefined) return undefined;
  const { spec, claim } = stored;
  const state = stateOf(stored);
  if (isFinished(state.status)) return { spec, state };
  const number = claim?.number ?? 0;
  // Another task has claimed it since: whether that one runs is for the next inspection.
  if (number !== lostClaim) return { spec, state };
  const ending = endings.get(id);
  if (ending !== undefined) return fail(tracked, id, number, ending);
  const launched = launches.get(id);
  if (launched?.claim === number) {
    const { atMs, failed } = launched;
    if (failed === undefined && clock.monotonicMs() - atMs < beginWithinMs) return { spec, state };
    const why = failed === undefined ? "its process did not begin" : "its process could not be started";
    const end = number === 0 ? neverStarted(spec.kind, why, failed?.cause) : interrupted(spec.kind, number);
    return fail(tracked, id, number, end);
  }
  if (number === 0) {
    const ageMs = clock.now() - spec.createdAt;
    // A negative age means that the clock was set back.
    if (ageMs < 0 || ageMs >= beginWithinMs)
      return fail(tracked, id, 0, neverStarted(spec.kind, "the service was not there"));
  } else if (stored.state === undefined) {
    return fail(tracked, id, number, damaged(spec.kind));
  } else if (!kindOf(kinds, spec.kind).canGoOn || number >= maxAttempts) {
    return fail(tracked, id, number, interrupted(spec.kind, number));
  }
  launch(tracked, id, number);
  return { spec, state };
}

/** The state of an operation; one that has lost its process is started again or fails. */
export function inspect(tracked: Tracked, id: string): Operation | undefined {
  const { store, launcher, unfinished, launches, endings } = tracked;
  const stored = store.read(id);
  if (stored === undefined) {
    unfinished.delete(id);
    return undefined;
  }
  const state = stateOf(stored);
  if (isFinished(state.status)) {
    const wasUnfinished = unfinished.delete(id);
    launches.delete(id);
    if (wasUnfinished) tracked.onEnded?.({ spec: stored.spec, state });
    return { spec: stored.spec, state };
  }
  unfinished.add(id);
  const { claim } = stored;
  const isRunning = claim !== undefined && !endings.has(id) && launcher.isAlive(claim.process);
  return isRunning ? { spec: stored.spec, state } : settle(tracked, id, claim?.number ?? 0);
}
