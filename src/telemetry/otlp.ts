import { hostname } from "node:os";
import type { Context } from "@opentelemetry/api";
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
import {
  type Attributes,
  createTracer,
  formatTraceparent,
  parseTraceparent,
  type SpanMaker,
  type TraceHeaders,
  type Tracing,
  tracesUrl,
} from "./tracing.ts";

export interface OtlpOptions extends Omit<QueuePorts, "connect"> {
  /** Over HTTP the path `/v1/traces` may be left out. */
  readonly endpoint: string;
  readonly protocol: "http" | "grpc";
  /** Share of the traces start here that are kept, 0 to 1. */
  readonly sample: number;
  readonly version: string;
  readonly limits?: Partial<QueueLimits>;
}

const answerMs = 10_000;
const maxTextLength = 1024;

const kinds = { internal: Kinds.INTERNAL, client: Kinds.CLIENT, server: Kinds.SERVER } as const;

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

function below(traceparent: string | undefined, tracestate: string | undefined): Context {
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

function headersOf(context: Context): TraceHeaders {
  const current = trace.getSpanContext(context);
  if (current === undefined) return {};
  const { traceId, spanId, traceFlags, traceState } = current;
  const isSampled = (traceFlags & TraceFlags.SAMPLED) !== 0;
  const tracestate = traceState?.serialize() ?? "";
  return {
    traceparent: formatTraceparent({ traceId, spanId, isSampled }),
    ...(tracestate !== "" && { tracestate }),
  };
}

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
  const start: SpanMaker<Context>["start"] = (kind, name, attributes, context) => {
    const span = sdk.startSpan(name, { kind: kinds[kind], attributes }, context);
    const made = {
      traceId: span.spanContext().traceId,
      set: (more: Attributes) => void span.setAttributes(more),
      fail(type: string) {
        span.setAttribute("error.type", type);
        span.setStatus({ code: SpanStatusCode.ERROR });
      },
      end: () => span.end(),
    };
    return { span: made, inside: trace.setSpan(context, span) };
  };
  return { tracer: createTracer({ below, start, headers: headersOf }), close: queue.close };
}
