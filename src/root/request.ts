import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { openOperationStore, openSharedOperationStore } from "#adapters/operations/index.ts";
import { isAlive } from "#adapters/operations/process.ts";
import { maxConcurrentChecks } from "#contract/limits.ts";
import { logRootRequest } from "#domain/audit/entry.ts";
import { HostUnavailable } from "#domain/common/host-unavailable.ts";
import type { FixFound, OpenFix } from "#domain/health/fix.ts";
import { serviceSide } from "#domain/operations/two-sided.ts";
import type { AuditLog } from "#domain/ports/audit.ts";
import type { OperationStore, TaskLauncher } from "#domain/ports/operations.ts";
import { createSlots, untilAborted } from "#kernel/async.ts";
import type { Clock } from "#kernel/clock.ts";
import { errnoCode, toError } from "#kernel/errors.ts";
import { isRecord } from "#kernel/values.ts";
import { places, safeModeName } from "./places.ts";
import {
  fromWire,
  isWireError,
  maxAnswerBytes,
  proceed,
  type RootRequest,
  readMessages,
  sendMessage,
} from "./protocol.ts";
import { isRootTask, operationTask, type RootTask, type RootTaskInput, rootTasks, rootTaskTimeoutMs } from "./tasks.ts";
import type { RootTaskOutput } from "./work.ts";

/** Requests one task from root. @throws what was thrown on root's side; HostUnavailable when there is no answer. */
export type RequestRoot = <T extends RootTask>(
  task: T,
  input: RootTaskInput<T>,
  signal: AbortSignal,
) => Promise<RootTaskOutput<T>>;

export interface RootSide {
  readonly store: OperationStore;
  readonly launcher: TaskLauncher;
  readonly request: RequestRoot;
  readonly openFix: (checkId: string, signal: AbortSignal) => Promise<OpenFix>;
}

/**
 * How many requests are sent at a time, of those that only read and of those that change something: what reads may hang, and is no
 * obstacle to a change. The socket admits more, so that processes that are just ending are no obstacle.
 */
const requestsAtOnce = 4;
/** Of programs, which changes wait for: their hooks and plans. Checks that are plugins leave some of them. */
const runsAtOnce = maxConcurrentChecks + 2;
/** Of fixes, which wait for hooks and so for other requests. */
const fixesAtOnce = 6;
/** How long root may take to begin, and to end what was cancelled. */
const graceMs = 30_000;

interface Exchange {
  /** What root sends next. @throws what root's side has thrown, or why there is no answer. */
  readonly next: () => Promise<Readonly<Record<string, unknown>>>;
  readonly proceed: () => void;
  readonly close: () => Promise<void>;
}

/** Root was not reached, or its process ended without an answer: nothing is known of the request. */
class RootUnanswered extends HostUnavailable {
  constructor(task: string, error: unknown) {
    const code = errnoCode(error);
    const isMissing = code === "ENOENT" || code === "ECONNREFUSED";
    const reason = isMissing
      ? `nothing listens on ${places.socket} (systemctl start steward-task.socket)`
      : code === "EACCES"
        ? `${places.socket} does not belong to this user`
        : toError(error).name === "TimeoutError"
          ? "no answer in time"
          : "its process ended without an answer (journalctl -u steward-task.socket -u 'steward-task@*' says why)";
    super(`cannot request ${task} from root: ${reason}`, { missing: "privileged side", retryable: true });
  }
}

/** Reads what is for nobody any more: only when all is read does the end show. */
async function readToEnd(messages: AsyncGenerator<unknown, undefined>): Promise<void> {
  try {
    let isOver = false;
    while (!isOver) isOver = (await messages.next()).done === true;
  } catch {}
}

function openExchange(path: string, request: RootRequest): Exchange {
  const { task } = request;
  const socket = connect({ path });
  // Seen by anyone who reads.
  socket.on("error", () => undefined);
  const isClosed = new Promise<void>((resolve) => void socket.once("close", () => resolve()));
  const messages = readMessages(socket, maxAnswerBytes);
  sendMessage(socket, request);
  return {
    async next() {
      const { value } = await messages.next().catch((error: unknown) => {
        throw new RootUnanswered(task, error);
      });
      if (!isRecord(value)) throw new RootUnanswered(task, undefined);
      const { error } = value;
      if (isWireError(error)) throw fromWire(error);
      return value;
    },
    proceed: () => sendMessage(socket, proceed),
    /**
     * Waits for the end of root's process: two of them are not to do the same at the same time. That of a read may hang, and so many
     * are not to hang that none is left for a change: it is waited for as long as it takes.
     */
    async close() {
      socket.end();
      const late = effectOf(task) === "read" ? undefined : setTimeout(() => socket.destroy(), graceMs);
      await readToEnd(messages);
      await isClosed;
      clearTimeout(late);
    },
  };
}

/** Waits for root as long as the caller does; then the connection is closed, by which root ends the task. */
async function during<T>(signal: AbortSignal, { close }: Exchange, work: () => Promise<T>): Promise<T> {
  const cancel = (): void => void close();
  signal.addEventListener("abort", cancel, { once: true });
  try {
    signal.throwIfAborted();
    return await work();
  } catch (error) {
    // What root says of its end is not why it was ended.
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener("abort", cancel);
  }
}

const effectOf = (task: string) => (isRootTask(task) ? rootTasks[task].effect : "write");

const withLimit = (signal: AbortSignal, task: RootTask): AbortSignal =>
  AbortSignal.any([signal, AbortSignal.timeout(rootTaskTimeoutMs(task) + graceMs)]);

const reporting =
  (onUnanswered: (() => void) | undefined) =>
  (error: unknown): never => {
    if (error instanceof RootUnanswered) onUnanswered?.();
    throw error;
  };

type OnWrite = (id: string, task: string) => () => void;

export function createRootRequests({
  path = places.socket,
  onWrite = () => () => undefined,
}: {
  readonly path?: string;
  readonly onWrite?: OnWrite;
}): Pick<RootSide, "request" | "openFix"> & { readonly runOperation: (id: string) => Promise<void> } {
  const readInTurn = createSlots(requestsAtOnce);
  const runInTurn = createSlots(runsAtOnce);
  const changeInTurn = createSlots(requestsAtOnce);
  const fixInTurn = createSlots(fixesAtOnce);
  const newId = (): string => `request-${randomBytes(16).toString("hex")}`;

  const ask = async <T extends RootTask>(
    task: T,
    input: RootTaskInput<T>,
    signal: AbortSignal,
  ): Promise<RootTaskOutput<T>> => {
    signal.throwIfAborted();
    const id = newId();
    const onUnanswered = effectOf(task) === "write" ? onWrite(id, task) : undefined;
    const exchange = openExchange(path, { id, task, input });
    try {
      const answer = during(signal, exchange, exchange.next);
      return (await answer.catch(reporting(onUnanswered)))["output"] as RootTaskOutput<T>;
    } finally {
      await exchange.close();
    }
  };

  const request: RequestRoot = (task, input, signal) => {
    const effect = effectOf(task);
    if (effect !== "read") {
      const inTurn = effect === "run" ? runInTurn : changeInTurn;
      return inTurn(() => ask(task, input, withLimit(signal, task)), signal);
    }
    const limited = withLimit(signal, task);
    return untilAborted(
      readInTurn(() => ask(task, input, limited), limited),
      limited,
    ).catch((error: unknown) => {
      throw limited.aborted && !signal.aborted ? new RootUnanswered(task, error) : error;
    });
  };

  const openFix = async (checkId: string, signal: AbortSignal): Promise<OpenFix> => {
    const opened = Promise.withResolvers<OpenFix>();
    // The slot is held until it is closed.
    const whole = fixInTurn(async () => {
      signal.throwIfAborted();
      const id = newId();
      const over = Promise.withResolvers<void>();
      const exchange = openExchange(path, { id, task: "fix", input: { check_id: checkId } });
      const close = async (): Promise<void> => {
        await exchange.close();
        over.resolve();
      };
      try {
        const { progress } = await during(withLimit(signal, "checks.run"), exchange, exchange.next);
        opened.resolve({
          ...(progress as FixFound),
          async proceed(during2) {
            const onUnanswered = onWrite(id, "fix");
            const { output } = await during(withLimit(during2, "fix"), exchange, () => {
              exchange.proceed();
              return exchange.next();
            }).catch(reporting(onUnanswered));
            return output as RootTaskOutput<"fix">;
          },
          close,
        });
      } catch (error) {
        await close();
        throw error;
      }
      await over.promise;
    }, signal);
    whole.catch(opened.reject);
    return opened.promise;
  };

  return {
    request,
    openFix,
    /** Resolves when the process of the operation has ended. The end of this one does not end it. */
    async runOperation(id) {
      const exchange = openExchange(path, { id, task: operationTask, input: {} });
      try {
        await exchange.next();
      } finally {
        await exchange.close();
      }
    },
  };
}

export function createRootSide(ports: {
  readonly clock: Pick<Clock, "now">;
  readonly isSafeMode: boolean;
  readonly audit: Pick<AuditLog, "record">;
}): RootSide {
  const { clock, isSafeMode, audit: log } = ports;
  // The directory comes and goes with the service.
  if (isSafeMode) writeFileSync(join(places.runDir, safeModeName), "", { mode: 0o600 });
  const own = openOperationStore({ stateDir: places.stateDir });
  const { request, openFix, runOperation } = createRootRequests({
    onWrite: (id, task) => logRootRequest({ log, clock }, { id, request: task }),
  });
  return {
    store: serviceSide(own, openSharedOperationStore({ stateDir: places.tasksDir })),
    launcher: {
      async launch(id) {
        const about = { id, request: own.read(id)?.spec.kind ?? "", operationId: id };
        const onNotStarted = logRootRequest({ log, clock }, about);
        try {
          await runOperation(id);
        } catch (error) {
          onNotStarted();
          throw error;
        }
      },
      isAlive,
    },
    request,
    openFix,
  };
}
