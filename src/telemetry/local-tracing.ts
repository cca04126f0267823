import { AsyncLocalStorage } from "node:async_hooks";
import { randomBytes } from "node:crypto";
import type { Attributes, OpenSpan, RequestSpan, SpanKind, Tracer } from "./tracing.ts";
import { spanOf, within } from "./tracing.ts";
import { formatTraceparent, parseTraceparent } from "./tracing-context.ts";

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
  /** Traces per second. */
  readonly perRoute?: number;
  readonly perSecond?: number;
}

export interface LocalTracer extends Tracer {
  readonly takes: (route: string) => boolean;
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
  isOver: boolean;
}

interface Scope {
  readonly root: Root;
  readonly spanId: string;
}

const one = (header: string | string[] | undefined): string => (typeof header === "string" ? header : "");

/** Limits traces per second, of each route and in total. */
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

/** Samples a few requests per second, without an SDK. An untraced request costs no more than a counter. */
export function createLocalTracer(options: LocalTracingOptions): LocalTracer {
  const { onTrace } = options;
  const active = new AsyncLocalStorage<Scope>();
  const takes = createSampler(options);

  const current = (): Scope | undefined => {
    const scope = active.getStore();
    return scope?.root.isOver === true ? undefined : scope;
  };

  const open = (
    root: Root,
    place: Pick<LocalSpan, "parentSpanId" | "kind" | "name">,
    given: Attributes,
    onEnd?: () => void,
  ): OpenSpan => {
    const spanId = randomBytes(spanIdBytes).toString("hex");
    const startNs = process.hrtime.bigint() + root.offsetNs;
    let attributes = given;
    let isFailed = false;
    const scope: Scope = { root, spanId };
    return {
      set(more) {
        attributes = { ...attributes, ...more };
      },
      fail(type) {
        attributes = { ...attributes, "error.type": type };
        isFailed = true;
      },
      run: (work) => active.run(scope, work),
      end() {
        if (root.isOver) return;
        const { traceId, traceState, offsetNs, spans } = root;
        const endNs = process.hrtime.bigint() + offsetNs;
        // There is always room for the root, which ends last.
        if (spans.length < maxSpans || onEnd !== undefined)
          spans.push({ traceId, traceState, spanId, ...place, startNs, endNs, isFailed, attributes });
        onEnd?.();
      },
    };
  };

  const openRoot = (
    kind: LocalSpan["kind"],
    name: string,
    attributes: Attributes,
    headers: { readonly traceparent: string; readonly tracestate: string },
  ): RequestSpan => {
    const parent = parseTraceparent(headers.traceparent);
    const root: Root = {
      traceId: parent?.traceId ?? randomBytes(traceIdBytes).toString("hex"),
      traceState: parent === undefined ? "" : headers.tracestate,
      offsetNs: BigInt(Date.now()) * 1_000_000n - process.hrtime.bigint(),
      spans: [],
      isSampled: parent?.isSampled ?? true,
      isOver: false,
    };
    const onEnd = (): void => {
      root.isOver = true;
      if (root.isSampled) onTrace(root.spans);
    };
    const span = open(root, { parentSpanId: parent?.spanId ?? "", kind, name }, attributes, onEnd);
    return { ...span, traceId: root.traceId };
  };

  const begin: Tracer["begin"] = (kind, name, attributes) => {
    const scope = current();
    if (scope === undefined) return undefined;
    return open(scope.root, { parentSpanId: scope.spanId, kind, name }, attributes);
  };

  return {
    takes,
    request: (name, attributes, headers) =>
      openRoot("server", name, attributes, {
        traceparent: one(headers["traceparent"]),
        tracestate: one(headers["tracestate"]),
      }),
    operation: (name, attributes, traceparent = "", work) =>
      within(openRoot("internal", name, attributes, { traceparent, tracestate: "" }), work),
    begin,
    span: spanOf(begin),
    headers() {
      const scope = current();
      if (scope === undefined) return {};
      const { traceId, traceState, isSampled } = scope.root;
      return {
        traceparent: formatTraceparent({ traceId, spanId: scope.spanId, isSampled }),
        ...(traceState !== "" && { tracestate: traceState }),
      };
    },
  };
}
