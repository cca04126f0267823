import { describeMismatch, notAnAnswer } from "#client/answer.ts";
import { type Sleep, sleep as sleepByClock } from "#client/http.ts";
import { type Answer, beginOperation, type LongOperationName } from "#client/index.ts";
import { streamOperation } from "#client/stream.ts";
import { operations } from "#contract/index.ts";
import type { Input } from "#contract/operation.ts";
import { isUnsuccessful, type OperationDetail, type OperationEntry } from "#contract/operation-entry.ts";
import { exitCode, type Io, oneLine, printJson, screenOf } from "../output/output.ts";
import { bar, startProgress } from "../output/progress.ts";
import { commandFor } from "./connect.ts";
import { Interrupted, isOutOfReach, isPassing, isRefused } from "./errors.ts";
import type { CommandPorts, Connection } from "./ports.ts";

type FollowPorts = Pick<CommandPorts, "io" | "person" | "finish">;

/** How long a service may be unreachable: an update may restart it, a rollback the host. */
const patienceMs = 120_000;
const retryMs = 2_000;
const barColumns = 20;

/** An hour of watching stays below the hourly rate limit of a key. */
function pauseMs(elapsedMs: number): number {
  if (elapsedMs < 10_000) return 500;
  return elapsedMs < 60_000 ? 2_000 : 5_000;
}

const watchCommand = ({ client }: Pick<Connection, "client">, id: string): string =>
  commandFor(client, `operations watch ${id}`);

/** In a pipe each step is a line; a terminal has the bar, and output of several hosts is printed at the end. */
const printsSteps = (io: Io): boolean => !screenOf(io).showsProgress && io.table === undefined;

/** A later service may know other ways to end. */
const isOver = ({ status, finished_at: finishedAt }: OperationEntry): boolean =>
  status === "done" || status === "failed" || finishedAt !== null;

async function askPatiently<T>(
  ask: () => Promise<T>,
  options: {
    readonly signal: AbortSignal;
    readonly sleep: Sleep;
    readonly isWorthwhile: (error: unknown, isFirst: boolean) => boolean;
    readonly onLost: () => void;
  },
): Promise<T> {
  const { signal, sleep, isWorthwhile, onLost } = options;
  let lostAtMs: number | undefined;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (signal.aborted || !isWorthwhile(error, lostAtMs === undefined)) throw error;
      lostAtMs ??= performance.now();
      if (performance.now() - lostAtMs > patienceMs) throw error;
      onLost();
      await sleep(retryMs, signal);
      signal.throwIfAborted();
    }
  }
}

/** While a stream reports changes, the operation is asked for in addition as often as this: a connection may die unnoticed. */
const besideStreamMs = 30_000;

/** Waits for changes of an operation: by its stream where the service has one, else for a while. */
function openChanges({ url, key, openSocket, allow, sleep }: FollowConnection, id: string, signal: AbortSignal) {
  const over = new AbortController();
  const startedAtMs = performance.now();
  const open = () =>
    streamOperation({
      ...{ url, id, key, openSocket, allow },
      signal: AbortSignal.any([signal, over.signal]),
    });
  let stream: ReturnType<typeof open> | undefined = open();
  let coming: Promise<OperationEntry | undefined> | undefined;
  let hasSpoken = false;

  const next = (from: NonNullable<typeof stream>): Promise<OperationEntry | undefined> =>
    from.next().then(
      ({ value }) => value ?? undefined,
      () => undefined,
    );
  return {
    /** The operation after a change; undefined when it must be asked for. */
    async next(): Promise<OperationEntry | undefined> {
      if (stream === undefined) {
        await sleep(pauseMs(performance.now() - startedAtMs), signal);
        signal.throwIfAborted();
        // A service that has had the stream has it again, after an update of itself for instance.
        if (hasSpoken) stream = open();
        return undefined;
      }
      coming ??= next(stream);
      const quiet = new AbortController();
      const silence = sleepByClock(besideStreamMs, AbortSignal.any([signal, quiet.signal])).then(
        () => "quiet" as const,
      );
      const change = await Promise.race([coming, silence]).finally(() => quiet.abort());
      signal.throwIfAborted();
      if (change === "quiet") return undefined;
      coming = undefined;
      hasSpoken ||= change !== undefined;
      if (change === undefined) stream = undefined;
      return change;
    },
    close: (): void => over.abort(),
  };
}

type FollowConnection = Pick<Connection, "client" | "url" | "key" | "openSocket" | "allow" | "sleep">;

/** Shows the progress of an operation until it ends. @throws Interrupted at Ctrl-C: the operation continues. */
export async function followOperation(
  { io, person }: FollowPorts,
  connection: FollowConnection,
  id: string,
): Promise<OperationDetail> {
  const { client, sleep } = connection;
  const signal = person.interrupted();
  const progress = startProgress(io, `operation ${id}`);
  let isLost = false;
  let lastStep = "";
  const ask = async (): Promise<OperationDetail> => {
    const operation = await askPatiently(() => client.getOperation({ params: { id } }), {
      signal,
      sleep,
      isWorthwhile: isPassing,
      onLost() {
        progress.show("lost the connection to the service; the operation continues, asking again");
        if (!isLost && !screenOf(io).showsProgress) io.err("steward: lost the connection, asking again\n");
        isLost = true;
      },
    });
    isLost = false;
    return operation;
  };
  const show = ({ progress: { percent, step } }: OperationEntry): void => {
    progress.show(`${bar(percent, barColumns)} ${percent} % ${step}`);
    if (printsSteps(io) && step !== "" && step !== lastStep) io.err(`${oneLine(step)}\n`);
    lastStep = step;
  };
  let changes: ReturnType<typeof openChanges> | undefined;
  try {
    for (let change: OperationEntry | undefined; ; change = await changes.next()) {
      if (change !== undefined) show(change);
      if (change === undefined || isOver(change)) {
        const operation = await ask();
        show(operation);
        if (isOver(operation)) return operation;
      }
      changes ??= openChanges(connection, id, signal);
    }
  } catch (error) {
    progress.end();
    if (signal.aborted) {
      io.err(`steward: the operation continues; to follow it: ${watchCommand(connection, id)}\n`);
      throw new Interrupted();
    }
    if (isPassing(error)) io.err(`steward: the operation continues by itself: ${watchCommand(connection, id)}\n`);
    throw error;
  } finally {
    changes?.close();
    progress.end();
  }
}

/** Prints why an operation failed, or returns its result. */
export function reportOperation({ io, finish }: FollowPorts, operation: OperationEntry): unknown {
  const { id, kind, error, result, status } = operation;
  if (status === "done") return result;
  finish(exitCode.foundTrouble);
  const how =
    status === "failed" ? `failed: ${oneLine(error?.message ?? "it does not say why")}` : `ended as ${oneLine(status)}`;
  io.err(`steward: ${kind} ${id} ${how}\n`);
  return undefined;
}

export interface LongOptions {
  readonly json?: boolean;
  /** False: do not wait for the end. */
  readonly wait?: boolean;
}

/** Begins an operation exactly once, however often the connection breaks. */
async function begin<K extends LongOperationName>(
  { io, person }: FollowPorts,
  connection: Connection,
  { name, input }: { readonly name: K; readonly input: Partial<Input<(typeof operations)[K]>> },
) {
  const signal = person.interrupted();
  const idempotencyKey = crypto.randomUUID();
  let wasLost = false;
  try {
    return await askPatiently(() => beginOperation(connection, name, input, idempotencyKey), {
      signal,
      sleep: connection.sleep,
      // A service that was never reached has started nothing.
      isWorthwhile: (error, isFirst) => isOutOfReach(error) && !(isFirst && isRefused(error)),
      onLost() {
        wasLost = true;
      },
    });
  } catch (error) {
    if (wasLost || signal.aborted) {
      const command = commandFor(connection.client, "operations");
      io.err(`steward: whether it was started is not known; what runs and has run: ${command}\n`);
    }
    throw signal.aborted ? new Interrupted() : error;
  }
}

/** @throws ApiError when the result is not that of this operation: an entry may carry that of any mutation. */
function requireResult(name: LongOperationName, result: unknown): void {
  const mismatch = describeMismatch(operations[name].response, result);
  if (mismatch !== undefined) throw notAnAnswer(undefined, `result: ${mismatch}`);
}

/**
 * Begins a mutation that outlives its request and follows it to its end. A connection that is lost in between does not begin it twice.
 * @returns its answer; undefined where nobody waits, it failed, or it was printed as JSON.
 */
export async function runLong<K extends LongOperationName>(
  ports: FollowPorts,
  connection: Connection,
  call: { readonly name: K; readonly input: Partial<Input<(typeof operations)[K]>>; readonly options: LongOptions },
): Promise<Answer<K> | undefined> {
  const { io } = ports;
  const { json, wait } = call.options;
  const started = await begin(ports, connection, call);
  if ("operation" in started && wait === false) {
    const { operation } = started;
    if (json) printJson(io, operation);
    else io.out(`${operation.id}\n`);
    io.err(`steward: started; to follow it: ${watchCommand(connection, operation.id)}\n`);
    return undefined;
  }
  const ended = "operation" in started ? await followOperation(ports, connection, started.operation.id) : undefined;
  const result = ended === undefined && "answer" in started ? started.answer : ended && reportOperation(ports, ended);
  if (result !== undefined) requireResult(call.name, result);
  finishBy(ports, result);
  if (!json) return result as Answer<K> | undefined;
  printJson(io, result ?? ended);
  return undefined;
}

/** Exit code 1 where a result says of itself that it is unsuccessful. */
export function finishBy({ finish }: Pick<FollowPorts, "finish">, result: unknown): void {
  if (isUnsuccessful(result)) finish(exitCode.foundTrouble);
}
