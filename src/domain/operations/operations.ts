import type { OperationError, OperationStatus } from "#contract/operation-entry.ts";
import { DomainError, invalid } from "#domain/common/error.ts";
import { findUnavailable } from "#domain/common/host-unavailable.ts";
import type { Clock, Dispose } from "#kernel/clock.ts";
import type { OperationKinds } from "./kind.ts";
import { kindOf, maxAttempts } from "./kind.ts";
import type { OperationSpec, OperationState, OperationStore, ProcessIdentity, TaskLauncher } from "./ports.ts";
import { canonicalJson, failedState, isFinished, queuedState, stateOf } from "./state.ts";

/** An operation as it stands. */
export interface Operation {
  readonly spec: OperationSpec;
  readonly state: OperationState;
}

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

/** How often progress is looked for while somebody waits, and the processes of unfinished ones while nobody does. */
const lookIntervalMs = 200;
const sweepIntervalMs = 5_000;
/** How old a request may be that is begun late, and how long a task may take from its launch to its claim. */
const beginWithinMs = 60_000;
const keptOperations = 200;
const keptForMs = 30 * 24 * 60 * 60 * 1000;
const idempotentForMs = 24 * 60 * 60 * 1000;

const notBegun = "not_begun";

function neverBegun(kind: string, why: string, cause?: unknown): OperationError {
  const found = findUnavailable(cause);
  const reason = found === undefined ? why : `${why}: ${found.message}`;
  return {
    code: "UNAVAILABLE",
    message: `cannot do ${kind}: ${reason}; nothing was done`,
    details: { retryable: true, ...found?.details, reason: notBegun },
  };
}

const interrupted = (kind: string, attempts: number): OperationError => ({
  code: "INTERNAL_ERROR",
  message: `cannot finish ${kind}: its process was ended from outside (its log tells how far it came)`,
  details: { reason: "interrupted", attempts },
});

const damaged = (kind: string): OperationError => ({
  code: "INTERNAL_ERROR",
  message: `cannot tell how ${kind} ended: its record is damaged`,
  details: { reason: "damaged" },
});

/**
 * Mutations that outlive the service. Each is written down, run by a task in a process of its own, and looked after from its
 * record: a task that is gone is noticed by whoever looks next, and begun again where its kind can go on.
 */
export function createOperations(ports: {
  readonly store: OperationStore;
  readonly launcher: TaskLauncher;
  readonly clock: Clock;
  /** Makes an id that sorts by time. */
  readonly createId: () => string;
  readonly kinds: OperationKinds;
  /** This process. */
  readonly self: ProcessIdentity;
  /** The span of the request that is being answered; undefined where nothing is traced. */
  readonly traceparent?: () => string | undefined;
  /** One that was under way came to its end; not told of those that had ended before this process began. */
  readonly onEnded?: (operation: Operation) => void;
  readonly onTrouble: (error: unknown) => void;
}): Operations {
  const { store, launcher, clock, createId, kinds, self, onTrouble } = ports;
  /** Those that may still run. */
  const unfinished = new Set<string>();
  /** When each was last launched by this process, which claim it had then, and why that failed. */
  const launches = new Map<
    string,
    { readonly claim: number; readonly atMs: number; readonly failed?: { readonly cause: unknown } }
  >();
  /** Why those failed whose claim this process holds: kept until it is written. */
  const endings = new Map<string, OperationError>();

  const launch = (id: string, claim: number): void => {
    const atMs = clock.monotonicMs();
    launches.set(id, { claim, atMs });
    launcher.launch(id).catch((error: unknown) => {
      onTrouble(error);
      // That an earlier one has come to its end says nothing of a later one.
      if (launches.get(id)?.claim === claim) launches.set(id, { claim, atMs, failed: { cause: error } });
    });
  };

  /**
   * Writes the end of one that nobody works on. The claim is what keeps a late task from beginning meanwhile; once it is ours,
   * the end is true, and is written again until the disk has taken it.
   */
  const fail = (id: string, claim: number, error: OperationError): Operation | undefined => {
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
  };

  /** What is to be done about one that nobody works on. */
  const settle = (id: string): Operation | undefined => {
    // Read again: the end may have been written between the look at the record and the look at its process.
    const stored = store.read(id);
    if (stored === undefined) return undefined;
    const { spec, claim } = stored;
    const state = stateOf(stored);
    if (isFinished(state.status)) return { spec, state };
    const number = claim?.number ?? 0;
    const ending = endings.get(id);
    if (ending !== undefined) return fail(id, number, ending);
    const launched = launches.get(id);
    if (launched?.claim === number) {
      const { atMs, failed } = launched;
      if (failed === undefined && clock.monotonicMs() - atMs < beginWithinMs) return { spec, state };
      const why = failed === undefined ? "its process did not begin" : "its process could not be started";
      const end = number === 0 ? neverBegun(spec.kind, why, failed?.cause) : interrupted(spec.kind, number);
      return fail(id, number, end);
    }
    if (number === 0) {
      const ageMs = clock.now() - spec.createdAt;
      // A clock that was set back says nothing about its age.
      if (ageMs < 0 || ageMs >= beginWithinMs) return fail(id, 0, neverBegun(spec.kind, "the service was not there"));
    } else if (stored.state === undefined) {
      return fail(id, number, damaged(spec.kind));
    } else if (!kindOf(kinds, spec.kind).canGoOn || number >= maxAttempts) {
      return fail(id, number, interrupted(spec.kind, number));
    }
    launch(id, number);
    return { spec, state };
  };

  const look = (id: string): Operation | undefined => {
    const stored = store.read(id);
    if (stored === undefined) {
      unfinished.delete(id);
      return undefined;
    }
    const state = stateOf(stored);
    if (isFinished(state.status)) {
      const isNews = unfinished.delete(id);
      launches.delete(id);
      if (isNews) ports.onEnded?.({ spec: stored.spec, state });
      return { spec: stored.spec, state };
    }
    unfinished.add(id);
    const { claim } = stored;
    const isAtWork = claim !== undefined && !endings.has(id) && launcher.isAlive(claim.process);
    return isAtWork ? { spec: stored.spec, state } : settle(id);
  };

  const all = (): readonly Operation[] => store.ids().flatMap((id) => look(id) ?? []);

  const prune = (): void => {
    const oldest = clock.now() - keptForMs;
    const finished = all().filter(({ state }) => isFinished(state.status));
    for (const [at, { spec }] of finished.entries()) {
      if (at >= keptOperations || spec.createdAt < oldest) store.remove(spec.id);
    }
  };

  const orTrouble = (work: () => void): void => {
    try {
      work();
    } catch (error) {
      onTrouble(error);
    }
  };
  const sweep = (): void => {
    for (const id of unfinished) orTrouble(() => void look(id));
  };

  /** The operation that the same idempotency key began before. */
  const earlier = (request: StartRequest): Operation | undefined => {
    const { keyId, idempotencyKey, kind, input } = request;
    if (idempotencyKey === null) return undefined;
    const since = clock.now() - idempotentForMs;
    const found = all().find(
      ({ spec, state }) =>
        spec.idempotencyKey === idempotencyKey &&
        spec.keyId === keyId &&
        spec.createdAt > since &&
        // What never began may be asked for again.
        state.error?.details?.["reason"] !== notBegun,
    );
    if (found === undefined) return undefined;
    if (found.spec.kind !== kind || canonicalJson(found.spec.input) !== canonicalJson(input))
      throw invalid("Idempotency-Key", "Belongs to another request");
    return found;
  };

  const refuseBeside = (kind: string): void => {
    const { lock } = kindOf(kinds, kind);
    for (const id of [...unfinished]) {
      const other = look(id);
      if (other === undefined || isFinished(other.state.status) || kindOf(kinds, other.spec.kind).lock !== lock)
        continue;
      const message = `cannot do ${kind}: ${other.spec.kind} is running (try again when it is done)`;
      throw new DomainError("CONFLICT", message, { operation_id: id, retryable: true });
    }
  };

  // What an earlier process of the service left is taken up before anything new is.
  orTrouble(prune);
  const stopSweeping = clock.every(sweepIntervalMs, sweep);

  const admit = (request: StartRequest): Operation | undefined => {
    const before = earlier(request);
    if (before === undefined) refuseBeside(request.kind);
    return before;
  };

  return {
    admit,
    start(request) {
      const before = admit(request);
      if (before !== undefined) return before;
      const traceparent = ports.traceparent?.();
      const spec: OperationSpec = {
        id: createId(),
        createdAt: clock.now(),
        ...request,
        ...(traceparent !== undefined && { traceparent }),
      };
      store.create(spec);
      unfinished.add(spec.id);
      launch(spec.id, 0);
      orTrouble(prune);
      return { spec, state: queuedState };
    },
    async wait(id, signal) {
      for (;;) {
        const operation = look(id);
        if (operation === undefined) throw new DomainError("NOT_FOUND", `cannot find operation ${id}`, { id });
        if (isFinished(operation.state.status)) return operation;
        if (signal.aborted) {
          const message = `cannot wait for ${operation.spec.kind} any longer: it goes on as operation ${id}`;
          throw new DomainError("UNAVAILABLE", message, { operation_id: id, retryable: true });
        }
        await clock.sleep(lookIntervalMs, signal);
      }
    },
    get: look,
    list: (status) => (status === undefined ? all() : all().filter(({ state }) => state.status === status)),
    log: store.tail,
    dispose: stopSweeping,
  };
}
