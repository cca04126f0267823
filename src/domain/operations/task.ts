import type { OperationError } from "#contract/operation-entry.ts";
import { DomainError, unavailable } from "#domain/common/error.ts";
import type {
  OperationState,
  OperationStore,
  ProcessIdentity,
  StoredOperation,
  TaskLauncher,
} from "#domain/ports/operations.ts";
import type { Clock } from "#kernel/clock.ts";
import { orReport } from "#kernel/errors.ts";
import {
  cancelledReason,
  failedState,
  isFinished,
  kindOf,
  maxAttempts,
  type OperationKinds,
  stateOf,
} from "./state.ts";

export interface VerbContext {
  readonly id: string;
  readonly progress: {
    /**
     * @param percent 0 to 100.
     * @param endsAt when the step is over unless something comes up, in epoch milliseconds.
     */
    readonly step: (percent: number, what: string, endsAt?: number) => void;
    readonly line: (text: string) => void;
  };
  /** What the caller has agreed to, which is what the verb does or nothing; undefined where there was no plan. */
  readonly planned: readonly string[] | undefined;
  /** What an earlier attempt saved last; null in the first one. */
  readonly phase: unknown;
  /** Saves where a later attempt continues. @throws Error when it cannot be written. */
  readonly savePhase: (phase: unknown) => void;
  /** From here on it cannot be cancelled. @throws DomainError when that has been requested before. */
  readonly pointOfNoReturn: () => void;
  readonly signal: AbortSignal;
}

/** Runs an operation. @returns the answer to the mutation, JSON. @throws DomainError for callers; the operation fails then. */
export type Verb = (input: unknown, context: VerbContext) => Promise<unknown>;

/** `left`: there was nothing to do, or another process does it. */
export type TaskOutcome = "done" | "failed" | "left";

const reportIntervalMs = 250;
/** Attempts to write the end of an operation to a full disk. */
const endTries = 300;
const betweenTriesMs = 1_000;

const errorOf = (error: unknown, kind: string, isStopped: boolean): OperationError => {
  const known = error instanceof DomainError ? error : unavailable(`do ${kind}`, error);
  if (known !== undefined) {
    const { code, message, details } = known;
    return { code, message, ...(details !== undefined && { details }) };
  }
  if (isStopped)
    return { code: "UNAVAILABLE", message: `cannot finish ${kind}: it was stopped`, details: { reason: "stopped" } };
  return { code: "INTERNAL_ERROR", message: `cannot finish ${kind}: internal error (the log of the operation has it)` };
};

const cancelCheckMs = 500;

const cancelledError = (kind: string): DomainError =>
  new DomainError("CONFLICT", `cannot finish ${kind}: it was cancelled before anything was changed`, {
    reason: cancelledReason,
    retryable: true,
  });

/** Heeds requests to cancel an operation until it changes something. */
function createCancellation({ id, store, clock, onTrouble }: TaskPorts, report: Report, kind: string) {
  const cancelled = new AbortController();
  const isOpen = (): boolean => report.state().cancel === "open";
  const check = (): void => {
    if (store.isCancelRequested(id) && !cancelled.signal.aborted) cancelled.abort(cancelledError(kind));
  };
  const stop = clock.every(cancelCheckMs, () => {
    if (isOpen()) orReport(check, onTrouble);
  });
  return {
    signal: cancelled.signal,
    /** At its start: in an earlier attempt it may have got beyond the point. */
    begin: (): void => {
      if (!isOpen()) return;
      check();
      cancelled.signal.throwIfAborted();
    },
    // A request is written before its state is read, and the state here before requests are: one of both is seen.
    pointOfNoReturn: (): void => {
      cancelled.signal.throwIfAborted();
      if (!isOpen()) return;
      report.setCancel("closing");
      check();
      cancelled.signal.throwIfAborted();
      report.setCancel("closed");
    },
    stop,
  };
}

const stackText = (error: unknown): string => (error instanceof Error ? (error.stack ?? error.message) : String(error));

/** Fails here for values without JSON, not when the end is written. */
const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value ?? null));

type Store = Pick<OperationStore, "read" | "claim" | "write" | "appendLog" | "isCancelRequested">;

interface TaskPorts {
  readonly id: string;
  readonly store: Store;
  readonly launcher: Pick<TaskLauncher, "isAlive">;
  readonly kinds: OperationKinds;
  readonly verbs: Readonly<Record<string, Verb>>;
  readonly clock: Clock;
  readonly self: ProcessIdentity;
  readonly signal: AbortSignal;
  /** Whether the host shuts down: then the operation continues after the boot. */
  readonly isHostStopping?: () => Promise<boolean>;
  readonly onTrouble: (error: unknown) => void;
}

type Report = ReturnType<typeof createReport>;

function createReport({ id, store, clock, onTrouble }: TaskPorts, started: OperationState) {
  let state = started;
  let writtenAtMs = -Infinity;
  let isWaiting = false;
  let isDirty = false;
  const over = new AbortController();

  const write = (): void => {
    store.write(id, state);
    writtenAtMs = clock.monotonicMs();
    isDirty = false;
  };
  /** Losing progress on a full disk is not a reason to stop. */
  const tryToWrite = (): void => orReport(write, onTrouble);
  const report = (): void => {
    isDirty = true;
    const restMs = writtenAtMs + reportIntervalMs - clock.monotonicMs();
    if (restMs <= 0) tryToWrite();
    if (isWaiting || !isDirty || restMs <= 0) return;
    isWaiting = true;
    void clock.sleep(restMs, over.signal).then(() => {
      isWaiting = false;
      if (isDirty && !over.signal.aborted) tryToWrite();
    });
  };

  return {
    state: () => state,
    line: (text: string): void => {
      orReport(() => {
        for (const line of text.split("\n")) store.appendLog(id, line);
      }, onTrouble);
    },
    step: (percent: number, what: string, endsAt?: number): void => {
      const bounded = Math.max(0, Math.min(100, Math.trunc(percent) || 0));
      state = { ...state, percent: bounded, step: what, stepEndsAt: endsAt ?? null };
      report();
    },
    savePhase: (phase: unknown): void => {
      state = { ...state, phase };
      write();
    },
    /** @throws Error when it cannot be written. */
    setCancel: (cancel: NonNullable<OperationState["cancel"]>): void => {
      state = { ...state, cancel };
      write();
    },
    begin: write,
    /** Stops writing: the next attempt continues from what is written. */
    leave: () => over.abort(),
    /** Repeats writing the end: without it nothing is known of the operation. */
    end: async (ended: OperationState): Promise<void> => {
      over.abort();
      state = ended;
      for (let tries = 1; ; tries += 1) {
        try {
          return write();
        } catch (error) {
          if (tries === 1) onTrouble(error);
          if (tries >= endTries) throw error;
        }
        await clock.sleep(betweenTriesMs);
      }
    },
  };
}

/** Claims the operation for this process; undefined when it must not run here. */
function claimOperation({ id, store, launcher, kinds, self }: TaskPorts): StoredOperation | undefined {
  const found = store.read(id);
  if (found === undefined) throw new DomainError("NOT_FOUND", `cannot find operation ${id}`, { id });
  if (isFinished(stateOf(found).status)) return undefined;
  const { claim } = found;
  if (claim !== undefined) {
    if (launcher.isAlive(claim.process) || claim.number >= maxAttempts) return undefined;
    if (!kindOf(kinds, found.spec.kind).canGoOn || found.state === undefined) return undefined;
  }
  if (!store.claim(id, (claim?.number ?? 0) + 1, self)) return undefined;
  // Read again: the former process may have recorded the end before it was found gone.
  const taken = store.read(id);
  return taken === undefined || isFinished(stateOf(taken).status) ? undefined : taken;
}

async function goesOnLater({ spec, claim }: StoredOperation, ports: TaskPorts): Promise<boolean> {
  const { kinds, signal, isHostStopping, onTrouble } = ports;
  if (!signal.aborted || !kindOf(kinds, spec.kind).canGoOn || (claim?.number ?? 0) >= maxAttempts) return false;
  try {
    return (await isHostStopping?.()) ?? false;
  } catch (error) {
    onTrouble(error);
    return false;
  }
}

export async function runTask(ports: TaskPorts): Promise<TaskOutcome> {
  const { verbs, clock, signal } = ports;
  const taken = claimOperation(ports);
  if (taken === undefined) return "left";
  const { spec } = taken;
  const { kind } = spec;
  const before = stateOf(taken);
  const report = createReport(ports, {
    ...before,
    status: "running",
    startedAt: before.startedAt ?? clock.now(),
    cancel: before.cancel === "closed" || before.phase !== null ? (before.cancel ?? "closed") : "open",
  });
  const cancellation = createCancellation(ports, report, kind);
  const ended = (error: OperationError): OperationState => failedState(report.state(), error, clock.now());
  try {
    report.begin();
    cancellation.begin();
    const verb = Object.hasOwn(verbs, kind) ? verbs[kind] : undefined;
    if (verb === undefined) throw new DomainError("UNAVAILABLE", `cannot do ${kind}: this version does not know it`);
    const { step, line, savePhase } = report;
    const context = {
      id: spec.id,
      progress: { step, line },
      planned: spec.planned,
      phase: before.phase,
      savePhase,
      pointOfNoReturn: cancellation.pointOfNoReturn,
      signal: AbortSignal.any([signal, cancellation.signal]),
    };
    const result = asJson(await verb(spec.input, context));
    const finishedAt = clock.now();
    await report.end({ ...report.state(), status: "done", percent: 100, finishedAt, result, error: null });
    return "done";
  } catch (error) {
    if (isFinished(report.state().status)) throw error;
    if (cancellation.signal.aborted) {
      report.line("cancelled");
      await report.end(ended(errorOf(cancellation.signal.reason, kind, false)));
      return "failed";
    }
    if (!(error instanceof DomainError)) report.line(stackText(error));
    if (!(error instanceof DomainError) && (await goesOnLater(taken, ports))) {
      report.line("the host stops: it continues after the boot");
      report.leave();
      return "left";
    }
    await report.end(ended(errorOf(error, kind, signal.aborted)));
    return "failed";
  } finally {
    cancellation.stop();
  }
}
