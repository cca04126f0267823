import { Worker } from "node:worker_threads";
import { type TraceStore, TracesUnavailable } from "#domain/ports/traces.ts";
import { errorMessage } from "#kernel/errors.ts";
import { createRoom, type ReceivedBody, TracesRefused } from "#transports/otlp/receiver.ts";
import type { TraceAnswers, TraceJob, TraceReply, TraceRequest, TraceThreadSetup } from "./protocol.ts";

/** Heap of the thread: what the largest body may take, several times. */
const maxHeapMb = 256;
/** What is new in it: less is slower, and more is memory that is not given back. */
const maxYoungHeapMb = 16;
/** Bytes of bodies that wait for the thread. */
const maxWaitingBytes = 32 * 1024 * 1024;
/** Bodies, and questions of the service itself, that wait for the thread. */
const maxWaitingBodies = 800;
const maxWaiting = 1000;
const tooMany = "too many traces at the same time";
/** A thread that was asked nothing for so long is ended: that is what gives its memory back. */
const idleMs = 60_000;

interface Waiting {
  readonly resolve: (answer: TraceAnswers[TraceJob["kind"]]) => void;
  readonly reject: (error: Error) => void;
}

interface TraceThreadOptions extends TraceThreadSetup {
  /** Something is wrong with the file, or the thread has ended by itself. */
  readonly onTrouble: (message: string, aside?: string) => void;
  readonly idleMs?: number;
}

function startWorker(
  workerData: TraceThreadSetup,
  onReply: (reply: TraceReply) => void,
  onExit: (reason: string) => void,
): Worker {
  const worker = new Worker(new URL("./thread.ts", import.meta.url), {
    workerData,
    name: "traces",
    resourceLimits: { maxOldGenerationSizeMb: maxHeapMb, maxYoungGenerationSizeMb: maxYoungHeapMb },
  });
  let reason = "it ended";
  worker.on("message", onReply);
  worker.on("error", (error) => {
    reason = errorMessage(error);
  });
  worker.once("exit", () => onExit(reason));
  return worker;
}

/** The thread, started with the first job and ended when there was none for a while. */
function createTraceThread(options: TraceThreadOptions) {
  const { onTrouble, idleMs: idleAfterMs = idleMs, stateDir, keepBytes, forwards } = options;
  const waiting = new Map<number, Waiting>();
  let nextId = 0;
  let worker: Worker | undefined;
  let idle: NodeJS.Timeout | undefined;
  let closing: Promise<void> | undefined;
  let isClosed = false;

  const settle = (id: number): Waiting | undefined => {
    const found = waiting.get(id);
    waiting.delete(id);
    // A job that waits keeps the process running, an idle thread does not.
    if (waiting.size === 0 && closing === undefined) worker?.unref();
    if (waiting.size === 0 && !isClosed) {
      idle = setTimeout(() => void rest(), idleAfterMs);
      idle.unref();
    }
    return found;
  };

  const onReply = (reply: TraceReply): void => {
    if (reply.kind === "trouble") {
      onTrouble(reply.message, reply.aside);
      return;
    }
    const asked = settle(reply.id);
    if (reply.kind === "answer") asked?.resolve(reply.answer);
    else if (reply.kind === "refused") asked?.reject(new TracesRefused(reply.refusal, reply.message));
    else {
      onTrouble(reply.message);
      asked?.reject(new TracesUnavailable(reply.message));
    }
  };

  const start = (): Worker => {
    const started = startWorker({ stateDir, keepBytes, forwards }, onReply, (reason) => {
      if (worker !== started) return;
      worker = undefined;
      if (waiting.size > 0) onTrouble(`the thread of the traces ended: ${reason}`);
      for (const id of [...waiting.keys()])
        settle(id)?.reject(new TracesUnavailable(`the thread of the traces ended: ${reason}`));
    });
    return started;
  };

  function ask<K extends TraceJob["kind"]>(
    job: Extract<TraceJob, { kind: K }>,
    transfer: readonly ArrayBuffer[] = [],
  ): Promise<TraceAnswers[K]> {
    const { promise, resolve, reject } = Promise.withResolvers<TraceAnswers[TraceJob["kind"]]>();
    clearTimeout(idle);
    worker ??= start();
    worker.ref();
    nextId += 1;
    waiting.set(nextId, { resolve, reject });
    const request: TraceRequest = { id: nextId, job };
    worker.postMessage(request, [...transfer]);
    // The thread answers each job with what belongs to its kind.
    return promise as Promise<TraceAnswers[K]>;
  }

  /** Ends the thread, its file closed. What is asked meanwhile waits for the next one. */
  function rest(): Promise<void> {
    const resting = worker;
    if (resting === undefined) return Promise.resolve();
    closing ??= ask<"close">({ kind: "close" })
      .catch(() => undefined)
      .then(async () => {
        if (worker === resting) worker = undefined;
        await resting.terminate();
        clearTimeout(idle);
        closing = undefined;
      });
    return closing;
  }

  return {
    ask,
    waiting: () => waiting.size,
    /** What is under way when the thread is about to end. */
    closing: () => closing,
    isClosed: () => isClosed,
    close: async (): Promise<void> => {
      isClosed = true;
      clearTimeout(idle);
      await rest();
    },
  };
}

/** The traces of this host, in a thread that runs while there is something to do. */
export interface HostTraces extends TraceStore {
  /** Reads and keeps the spans of a body. @throws TracesRefused */
  readonly takeBody: (body: ReceivedBody) => Promise<TraceAnswers["body"]>;
  /** Writes what waits and closes the file. */
  readonly close: () => Promise<void>;
}

export function createHostTraces(options: TraceThreadOptions): HostTraces {
  const thread = createTraceThread(options);
  const bytesRoom = createRoom(maxWaitingBytes);
  const bodyRoom = createRoom(maxWaitingBodies);

  /** @throws TracesUnavailable */
  async function askStore<K extends "add" | "list" | "trace">(
    job: Extract<TraceJob, { kind: K }>,
  ): Promise<TraceAnswers[K]> {
    await thread.closing();
    if (thread.isClosed()) throw new TracesUnavailable("the service is stopping");
    if (thread.waiting() >= maxWaiting) throw new TracesUnavailable("too much waits for them (try again later)");
    return thread.ask<K>(job);
  }

  return {
    add: (groups, source) => askStore<"add">({ kind: "add", groups, source }),
    list: (query) => askStore<"list">({ kind: "list", query }),
    trace: (traceId) => askStore<"trace">({ kind: "trace", traceId }),
    async takeBody(body) {
      await thread.closing();
      const { peer } = body;
      const { length: bytes } = body.bytes;
      if (thread.isClosed()) throw new TracesRefused("overloaded", "the service is stopping");
      if (!bytesRoom.take(peer, bytes)) throw new TracesRefused("overloaded", tooMany);
      if (!bodyRoom.take(peer, 1)) {
        bytesRoom.give(peer, bytes);
        throw new TracesRefused("overloaded", tooMany);
      }
      try {
        // Handed over and not copied once more; what came may be a part of a larger buffer.
        const copy = new Uint8Array(body.bytes);
        return await thread.ask<"body">({ kind: "body", body: { ...body, bytes: copy } }, [copy.buffer]);
      } catch (error) {
        if (error instanceof TracesUnavailable) throw new TracesRefused("failed", "cannot keep traces");
        throw error;
      } finally {
        bytesRoom.give(peer, bytes);
        bodyRoom.give(peer, 1);
      }
    },
    close: thread.close,
  };
}
