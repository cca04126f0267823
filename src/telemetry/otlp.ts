import { AsyncLocalStorage } from "node:async_hooks";
import { hostname } from "node:os";
import type { Context, Span as SdkSpan } from "@opentelemetry/api";
import {
  createTraceState,
  SpanKind as Kinds,
  ROOT_CONTEXT,
  SpanStatusCode,
  TraceFlags,
  trace,
} from "@opentelemetry/api";
import { defaultResource, resourceFromAttributes } from "@opentelemetry/resources";
import type { SpanExporter } from "@opentelemetry/sdk-trace";
import { ParentBasedSampler, TraceIdRatioBasedSampler, TracerProvider } from "@opentelemetry/sdk-trace";
import { createSpanQueue, type QueueLimits, type QueuePorts } from "./otlp-queue.ts";
import type { OpenSpan, RequestSpan, Span, SpanKind, TraceHeaders, Tracer, Tracing } from "./tracing.ts";
import { spanOf, tracesUrl, within } from "./tracing.ts";
import { formatTraceparent, parseTraceparent } from "./tracing-context.ts";

export interface OtlpOptions extends Omit<QueuePorts, "connect"> {
  /** Over HTTP the path `/v1/traces` may be left out. */
  readonly endpoint: string;
  readonly protocol: "http" | "grpc";
  /** Share of the traces beginning here that are kept, 0 to 1. */
  readonly sample: number;
  readonly version: string;
  readonly limits?: Partial<QueueLimits>;
}

const answerMs = 10_000;
const maxTextLength = 1024;

const kinds: Readonly<Record<SpanKind, Kinds>> = { internal: Kinds.INTERNAL, client: Kinds.CLIENT };

/** Imports only the exporter of the protocol. */
async function exporterMaker({ endpoint, protocol }: OtlpOptions): Promise<() => SpanExporter> {
  if (protocol === "grpc") {
    const { OTLPTraceExporter } = await import("@opentelemetry/exporter-trace-otlp-grpc");
    const connect = (): SpanExporter => new OTLPTraceExporter({ url: endpoint, timeoutMillis: answerMs });
    // It loads more at first use, which may be after an update has replaced the files of this program.
    const first = connect();
    first.export([], () => void first.shutdown());
    return connect;
  }
  const { OTLPTraceExporter } = await import("@opentelemetry/exporter-trace-otlp-proto");
  return () => new OTLPTraceExporter({ url: tracesUrl(endpoint), timeoutMillis: answerMs });
}

const firstOf = (header: string | string[] | undefined): string | undefined =>
  typeof header === "string" ? header : undefined;

function remoteContext(traceparent: string | undefined, tracestate?: string): Context {
  const parent = traceparent === undefined ? undefined : parseTraceparent(traceparent);
  if (parent === undefined) return ROOT_CONTEXT;
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId: parent.traceId,
    spanId: parent.spanId,
    traceFlags: parent.isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
    isRemote: true,
    ...(tracestate !== undefined && { traceState: createTraceState(tracestate) }),
  });
}

function headersOf(context: Context | undefined): TraceHeaders {
  const current = context && trace.getSpanContext(context);
  if (current === undefined) return {};
  const { traceId, spanId, traceFlags, traceState } = current;
  const isSampled = (traceFlags & TraceFlags.SAMPLED) !== 0;
  const tracestate = traceState?.serialize() ?? "";
  return {
    traceparent: formatTraceparent({ traceId, spanId, isSampled }),
    ...(tracestate !== "" && { tracestate }),
  };
}

interface Scope {
  readonly context: Context;
  /** The request or operation with which the trace began. */
  readonly root: { isOver: boolean };
}

const asSpan = (span: SdkSpan): Span => ({
  set: (attributes) => void span.setAttributes(attributes),
  fail(type) {
    span.setAttribute("error.type", type);
    span.setStatus({ code: SpanStatusCode.ERROR });
  },
});

/** Traces by OpenTelemetry's SDK, sent over OTLP. To be imported only with a collector. */
export async function createOtlpTracing(options: OtlpOptions): Promise<Tracing> {
  const queue = createSpanQueue({ ...options, connect: await exporterMaker(options) });
  const provider = new TracerProvider({
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(options.sample) }),
    spanLimits: { attributeValueLengthLimit: maxTextLength },
    resource: defaultResource().merge(
      resourceFromAttributes({
        "service.name": "steward",
        "service.version": options.version,
        "host.name": hostname(),
        "process.pid": process.pid,
      }),
    ),
    spanProcessors: [queue.processor],
  });
  const sdk = provider.getTracer("steward", options.version);
  const active = new AsyncLocalStorage<Scope>();

  /** Undefined outside of a trace, and in what goes on after its end, such as timers. */
  const current = (): Scope | undefined => {
    const scope = active.getStore();
    return scope?.root.isOver === true ? undefined : scope;
  };

  const open = (span: SdkSpan, { context: parent, root }: Scope): OpenSpan => {
    const scope = { context: trace.setSpan(parent, span), root };
    return { ...asSpan(span), run: (work) => active.run(scope, work), end: () => span.end() };
  };

  const openRoot = (span: SdkSpan, context: Context): RequestSpan => {
    const root = { isOver: false };
    return {
      ...open(span, { context, root }),
      traceId: span.spanContext().traceId,
      end() {
        root.isOver = true;
        span.end();
      },
    };
  };

  const begin: Tracer["begin"] = (kind, name, attributes) => {
    const scope = current();
    if (scope === undefined) return undefined;
    return open(sdk.startSpan(name, { kind: kinds[kind], attributes }, scope.context), scope);
  };

  return {
    tracer: {
      request(name, attributes, headers) {
        const parent = remoteContext(firstOf(headers["traceparent"]), firstOf(headers["tracestate"]));
        return openRoot(sdk.startSpan(name, { kind: Kinds.SERVER, attributes }, parent), parent);
      },
      operation(name, attributes, traceparent, work) {
        const parent = remoteContext(traceparent);
        return within(openRoot(sdk.startSpan(name, { kind: Kinds.INTERNAL, attributes }, parent), parent), work);
      },
      begin,
      span: spanOf(begin),
      headers: () => headersOf(current()?.context),
    },
    close: queue.close,
  };
}
