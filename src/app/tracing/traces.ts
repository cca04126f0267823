import { Worker } from "node:worker_threads";
import { type TraceStore, TracesUnavailable } from "#domain/ports/traces.ts";
import { errorMessage } from "#kernel/errors.ts";
import { createRoom, type ReceivedBody, TracesRefused } from "#transports/otlp/receiver.ts";
import type { TraceAnswers, TraceJob, TraceReply, TraceRequest, TraceThreadSetup } from "./protocol.ts";

/** Heap of the thread: several times what the largest body takes. */
const maxHeapMb = 256;
/** Young generation: less is slower, more is memory that is not returned. */
const maxYoungHeapMb = 16;
const maxWaitingBytes = 32 * 1024 * 1024;
const maxWaitingBodies = 800;
const maxWaiting = 1000;
const tooMany = "too many traces at the same time";
/** An idle thread is ended, which frees its memory. Senders that export every few seconds keep it. */
const idleMs = 10_000;

interface Waiting {
  readonly resolve: (answer: TraceAnswers[TraceJob["kind"]]) => void;
  readonly reject: (error: Error) => void;
}

interface TraceThreadOptions extends TraceThreadSetup {
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
    // Jobs keep the process alive, an idle thread does not.
    if (waiting.size === 0 && closing === undefined) worker?.unref();
    if (waiting.size === 0 && !isClosed) {
      idle = setTimeout(() => void rest(), idleAfterMs);
      idle.unref();
    }
    return found;
  };

  const onReply = (reply: TraceReply) => {
    if (reply.kind === "trouble") return onTrouble(reply.message, reply.aside);
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
    // The answer has the type of the job's kind.
    return promise as Promise<TraceAnswers[K]>;
  }

  /** Closes the file and ends the thread. Jobs meanwhile wait for the next one. */
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
    closing: () => closing,
    isClosed: () => isClosed,
    close: async (): Promise<void> => {
      isClosed = true;
      clearTimeout(idle);
      await rest();
    },
  };
}

export interface HostTraces extends TraceStore {
  /** Parses and stores the spans of a body. @throws TracesRefused. */
  readonly takeBody: (body: ReceivedBody) => Promise<TraceAnswers["body"]>;
  readonly close: () => Promise<void>;
}

export function createHostTraces(options: TraceThreadOptions): HostTraces {
  const thread = createTraceThread(options);
  const bytesRoom = createRoom(maxWaitingBytes);
  const bodyRoom = createRoom(maxWaitingBodies);

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
        // Transferred, not copied again; what came may be part of a larger buffer.
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
