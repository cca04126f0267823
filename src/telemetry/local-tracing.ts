import { randomBytes } from "node:crypto";
import {
  type Attributes,
  createTracer,
  formatTraceparent,
  parseTraceparent,
  type SpanKind,
  type SpanMaker,
  type TraceHeaders,
} from "./tracing.ts";

export interface LocalSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for a root. */
  readonly parentSpanId: string;
  readonly traceState: string;
  readonly name: string;
  readonly kind: SpanKind | "server";
  readonly startNs: bigint;
  readonly endNs: bigint;
  readonly isFailed: boolean;
  readonly attributes: Attributes;
}

export interface LocalTracingOptions {
  readonly onTrace: (spans: readonly LocalSpan[]) => void;
  /** Routes that are never traced, since they are polled. */
  readonly ignored: ReadonlySet<string>;
  readonly monotonicMs: () => number;
  readonly perRoute?: number;
  readonly perSecond?: number;
}

const secondMs = 1000;
const maxSpans = 512;
const traceIdBytes = 16;
const spanIdBytes = 8;

interface Root {
  readonly traceId: string;
  readonly traceState: string;
  /** Time of day minus monotonic time, in nanoseconds: one for all spans, so that children lie within their parents. */
  readonly offsetNs: bigint;
  readonly spans: LocalSpan[];
  /** False where the caller decided not to keep the trace. */
  readonly isSampled: boolean;
  isStarted: boolean;
  isOver: boolean;
}

interface Place {
  readonly root: Root;
  readonly spanId: string;
}

function createSampler({ ignored, monotonicMs, perRoute = 1, perSecond = 5 }: LocalTracingOptions) {
  const taken = new Map<string, number>();
  let total = 0;
  let second = Number.NEGATIVE_INFINITY;
  return (route: string): boolean => {
    if (ignored.has(route)) return false;
    const now = Math.floor(monotonicMs() / secondMs);
    if (now !== second) {
      second = now;
      total = 0;
      taken.clear();
    }
    if (total >= perSecond) return false;
    const count = taken.get(route) ?? 0;
    if (count >= perRoute) return false;
    taken.set(route, count + 1);
    total += 1;
    return true;
  };
}

function below(traceparent = "", tracestate = ""): Place {
  const parent = parseTraceparent(traceparent);
  const root: Root = {
    traceId: parent?.traceId ?? randomBytes(traceIdBytes).toString("hex"),
    traceState: parent === undefined ? "" : tracestate,
    offsetNs: BigInt(Date.now()) * 1_000_000n - process.hrtime.bigint(),
    spans: [],
    isSampled: parent?.isSampled ?? true,
    isStarted: false,
    isOver: false,
  };
  return { root, spanId: parent?.spanId ?? "" };
}

/** Samples a few requests per second, without an SDK. An untraced request costs no more than a counter. */
export function createLocalTracer(options: LocalTracingOptions) {
  const start: SpanMaker<Place>["start"] = (kind, name, given, { root, spanId: parentSpanId }) => {
    const { traceId, traceState, offsetNs, spans } = root;
    const spanId = randomBytes(spanIdBytes).toString("hex");
    const startNs = process.hrtime.bigint() + offsetNs;
    const isRoot = !root.isStarted;
    root.isStarted = true;
    let attributes = given;
    let isFailed = false;
    const span = {
      traceId,
      set(more: Attributes) {
        attributes = { ...attributes, ...more };
      },
      fail(type: string) {
        attributes = { ...attributes, "error.type": type };
        isFailed = true;
      },
      end() {
        if (root.isOver) return;
        const endNs = process.hrtime.bigint() + offsetNs;
        // There is always space for the root, which ends last.
        if (spans.length < maxSpans || isRoot)
          spans.push({ traceId, traceState, spanId, parentSpanId, name, kind, startNs, endNs, isFailed, attributes });
        if (!isRoot) return;
        root.isOver = true;
        if (root.isSampled) options.onTrace(spans);
      },
    };
    return { span, inside: { root, spanId } };
  };

  const headers = ({ root: { traceId, traceState, isSampled }, spanId }: Place): TraceHeaders => ({
    traceparent: formatTraceparent({ traceId, spanId, isSampled }),
    ...(traceState !== "" && { tracestate: traceState }),
  });

  return { ...createTracer({ below, start, headers }), takes: createSampler(options) };
}
