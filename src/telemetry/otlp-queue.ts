import { AsyncLocalStorage } from "node:async_hooks";
import { TraceFlags } from "@opentelemetry/api";
import type { ReadableSpan, SpanExporter, SpanProcessor } from "@opentelemetry/sdk-trace";
import { type CollectorPorts, createCollector } from "./collector.ts";

export interface QueueLimits {
  /** Spans that may wait; further ones are dropped. */
  readonly waiting: number;
  readonly batch: number;
  readonly delayMs: number;
  /** Attempts per batch; the pause between grows from `delayMs`. */
  readonly attempts: number;
  readonly calmMs: number;
  readonly closeMs: number;
}

const defaultQueueLimits: QueueLimits = {
  waiting: 2048,
  batch: 512,
  delayMs: 1_000,
  attempts: 4,
  calmMs: 5_000,
  closeMs: 1_500,
};

export interface QueuePorts extends CollectorPorts {
  readonly connect: () => SpanExporter;
  readonly limits?: Partial<QueueLimits>;
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms).unref());

/** Sends spans to the collector, one batch at a time, with a bounded queue. What does not fit or is not accepted is dropped and counted. */
export function createSpanQueue(ports: QueuePorts) {
  const { onSpans, limits = {} } = ports;
  const { waiting, batch, delayMs, attempts, calmMs, closeMs } = { ...defaultQueueLimits, ...limits };
  const collector = createCollector(ports.connect, ports, calmMs);
  let queue: ReadableSpan[] = [];
  let sending: ReadableSpan[] = [];
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  const deliver = async (): Promise<void> => {
    sending = queue.slice(0, batch);
    queue = queue.slice(batch);
    for (let attempt = 1; ; attempt += 1) {
      const error = await collector.send(sending);
      if (isClosed) return;
      collector.judge(error);
      if (error === undefined) onSpans("exported", sending.length);
      else if (attempt >= attempts) onSpans("dropped", sending.length);
      else {
        await pause(delayMs * 2 ** attempt);
        if (isClosed) return;
        continue;
      }
      sending = [];
      return;
    }
  };

  // Not bound to a request: what a batch opens, such as a connection, must not keep a request alive.
  const flush = AsyncLocalStorage.bind((): void => {
    clearTimeout(timer);
    timer = undefined;
    if (sending.length > 0 || queue.length === 0 || isClosed) return;
    void deliver().then(() => {
      if (queue.length >= batch) flush();
      else schedule();
    });
  });
  const schedule = AsyncLocalStorage.bind((): void => {
    if (queue.length > 0 && sending.length === 0) timer ??= setTimeout(flush, delayMs).unref();
  });

  const sendAll = async (): Promise<void> => {
    for (let spans = queue.splice(0, batch); spans.length > 0; spans = queue.splice(0, batch)) {
      sending = spans;
      const error = await collector.send(spans);
      sending = [];
      onSpans(error === undefined ? "exported" : "dropped", spans.length);
      if (error !== undefined) return;
    }
  };

  const close = async (): Promise<void> => {
    if (isClosed) return;
    isClosed = true;
    clearTimeout(timer);
    // A batch under way is sent again: a duplicate is better than a loss.
    queue = [...sending, ...queue];
    sending = [];
    await collector.finish(sendAll, closeMs);
    const left = sending.length + queue.length;
    if (left > 0) onSpans("dropped", left);
    queue = [];
  };

  const processor: SpanProcessor = {
    onStart: () => undefined,
    onEnd(span) {
      if ((span.spanContext().traceFlags & TraceFlags.SAMPLED) === 0 || isClosed) return;
      if (queue.length >= waiting) return onSpans("dropped", 1);
      queue.push(span);
      if (queue.length >= batch && sending.length === 0) flush();
      else schedule();
    },
    forceFlush: () => Promise.resolve(),
    shutdown: close,
  };
  return { processor, close };
}
