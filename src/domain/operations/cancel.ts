import { DomainError } from "#domain/common/error.ts";
import type { OperationFeed } from "./feed.ts";
import { fail, inspect, type Tracked } from "./reconcile.ts";
import { cancelledReason, isFinished, type Operation } from "./state.ts";

/** For the answer of the task, which may be busy with what it cannot break off. */
const answerWithinMs = 25_000;

const refused = ({ spec, state }: Operation, reason: string, why: string): DomainError =>
  new DomainError("CONFLICT", `cannot cancel ${spec.kind}: ${why}`, {
    operation_id: spec.id,
    reason,
    status: state.status,
    step: state.step,
    retryable: false,
  });

const isHeeded = ({ state }: Operation): boolean => state.cancel === "open" || state.cancel === "closing";

/** Whether an operation can be cancelled as it is; the error of one that cannot. */
export function cancelRefusal(operation: Operation): DomainError | undefined {
  const { status } = operation.state;
  if (isFinished(status)) return refused(operation, "ended", `it has ended already (${status})`);
  if (status === "queued" || isHeeded(operation)) return undefined;
  return refused(
    operation,
    "not_cancellable",
    "it is changing the host, and breaking off would leave that half-done (wait for its end; a snapshot leads back)",
  );
}

export const isCancelled = ({ state }: Operation): boolean => state.error?.details?.["reason"] === cancelledReason;

const cancelledInTime = (kind: string) =>
  ({
    code: "CONFLICT",
    message: `cannot do ${kind}: it was cancelled before it began`,
    details: { reason: cancelledReason, retryable: true },
  }) as const;

/** Waits until a task has heeded a request or is beyond it. @throws DomainError */
async function outcomeOf(
  tracked: Tracked,
  { until }: Pick<OperationFeed, "until">,
  id: string,
  signal: AbortSignal,
): Promise<Operation | undefined> {
  const over = new AbortController();
  const ended = AbortSignal.any([signal, over.signal]);
  void tracked.clock.sleep(answerWithinMs, ended).then(() => over.abort());
  const isDecided = (operation: Operation | undefined): boolean =>
    operation === undefined ||
    isFinished(operation.state.status) ||
    (operation.state.status === "running" && !isHeeded(operation));
  return until(id, isDecided, ended).finally(() => over.abort());
}

/**
 * Cancels an operation that has changed nothing yet. A request that came too late is taken back.
 * @returns the operation, which has failed with the reason `cancelled`.
 * @throws DomainError: `NOT_FOUND`; `CONFLICT` with a reason where it cannot be cancelled; `UNAVAILABLE` while it is not decided.
 */
export async function cancelOperation(
  tracked: Tracked,
  feed: Pick<OperationFeed, "until" | "changed">,
  id: string,
  signal: AbortSignal,
): Promise<Operation> {
  const { store } = tracked;
  const gone = (): DomainError => new DomainError("NOT_FOUND", `cannot find operation ${id}`, { id });
  const found = inspect(tracked, id);
  if (found === undefined) throw gone();
  const refusal = cancelRefusal(found);
  if (refusal !== undefined) throw refusal;
  store.requestCancel(id);
  const { kind } = found.spec;
  // One that nobody has claimed yet ends here: its task finds the claim, and leaves it alone.
  const now = found.state.status === "queued" ? fail(tracked, id, 0, cancelledInTime(kind)) : found;
  feed.changed(id);
  const ended = now !== undefined && isFinished(now.state.status) ? now : await outcomeOf(tracked, feed, id, signal);
  if (ended === undefined) throw gone();
  if (isCancelled(ended)) return ended;
  const tooLate = cancelRefusal(ended);
  if (tooLate !== undefined) {
    store.withdrawCancel(id);
    throw tooLate;
  }
  const message = `cannot say yet whether ${kind} is cancelled: that was requested, and it is busy with a step that is not broken off (ask for the operation)`;
  throw new DomainError("UNAVAILABLE", message, { operation_id: id, reason: "pending", retryable: true });
}
