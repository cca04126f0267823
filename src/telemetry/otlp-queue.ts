import { AsyncLocalStorage } from "node:async_hooks";
import { TraceFlags } from "@opentelemetry/api";
import type { ReadableSpan, SpanExporter, SpanProcessor } from "@opentelemetry/sdk-trace";
import { toError } from "#kernel/errors.ts";

export type SpanResult = "exported" | "dropped";

export interface QueueLimits {
  /** Spans that may wait; further ones are dropped. */
  readonly waiting: number;
  readonly batch: number;
  readonly delayMs: number;
  /** Attempts per batch; the pause between grows from `delayMs`. */
  readonly attempts: number;
  /** How long the collector has to work before `onBack`. */
  readonly calmMs: number;
  /** Longest duration of `close`. */
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

export interface QueuePorts {
  /** Makes an exporter, also after each failure: one that reconnects may wait for minutes. */
  readonly connect: () => SpanExporter;
  readonly onSpans: (result: SpanResult, count: number) => void;
  /** The first failure after success. */
  readonly onLost: (error: unknown) => void;
  readonly onBack: () => void;
  readonly limits?: Partial<QueueLimits>;
}

export interface SpanQueue {
  readonly processor: SpanProcessor;
  readonly close: () => Promise<void>;
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms).unref());

/** @returns why the collector did not accept the spans. */
function exportSpans(exporter: SpanExporter, spans: ReadableSpan[]): Promise<Error | undefined> {
  return new Promise((resolve) => {
    try {
      exporter.export(spans, ({ code, error }) => resolve(code === 0 ? undefined : (error ?? new Error("no answer"))));
    } catch (error) {
      resolve(toError(error));
    }
  });
}

function createConnection({ connect, onLost, onBack }: QueuePorts, calmMs: number) {
  let exporter = connect();
  let lostAtMs: number | undefined;
  return {
    isLost: () => lostAtMs !== undefined,
    send: (spans: ReadableSpan[]) => exportSpans(exporter, spans),
    judge(error: Error | undefined): void {
      if (error === undefined) {
        if (lostAtMs === undefined || performance.now() - lostAtMs < calmMs) return;
        lostAtMs = undefined;
        onBack();
        return;
      }
      if (lostAtMs === undefined) onLost(error);
      lostAtMs = performance.now();
      const old = exporter;
      exporter = connect();
      // Its errors have been reported with the last result.
      void old.shutdown().catch(() => undefined);
    },
  };
}

/** Sends spans to the collector, one batch at a time, with a bounded queue. What does not fit or is not accepted is dropped and counted. */
export function createSpanQueue(ports: QueuePorts): SpanQueue {
  const { onSpans, limits = {} } = ports;
  const { waiting, batch, delayMs, attempts, calmMs, closeMs } = { ...defaultQueueLimits, ...limits };
  const connection = createConnection(ports, calmMs);
  let queue: ReadableSpan[] = [];
  let sending: ReadableSpan[] = [];
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  const deliver = async (): Promise<void> => {
    sending = queue.slice(0, batch);
    queue = queue.slice(batch);
    for (let attempt = 1; ; attempt += 1) {
      const error = await connection.send(sending);
      if (isClosed) return;
      connection.judge(error);
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

  /** Sends what waits without retries. */
  const sendAll = async (): Promise<void> => {
    for (let spans = queue.splice(0, batch); spans.length > 0; spans = queue.splice(0, batch)) {
      sending = spans;
      const error = await connection.send(spans);
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
    // There is no point in waiting for a collector that has just failed.
    if (!connection.isLost()) {
      const late = Promise.withResolvers<void>();
      const deadline = setTimeout(late.resolve, closeMs);
      await Promise.race([sendAll(), late.promise]);
      clearTimeout(deadline);
    }
    const left = sending.length + queue.length;
    if (left > 0) onSpans("dropped", left);
    queue = [];
  };

  return {
    processor: {
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
    },
    close,
  };
}
