import { hostname } from "node:os";
import { type KeptSpan, ownSource, type TraceStore } from "#domain/ports/traces.ts";
import { keptSpan } from "#domain/traces/span.ts";
import { createLocalTracer, type LocalSpan } from "#telemetry/local-tracing.ts";

const ignored: ReadonlySet<string> = new Set(["/livez", "/readyz", "/metrics"]);
const maxWaiting = 2048;
/** Spans are stored in batches: each may start a thread. */
const batch = 256;
const delayMs = 30_000;

const keptOf = ({ traceId, spanId, parentSpanId, traceState, name, kind, ...span }: LocalSpan): KeptSpan =>
  keptSpan({
    traceId,
    spanId,
    parentSpanId,
    traceState,
    scope: "steward",
    name,
    kind,
    startNs: span.startNs,
    endNs: span.endNs,
    status: span.isFailed ? "error" : "unset",
    statusMessage: "",
    attributes: span.attributes,
    droppedAttributes: 0,
    events: [],
    droppedEvents: 0,
    links: [],
    droppedLinks: 0,
  });

export function createOwnTraces(ports: {
  readonly store: Pick<TraceStore, "add">;
  readonly version: string;
  readonly onDropped: (spans: number) => void;
  readonly onTrouble: (error: unknown) => void;
}) {
  const { store, version, onDropped, onTrouble } = ports;
  const resource = JSON.stringify({
    "service.name": "steward",
    "service.version": version,
    "host.name": hostname(),
    "process.pid": process.pid,
  });
  let waiting: LocalSpan[] = [];
  let timer: NodeJS.Timeout | undefined;
  let flushing: Promise<void> | undefined;

  const write = async (spans: readonly LocalSpan[]): Promise<void> => {
    try {
      const { rejected } = await store.add([{ service: "steward", resource, spans: spans.map(keptOf) }], ownSource);
      if (rejected > 0) onDropped(rejected);
    } catch (error) {
      onDropped(spans.length);
      onTrouble(error);
    }
  };

  async function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    await flushing;
    if (waiting.length === 0) return;
    const spans = waiting;
    waiting = [];
    flushing = write(spans);
    await flushing;
  }

  const tracer = createLocalTracer({
    ignored,
    monotonicMs: () => performance.now(),
    onTrace(spans) {
      if (waiting.length + spans.length > maxWaiting) return onDropped(spans.length);
      waiting.push(...spans);
      if (waiting.length >= batch) void flush();
      else timer ??= setTimeout(() => void flush(), delayMs).unref();
    },
  });
  return { tracer, flush };
}
