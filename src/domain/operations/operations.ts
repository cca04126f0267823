import type { OperationStatus } from "#contract/operation-entry.ts";
import { DomainError, invalid } from "#domain/common/error.ts";
import type { OperationSpec } from "#domain/ports/operations.ts";
import { orReport } from "#kernel/errors.ts";
import { canonicalJson, defined } from "#kernel/values.ts";
import { cancelOperation } from "./cancel.ts";
import { createOperationFeed, type OperationFeed } from "./feed.ts";
import { inspect, launch, notStarted, type Tracked } from "./reconcile.ts";
import { isFinished, kindOf, type Operation, queuedState } from "./state.ts";

export interface StartRequest {
  readonly kind: string;
  readonly input: unknown;
  readonly keyId: string | null;
  readonly idempotencyKey: string | null;
  readonly planned?: readonly string[];
}

export type Operations = ReturnType<typeof createOperations>;

/** How often unfinished operations are inspected that nobody follows. */
const sweepIntervalMs = 5_000;
const keptOperations = 200;
const keptForMs = 30 * 24 * 60 * 60 * 1000;
const idempotentForMs = 24 * 60 * 60 * 1000;

const all = (tracked: Tracked): readonly Operation[] => tracked.store.ids().flatMap((id) => inspect(tracked, id) ?? []);

function pruneFinished(tracked: Tracked): void {
  const { clock, store } = tracked;
  const oldest = clock.now() - keptForMs;
  const finished = all(tracked).filter(({ state }) => isFinished(state.status));
  for (const [at, { spec }] of finished.entries()) {
    if (at >= keptOperations || spec.createdAt < oldest) store.remove(spec.id);
  }
}

function findEarlier(tracked: Tracked, request: StartRequest): Operation | undefined {
  const { keyId, idempotencyKey, kind, input } = request;
  if (idempotencyKey === null) return undefined;
  const since = tracked.clock.now() - idempotentForMs;
  const found = all(tracked).find(
    ({ spec, state }) =>
      spec.idempotencyKey === idempotencyKey &&
      spec.keyId === keyId &&
      spec.createdAt > since &&
      state.error?.details?.["reason"] !== notStarted,
  );
  if (found === undefined) return undefined;
  if (found.spec.kind !== kind || canonicalJson(found.spec.input) !== canonicalJson(input))
    throw invalid("Idempotency-Key", "Belongs to another request");
  return found;
}

function requireLock(tracked: Tracked, kind: string): void {
  const { kinds, unfinished } = tracked;
  const { lock } = kindOf(kinds, kind);
  for (const id of [...unfinished]) {
    const other = inspect(tracked, id);
    if (other === undefined || isFinished(other.state.status) || kindOf(kinds, other.spec.kind).lock !== lock) continue;
    const message = `cannot do ${kind}: ${other.spec.kind} is running (try again when it is done)`;
    throw new DomainError("CONFLICT", message, { operation_id: id, retryable: true });
  }
}

function admit(tracked: Tracked, request: StartRequest): Operation | undefined {
  const earlier = findEarlier(tracked, request);
  if (earlier === undefined) requireLock(tracked, request.kind);
  return earlier;
}

const hasEnded = (operation: Operation | undefined): boolean =>
  operation === undefined || isFinished(operation.state.status);

async function wait({ until }: OperationFeed, id: string, signal: AbortSignal): Promise<Operation> {
  const operation = await until(id, hasEnded, signal);
  if (operation === undefined) throw new DomainError("NOT_FOUND", `cannot find operation ${id}`, { id });
  if (isFinished(operation.state.status)) return operation;
  const message = `cannot wait for ${operation.spec.kind} any longer: it continues as operation ${id}`;
  throw new DomainError("UNAVAILABLE", message, { operation_id: id, retryable: true });
}

/**
 * Mutations that outlive the service. Each is recorded, and run by a task in its own process. The loss of a task is noticed at the next
 * inspection, and it is started again where its kind can continue.
 */
export function createOperations(
  ports: Omit<Tracked, "unfinished" | "launches" | "endings"> & {
    readonly createId: () => string;
    readonly traceparent?: () => string | undefined;
  },
) {
  const { store, clock, createId } = ports;
  const tracked: Tracked = { ...ports, unfinished: new Set(), launches: new Map(), endings: new Map() };
  const { unfinished, onTrouble } = tracked;
  const read = (id: string): Operation | undefined => inspect(tracked, id);
  const feed = createOperationFeed({ clock, inspect: read, unfinished: () => unfinished, onTrouble });

  // Reconciles what an earlier process left.
  orReport(() => pruneFinished(tracked), tracked.onTrouble);
  const stopSweeping = clock.every(sweepIntervalMs, () => {
    for (const id of unfinished) orReport(() => void inspect(tracked, id), tracked.onTrouble);
  });

  return {
    /**
     * Checks whether a request may begin, before work that takes long or depends on the state that its own operation has changed.
     * @returns the operation that the same idempotency key began before.
     * @throws DomainError as {@link Operations.start}.
     */
    admit: (request: StartRequest): Operation | undefined => admit(tracked, request),
    /**
     * Records an operation and starts its task; the same idempotency key with the same request returns the earlier one.
     * @throws DomainError: `CONFLICT` while another one has the lock, `VALIDATION_ERROR` for an idempotency key of another request.
     */
    start: (request: StartRequest): Operation => {
      const earlier = admit(tracked, request);
      if (earlier !== undefined) return earlier;
      const traceparent = ports.traceparent?.();
      const spec: OperationSpec = { id: createId(), createdAt: clock.now(), ...request, ...defined({ traceparent }) };
      store.create(spec);
      unfinished.add(spec.id);
      launch(tracked, spec.id, 0);
      feed.changed(spec.id);
      orReport(() => pruneFinished(tracked), tracked.onTrouble);
      return { spec, state: queuedState };
    },
    /** Waits for the end. @throws DomainError `UNAVAILABLE` when the signal fires first, `NOT_FOUND`. */
    wait: (id: string, signal: AbortSignal): Promise<Operation> => wait(feed, id, signal),
    /** Cancels one that has changed nothing yet, see {@link cancelOperation}. */
    cancel: (id: string, signal: AbortSignal): Promise<Operation> => cancelOperation(tracked, feed, id, signal),
    until: feed.until,
    follow: feed.follow,
    get: read,
    list: (status?: OperationStatus): readonly Operation[] =>
      all(tracked).filter(({ state }) => status === undefined || state.status === status),
    log: store.tail,
    dispose: stopSweeping,
  };
}
