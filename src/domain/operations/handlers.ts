import type { Caller, Context, Handlers } from "#contract/operation.ts";
import { Accepted, type OperationEntry, operationListLimit, operationLogLines } from "#contract/operation-entry.ts";
import type { longOperations } from "#contract/operations.ts";
import { DomainError } from "#domain/common/error.ts";
import { pageOf } from "#domain/common/page.ts";
import { createPlan } from "#domain/common/plan.ts";
import { createWaitingRoom, waitMsOf } from "#domain/common/waiting.ts";
import type { OperationSpec } from "#domain/ports/operations.ts";
import { type Clock, toNullableTimestamp, toTimestamp } from "#kernel/clock.ts";
import { cancelRefusal, isCancelled } from "./cancel.ts";
import type { Operations } from "./operations.ts";
import { isFinished, type Operation } from "./state.ts";

export const toOperationEntry = ({ spec, state }: Operation): OperationEntry => ({
  id: spec.id,
  kind: spec.kind,
  status: state.status,
  progress: {
    percent: state.percent,
    step: state.step,
    ...(state.status === "running" && state.stepEndsAt != null && { until: toTimestamp(state.stepEndsAt) }),
  },
  created_at: toTimestamp(spec.createdAt),
  started_at: toNullableTimestamp(state.startedAt),
  finished_at: toNullableTimestamp(state.finishedAt),
  result: state.result,
  error: state.error,
  cancellable: cancelRefusal({ spec, state }) === undefined,
});

export function operationHandlers(ports: {
  readonly operations: Pick<Operations, "get" | "list" | "log" | "until" | "cancel">;
  /** @throws DomainError `FORBIDDEN` for a caller who could not have started the operation, `CONFLICT` where a window holds it back. */
  readonly requireScopes: (spec: OperationSpec, context: Pick<Context, "caller" | "checkWindows">) => void;
  readonly clock: Pick<Clock, "sleep">;
  /** Whether a credential has expired or been revoked since it was admitted. */
  readonly hasEnded: (caller: Caller) => boolean;
  /** Fires when the service stops: anyone who waits is answered. */
  readonly stopping: AbortSignal;
}): Handlers<typeof longOperations> {
  const { operations, requireScopes, clock, hasEnded, stopping } = ports;
  const wait = createWaitingRoom("ask without `wait`, or follow /ws/operations");

  const untilChanged = async (
    { spec: { id }, state: before }: Operation,
    waitMs: number,
    { caller, signal }: Pick<Context, "caller" | "signal">,
  ): Promise<Operation | undefined> => {
    const isGone = (): boolean => caller !== undefined && hasEnded(caller);
    const over = new AbortController();
    const ended = AbortSignal.any([signal(), stopping, over.signal]);
    void clock.sleep(waitMs, ended).then(() => over.abort());
    const isChanged = (now: Operation | undefined): boolean => now?.state.status !== before.status || isGone();
    const operation = await operations.until(id, isChanged, ended).finally(() => over.abort());
    if (isGone())
      throw new DomainError("UNAUTHORIZED", "the credential expired or was revoked before the answer was there");
    return operation;
  };

  return {
    listOperations({ query: { status, limit = operationListLimit.default, cursor } }) {
      const { items, shape } = pageOf(operations.list(status), { limit, cursor }, ({ spec }) => spec.id);
      return { operations: items.map(toOperationEntry), ...shape };
    },
    async getOperation({ params: { id }, query }, context) {
      const waitMs = waitMsOf(query.wait);
      const now = operations.get(id);
      const isOver = now === undefined || waitMs === 0 || isFinished(now.state.status);
      const { keyId = "" } = context.caller ?? {};
      const operation = isOver ? now : await wait(keyId, () => untilChanged(now, waitMs, context));
      if (operation === undefined) throw new DomainError("NOT_FOUND", `cannot find operation ${id}`, { id });
      return { ...toOperationEntry(operation), log: [...operations.log(id, operationLogLines)] };
    },
    async cancelOperation({ params: { id }, query }, context) {
      const { signal, touched } = context;
      const operation = operations.get(id);
      if (operation === undefined) throw new DomainError("NOT_FOUND", `cannot find operation ${id}`, { id });
      requireScopes(operation.spec, context);
      touched({ operation_id: id, kind: operation.spec.kind });
      const refusal = cancelRefusal(operation);
      if (isCancelled(operation) && !query.dry_run) return toOperationEntry(operation);
      if (refusal !== undefined) throw refusal;
      if (query.dry_run) return createPlan([`cancel ${operation.spec.kind} ${id}, which has changed nothing yet`]);
      return toOperationEntry(await operations.cancel(id, AbortSignal.any([signal(), stopping])));
    },
  };
}

export interface ReplyPreferences {
  /** Not to wait (RFC 7240, `respond-async`). */
  readonly prefersAsync: boolean;
  /** To wait so long at most (RFC 7240, `wait`). */
  readonly waitMs?: number | undefined;
  readonly idempotencyKey: string | undefined;
}

/** The operation when it has ended, or as it is when the request would wait no longer. */
async function withinWait(
  operations: Pick<Operations, "wait">,
  started: Operation,
  waitMs: number,
  { clock, signal }: { readonly clock: Pick<Clock, "sleep">; readonly signal: AbortSignal },
): Promise<Operation | undefined> {
  const over = new AbortController();
  const ended = AbortSignal.any([signal, over.signal]);
  void clock.sleep(waitMs, ended).then(() => over.abort());
  try {
    return await operations.wait(started.spec.id, ended);
  } catch (error) {
    if (over.signal.aborted || signal.aborted) return undefined;
    throw error;
  } finally {
    over.abort();
  }
}

/**
 * Begins an operation for a request and waits for its result, unless the request prefers not to, or no longer.
 * @throws DomainError: that of the operation, of {@link Operations.start}, or `UNAVAILABLE` when the service stops first.
 */
export async function beginOperation<Result>(
  operations: Pick<Operations, "admit" | "start" | "wait" | "get">,
  work: { readonly kind: string; readonly input: unknown; readonly planned?: readonly string[] },
  context: Pick<Context, "caller" | "signal" | "touched"> & ReplyPreferences & { readonly clock: Pick<Clock, "sleep"> },
  /** Refuses what is impossible before it is recorded; not called for a repeated request. */
  check: () => Promise<unknown> = () => Promise.resolve(),
): Promise<Result | Accepted> {
  const { caller, signal, touched, prefersAsync, waitMs, idempotencyKey, clock } = context;
  const request = { ...work, keyId: caller?.keyId ?? null, idempotencyKey: idempotencyKey ?? null };
  if (operations.admit(request) === undefined) await check();
  const started = operations.start(request);
  const { id } = started.spec;
  touched({ operation_id: id });
  const maxWaitMs = waitMs ?? (prefersAsync ? 0 : undefined);
  if (maxWaitMs === 0) return new Accepted(toOperationEntry(started));
  const ended =
    maxWaitMs === undefined
      ? await operations.wait(id, signal())
      : await withinWait(operations, started, maxWaitMs, { clock, signal: signal() });
  if (ended === undefined) return new Accepted(toOperationEntry(operations.get(id) ?? started));
  const { state } = ended;
  // The verb of this kind returned it, before it was stored as JSON.
  if (state.error === null) return state.result as Result;
  const { code, message, details } = state.error;
  throw new DomainError(code, message, { ...details, operation_id: id });
}
