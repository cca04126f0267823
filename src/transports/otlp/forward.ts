export interface ForwardLimits {
  /** Bytes that wait; further requests are dropped. */
  readonly waitingBytes: number;
  /** How often the same request is sent; the pause between grows from `pauseMs`. */
  readonly attempts: number;
  readonly pauseMs: number;
  /** How long the collector has to be well before that is worth telling. */
  readonly calmMs: number;
  /** How long the end may take. */
  readonly closeMs: number;
}

const defaultLimits: ForwardLimits = {
  waitingBytes: 16 * 1024 * 1024,
  attempts: 4,
  pauseMs: 1_000,
  calmMs: 5_000,
  closeMs: 1_500,
};

/** A request of the OpenTelemetry protocol as protobuf, as it is passed on. */
interface Parcel {
  readonly bytes: Uint8Array;
  readonly spans: number;
}

/** Sends one request. @returns why it was not taken. */
interface Sender {
  readonly send: (bytes: Uint8Array) => Promise<Error | undefined>;
  readonly close: () => void;
}

export interface ForwardPorts {
  /** Address of the collector; over HTTP the path `/v1/traces` belongs to it. */
  readonly url: string;
  readonly protocol: "http" | "grpc";
  readonly onSpans: (result: "exported" | "dropped", count: number) => void;
  /** The first failure after things were well. */
  readonly onLost: (error: unknown) => void;
  /** The collector takes spans again. */
  readonly onBack: () => void;
  readonly limits?: Partial<ForwardLimits>;
}

export interface Forwarder {
  /** Passes a request on, some time. */
  readonly forward: (bytes: Uint8Array, spans: number) => void;
  readonly close: () => Promise<void>;
}

const answerMs = 10_000;
const grpcName = "TraceExportService";
const grpcMethod = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";
const component = "steward_forwarder";

/** What is sent is written already, and of the answer nothing is wanted. */
const asIs = { serializeRequest: (bytes: Uint8Array) => bytes, deserializeResponse: () => ({}) };
const uncounted = { name: "span", countItems: () => 0 } as const;

/** As much of the SDK's way to a collector as is used here. */
interface Delegate {
  readonly export: (bytes: Uint8Array, done: (result: { code: number; error?: Error }) => void) => void;
  readonly shutdown: () => Promise<void>;
}

/**
 * The SDK's own way to a collector, so that what is passed on gets there as the service's spans do: headers, TLS, compression. Only
 * the one that is used is loaded.
 */
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

async function senderMaker(ports: ForwardPorts): Promise<() => Sender> {
  const connect = await delegateMaker(ports);
  return () => {
    const delegate = connect();
    return {
      send: (bytes) =>
        new Promise((resolve) => {
          delegate.export(bytes, ({ code, error }) =>
            resolve(code === 0 ? undefined : (error ?? new Error("no answer"))),
          );
        }),
      // What it still had to say was said with its result.
      close: () => void delegate.shutdown().catch(() => undefined),
    };
  };
}

/**
 * Passes requests on to a further collector: one at a time, a bounded number of bytes behind it. What does not fit, and what the
 * collector has not taken after some attempts, is dropped and counted. Nobody ever waits for a collector.
 */
export async function createForwarder(ports: ForwardPorts): Promise<Forwarder> {
  const { onSpans, onLost, onBack, limits = {} } = ports;
  const { waitingBytes, attempts, pauseMs, calmMs, closeMs } = { ...defaultLimits, ...limits };
  const connect = await senderMaker(ports);
  const stopped = new AbortController();
  const queue: Parcel[] = [];
  let sender = connect();
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
      // A channel that has failed tries again only after minutes.
      sender.close();
      sender = connect();
    } else if (lostAtMs !== undefined && performance.now() - lostAtMs >= calmMs) {
      lostAtMs = undefined;
      onBack();
    }
  };

  const deliver = async ({ bytes, spans }: Parcel): Promise<void> => {
    for (let attempt = 1; attempt <= attempts; attempt += 1) {
      const error = await sender.send(bytes);
      judge(error);
      if (error === undefined) return onSpans("exported", spans);
      // At the end nothing is tried twice.
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
      if (bytes.length > bytesLeft || stopped.signal.aborted) {
        onSpans("dropped", spans);
        return;
      }
      bytesLeft -= bytes.length;
      queue.push({ bytes, spans });
      running ??= run();
    },
    async close() {
      stopped.abort();
      // A collector that was not there a moment ago is not waited for.
      if (lostAtMs === undefined) {
        const late = Promise.withResolvers<void>();
        const deadline = setTimeout(late.resolve, closeMs);
        await Promise.race([running, late.promise]);
        clearTimeout(deadline);
      }
      for (const { spans } of queue.splice(0)) onSpans("dropped", spans);
      sender.close();
    },
  };
}
