import type { OperationStatus } from "#contract/operation-entry.ts";
import { DomainError, invalid } from "#domain/common/error.ts";
import type { OperationSpec } from "#domain/ports/operations.ts";
import type { Dispose } from "#kernel/clock.ts";
import { inspect, launch, notBegun, type Tracked } from "./reconcile.ts";
import { canonicalJson, isFinished, kindOf, type Operation, queuedState } from "./state.ts";

export interface StartRequest {
  readonly kind: string;
  readonly input: unknown;
  readonly keyId: string | null;
  readonly idempotencyKey: string | null;
}

export interface Operations {
  /**
   * Whether a request may begin now: to be asked before what takes long, or would be refused for what its own operation has
   * changed by now.
   * @returns the operation that the same idempotency key began before, whatever became of it.
   * @throws DomainError as {@link Operations.start} does.
   */
  readonly admit: (request: StartRequest) => Operation | undefined;
  /**
   * Writes an operation down and starts its task. The same idempotency key with the same request gives the operation that it
   * began before.
   * @throws DomainError: `CONFLICT` while another one with the same lock runs, `VALIDATION_ERROR` for an idempotency key that
   * belongs to another request.
   */
  readonly start: (request: StartRequest) => Operation;
  /** Waits until it is done or has failed. @throws DomainError `UNAVAILABLE` when the signal fires first, `NOT_FOUND`. */
  readonly wait: (id: string, signal: AbortSignal) => Promise<Operation>;
  readonly get: (id: string) => Operation | undefined;
  /** Newest first. */
  readonly list: (status?: OperationStatus) => readonly Operation[];
  readonly log: (id: string, lines: number) => readonly string[];
  readonly dispose: Dispose;
}

/** How often a waiting caller's operation is inspected, and unfinished ones for which nobody waits. */
const waitIntervalMs = 200;
const sweepIntervalMs = 5_000;
const keptOperations = 200;
const keptForMs = 30 * 24 * 60 * 60 * 1000;
const idempotentForMs = 24 * 60 * 60 * 1000;

/** Runs work that nobody waits for. */
function orTrouble({ onTrouble }: Tracked, work: () => void): void {
  try {
    work();
  } catch (error) {
    onTrouble(error);
  }
}

const all = (tracked: Tracked): readonly Operation[] => tracked.store.ids().flatMap((id) => inspect(tracked, id) ?? []);

function prune(tracked: Tracked): void {
  const { clock, store } = tracked;
  const oldest = clock.now() - keptForMs;
  const finished = all(tracked).filter(({ state }) => isFinished(state.status));
  for (const [at, { spec }] of finished.entries()) {
    if (at >= keptOperations || spec.createdAt < oldest) store.remove(spec.id);
  }
}

/** The operation that the same idempotency key began before. */
function findEarlier(tracked: Tracked, request: StartRequest): Operation | undefined {
  const { keyId, idempotencyKey, kind, input } = request;
  if (idempotencyKey === null) return undefined;
  const since = tracked.clock.now() - idempotentForMs;
  const found = all(tracked).find(
    ({ spec, state }) =>
      spec.idempotencyKey === idempotencyKey &&
      spec.keyId === keyId &&
      spec.createdAt > since &&
      state.error?.details?.["reason"] !== notBegun,
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

async function wait(tracked: Tracked, id: string, signal: AbortSignal): Promise<Operation> {
  for (;;) {
    const operation = inspect(tracked, id);
    if (operation === undefined) throw new DomainError("NOT_FOUND", `cannot find operation ${id}`, { id });
    if (isFinished(operation.state.status)) return operation;
    if (signal.aborted) {
      const message = `cannot wait for ${operation.spec.kind} any longer: it goes on as operation ${id}`;
      throw new DomainError("UNAVAILABLE", message, { operation_id: id, retryable: true });
    }
    await tracked.clock.sleep(waitIntervalMs, signal);
  }
}

/**
 * Mutations that outlive the service. Each is written down, run by a task in a process of its own, and followed by its
 * record: a task that is gone is noticed at the next inspection, and begun again where its kind can go on.
 */
export function createOperations(
  ports: Omit<Tracked, "unfinished" | "launches" | "endings"> & {
    /** Makes an id that sorts by time. */
    readonly createId: () => string;
    /** The span of the request that is being answered; undefined where nothing is traced. */
    readonly traceparent?: () => string | undefined;
  },
): Operations {
  const { store, clock, createId } = ports;
  const tracked: Tracked = { ...ports, unfinished: new Set(), launches: new Map(), endings: new Map() };
  const { unfinished } = tracked;

  // What an earlier process of the service left is reconciled before anything new begins.
  orTrouble(tracked, () => prune(tracked));
  const stopSweeping = clock.every(sweepIntervalMs, () => {
    for (const id of unfinished) orTrouble(tracked, () => void inspect(tracked, id));
  });

  return {
    admit: (request) => admit(tracked, request),
    start(request) {
      const earlier = admit(tracked, request);
      if (earlier !== undefined) return earlier;
      const traceparent = ports.traceparent?.();
      const spec: OperationSpec = {
        id: createId(),
        createdAt: clock.now(),
        ...request,
        ...(traceparent !== undefined && { traceparent }),
      };
      store.create(spec);
      unfinished.add(spec.id);
      launch(tracked, spec.id, 0);
      orTrouble(tracked, () => prune(tracked));
      return { spec, state: queuedState };
    },
    wait: (id, signal) => wait(tracked, id, signal),
    get: (id) => inspect(tracked, id),
    list: (status) => all(tracked).filter(({ state }) => status === undefined || state.status === status),
    log: store.tail,
    dispose: stopSweeping,
  };
}
