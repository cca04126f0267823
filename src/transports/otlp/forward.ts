import { setTimeout as sleep } from "node:timers/promises";
import { type CollectorPorts, createCollector } from "#telemetry/collector.ts";

export interface ForwardLimits {
  /** Bytes that may wait; further requests are dropped. */
  readonly waitingBytes: number;
  /** Attempts per request; the pause between grows from `pauseMs`. */
  readonly attempts: number;
  readonly pauseMs: number;
  readonly calmMs: number;
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

export interface ForwardPorts extends CollectorPorts {
  /** Over HTTP with the path `/v1/traces`. */
  readonly url: string;
  readonly protocol: "http" | "grpc";
  readonly limits?: Partial<ForwardLimits>;
}

const answerMs = 10_000;
const grpcName = "TraceExportService";
const grpcMethod = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";
const component = "steward_forwarder";

/** Requests are serialized already, and answers are not needed. */
const asIs = { serializeRequest: (bytes: Uint8Array) => bytes, deserializeResponse: () => ({}) };
const uncounted = { name: "span", countItems: () => 0 } as const;

/** The SDK's own transport, with its headers, TLS and compression; only the needed one is loaded. */
async function delegateMaker({ url, protocol }: ForwardPorts) {
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

export type Forwarder = Awaited<ReturnType<typeof createForwarder>>;

/** Forwards requests to another collector, one at a time, with a bounded queue. What cannot be sent is dropped and counted. */
export async function createForwarder(ports: ForwardPorts) {
  const { onSpans, limits = {} } = ports;
  const { waitingBytes, attempts, pauseMs, calmMs, closeMs } = { ...defaultLimits, ...limits };
  const collector = createCollector<Uint8Array>(await delegateMaker(ports), ports, calmMs);
  const stopped = new AbortController();
  const queue: Parcel[] = [];
  let bytesLeft = waitingBytes;
  let running: Promise<void> | undefined;

  const pause = (ms: number): Promise<void> =>
    sleep(ms, undefined, { ref: false, signal: stopped.signal }).catch(() => undefined);

  const deliver = async ({ bytes, spans }: Parcel): Promise<void> => {
    for (let attempt = 1; attempt <= attempts; attempt += 1) {
      const error = await collector.send(bytes);
      collector.judge(error);
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
    forward(bytes: Uint8Array, spans: number) {
      if (bytes.length > bytesLeft || stopped.signal.aborted) return onSpans("dropped", spans);
      bytesLeft -= bytes.length;
      queue.push({ bytes, spans });
      running ??= run();
    },
    async close(): Promise<void> {
      stopped.abort();
      await collector.finish(() => running, closeMs);
      for (const { spans } of queue.splice(0)) onSpans("dropped", spans);
      collector.shutdown();
    },
  };
}
