export interface ForwardLimits {
  /** Bytes that may wait; further requests are dropped. */
  readonly waitingBytes: number;
  /** Attempts per request; the pause between grows from `pauseMs`. */
  readonly attempts: number;
  readonly pauseMs: number;
  /** How long the collector has to work before `onBack`. */
  readonly calmMs: number;
  /** Longest duration of `close`. */
  readonly closeMs: number;
}

const defaultLimits: ForwardLimits = {
  waitingBytes: 16 * 1024 * 1024,
  attempts: 4,
  pauseMs: 1_000,
  calmMs: 5_000,
  closeMs: 1_500,
};

interface Parcel {
  readonly bytes: Uint8Array;
  readonly spans: number;
}

export interface ForwardPorts {
  /** Over HTTP with the path `/v1/traces`. */
  readonly url: string;
  readonly protocol: "http" | "grpc";
  readonly onSpans: (result: "exported" | "dropped", count: number) => void;
  readonly onLost: (error: unknown) => void;
  readonly onBack: () => void;
  readonly limits?: Partial<ForwardLimits>;
}

export interface Forwarder {
  readonly forward: (bytes: Uint8Array, spans: number) => void;
  readonly close: () => Promise<void>;
}

const answerMs = 10_000;
const grpcName = "TraceExportService";
const grpcMethod = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";
const component = "steward_forwarder";

/** Requests are serialized already, and answers are not needed. */
const asIs = { serializeRequest: (bytes: Uint8Array) => bytes, deserializeResponse: () => ({}) };
const uncounted = { name: "span", countItems: () => 0 } as const;

interface Delegate {
  readonly export: (bytes: Uint8Array, done: (result: { code: number; error?: Error }) => void) => void;
  readonly shutdown: () => Promise<void>;
}

/** The SDK's own transport, with its headers, TLS and compression; only the needed one is loaded. */
async function delegateMaker({ url, protocol }: ForwardPorts): Promise<() => Delegate> {
  const options = { url, timeoutMillis: answerMs };
  if (protocol === "grpc") {
    const { convertLegacyOtlpGrpcOptions, createOtlpGrpcExportDelegate } = await import(
      "@opentelemetry/otlp-grpc-exporter-base"
    );
    const configuration = convertLegacyOtlpGrpcOptions(options, "TRACES");
    return () =>
      createOtlpGrpcExportDelegate(configuration, asIs, component, uncounted, undefined, grpcName, grpcMethod);
  }
  const { convertLegacyHttpOptions, createOtlpHttpExportDelegate } = await import(
    "@opentelemetry/otlp-exporter-base/node-http"
  );
  const headers = { "Content-Type": "application/x-protobuf" };
  const configuration = convertLegacyHttpOptions(options, "TRACES", "v1/traces", headers);
  return () => createOtlpHttpExportDelegate(configuration, asIs, component, uncounted, undefined);
}

const exportBytes = (delegate: Delegate, bytes: Uint8Array): Promise<Error | undefined> =>
  new Promise((resolve) => {
    delegate.export(bytes, ({ code, error }) => resolve(code === 0 ? undefined : (error ?? new Error("no answer"))));
  });

/** Its errors have been reported with the last result. */
const shutdown = (delegate: Delegate): void => void delegate.shutdown().catch(() => undefined);

/**
 * Forwards requests to another collector, one at a time, with a bounded queue. What does not fit, and what the collector does not
 * accept after some attempts, is dropped and counted.
 */
export async function createForwarder(ports: ForwardPorts): Promise<Forwarder> {
  const { onSpans, onLost, onBack, limits = {} } = ports;
  const { waitingBytes, attempts, pauseMs, calmMs, closeMs } = { ...defaultLimits, ...limits };
  const connect = await delegateMaker(ports);
  const stopped = new AbortController();
  const queue: Parcel[] = [];
  let delegate = connect();
  let bytesLeft = waitingBytes;
  let running: Promise<void> | undefined;
  let lostAtMs: number | undefined;

  const pause = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, ms).unref();
      stopped.signal.addEventListener("abort", () => {
        clearTimeout(timer);
        resolve();
      });
    });

  const judge = (error: Error | undefined): void => {
    if (error !== undefined) {
      if (lostAtMs === undefined) onLost(error);
      lostAtMs = performance.now();
      // A channel that has failed retries only after minutes.
      shutdown(delegate);
      delegate = connect();
    } else if (lostAtMs !== undefined && performance.now() - lostAtMs >= calmMs) {
      lostAtMs = undefined;
      onBack();
    }
  };

  const deliver = async ({ bytes, spans }: Parcel): Promise<void> => {
    for (let attempt = 1; attempt <= attempts; attempt += 1) {
      const error = await exportBytes(delegate, bytes);
      judge(error);
      if (error === undefined) return onSpans("exported", spans);
      // After `close` nothing is retried.
      if (stopped.signal.aborted) break;
      if (attempt < attempts) await pause(pauseMs * 2 ** attempt);
    }
    onSpans("dropped", spans);
  };

  const run = async (): Promise<void> => {
    for (let [first] = queue; first !== undefined; [first] = queue) {
      queue.shift();
      await deliver(first);
      bytesLeft += first.bytes.length;
    }
    running = undefined;
  };

  return {
    forward(bytes, spans) {
      if (bytes.length > bytesLeft || stopped.signal.aborted) return onSpans("dropped", spans);
      bytesLeft -= bytes.length;
      queue.push({ bytes, spans });
      running ??= run();
    },
    async close() {
      stopped.abort();
      // There is no point in waiting for a collector that has just failed.
      if (lostAtMs === undefined) {
        const late = Promise.withResolvers<void>();
        const deadline = setTimeout(late.resolve, closeMs);
        await Promise.race([running, late.promise]);
        clearTimeout(deadline);
      }
      for (const { spans } of queue.splice(0)) onSpans("dropped", spans);
      shutdown(delegate);
    },
  };
}
