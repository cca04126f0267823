import { type Static, Type } from "typebox";
import { traceListLimit } from "./limits.ts";
import type { Operations } from "./operation.ts";
import { Choice, Cursor, ListShape, Options, Timestamp } from "./schema.ts";

export const spanKinds = ["unspecified", "internal", "server", "client", "producer", "consumer"] as const;
export type SpanKindName = (typeof spanKinds)[number];

export const spanStatuses = ["unset", "ok", "error"] as const;
export type SpanStatus = (typeof spanStatuses)[number];

export const spanOrigins = ["own", "received"] as const;
export type SpanOrigin = (typeof spanOrigins)[number];

const Origin = (of: string) =>
  Choice(
    spanOrigins,
    `\`own\`: the service created ${of} itself. \`received\`: another program sent it, whatever \`service.name\` says.`,
  );

export const TraceSummary = Type.Object({
  trace_id: Type.String({ description: "Trace id, 32 hexadecimal digits." }),
  name: Type.String({
    description: "Name of the root span, or of the earliest span if there is no root yet. Empty if it has none.",
  }),
  service: Type.String({ description: "`service.name` of the same span; empty if it has none." }),
  origin: Origin("that span"),
  start: Timestamp("Start of the earliest span, to the microsecond."),
  duration_ms: Type.Number({
    description: "Time from the start of the earliest span to the end of the last, in milliseconds.",
  }),
  spans: Type.Integer({ description: "Number of stored spans." }),
  errors: Type.Integer({ description: "Number of them with the status `error`." }),
});
export type TraceSummary = Static<typeof TraceSummary>;

export const TraceList = Type.Object({ traces: Type.Array(TraceSummary), ...ListShape });
export type TraceList = Static<typeof TraceList>;

const Attributes = (description: string) => Type.Record(Type.String(), Type.Unknown(), { description });
const dropped = (what: string) =>
  Type.Optional(Type.Integer({ description: `${what} that are missing here; absent if none are.` }));

export const SpanEvent = Type.Object({
  time: Timestamp("Timestamp with nanoseconds."),
  name: Type.String(),
  attributes: Attributes("As for the span."),
  dropped_attributes: dropped("Attributes"),
});
export type SpanEvent = Static<typeof SpanEvent>;

export const SpanLink = Type.Object({
  trace_id: Type.String({ description: "Trace id, 32 hexadecimal digits." }),
  span_id: Type.String({ description: "Span id, 16 hexadecimal digits." }),
  attributes: Attributes("As for the span."),
  dropped_attributes: dropped("Attributes"),
});
export type SpanLink = Static<typeof SpanLink>;

export const Span = Type.Object({
  span_id: Type.String({ description: "Span id, 16 hexadecimal digits." }),
  origin: Origin("the span"),
  parent_span_id: Type.String({ description: "Id of the parent span, 16 hexadecimal digits; empty for a root." }),
  name: Type.String(),
  kind: Choice(spanKinds, "Role of the span in the call (OpenTelemetry)."),
  start: Timestamp("Timestamp with nanoseconds."),
  duration_ms: Type.Number(),
  status: Choice(spanStatuses, "Outcome of the work that the span stands for."),
  status_message: Type.String({ description: "Error message; empty unless `status` is `error`." }),
  trace_state: Type.String({ description: "Trace state in the format of W3C Trace Context." }),
  scope: Type.String({ description: "Name of the instrumentation library." }),
  attributes: Attributes(
    "Attributes by name. Integers that a JSON number cannot represent exactly are strings, as are numbers that are not finite; bytes are base64.",
  ),
  dropped_attributes: dropped("Attributes"),
  events: Type.Array(SpanEvent),
  dropped_events: dropped("Events"),
  links: Type.Array(SpanLink),
  dropped_links: dropped("Links"),
  resource: Attributes("Resource that produced the span: `service.name`, `host.name` and so on."),
});
export type Span = Static<typeof Span>;

export const Trace = Type.Object({
  trace_id: Type.String({ description: "Trace id, 32 hexadecimal digits." }),
  spans: Type.Array(Span, { description: "Ordered by start." }),
});
export type Trace = Static<typeof Trace>;

export const traces = {
  listTraces: {
    method: "GET",
    path: "/traces",
    tag: "Observability",
    summary: "Newest traces",
    description:
      "Traces received over OTLP, and those of the service itself if `tracing.endpoint` is not set. Newest first, by their start. The oldest are removed when `tracing.keep` is reached.",
    scope: "metrics:read",
    effect: "read",
    query: Options({
      service: Type.String({
        minLength: 1,
        maxLength: 1024,
        description: "Only traces with a span of this service (`service.name`).",
      }),
      origin: Choice(
        spanOrigins,
        "Only traces with a span that the service created itself, or with one that it received.",
      ),
      min_duration: Type.String({
        pattern: "^[0-9]{1,9}(us|ms|s|m|h)$",
        description: "Only traces that took at least this long.",
        examples: ["250ms"],
      }),
      since: Type.String({
        format: "date-time",
        description: "Only traces that began at this time or later, RFC 3339.",
      }),
      limit: Type.Integer({ ...traceListLimit, description: "Maximum traces." }),
      cursor: Cursor,
    }),
    response: TraceList,
    errors: ["UNAVAILABLE"],
  },
  getTrace: {
    method: "GET",
    path: "/traces/{trace_id}",
    tag: "Observability",
    summary: "One trace with all its spans",
    scope: "metrics:read",
    effect: "read",
    params: Type.Object({
      trace_id: Type.String({
        pattern: "^[0-9a-fA-F]{32}$",
        examples: ["4bf92f3577b34da6a3ce929d0e0e4736"],
        description: "Id of the trace: 32 hexadecimal digits.",
      }),
    }),
    response: Trace,
    errors: ["NOT_FOUND", "UNAVAILABLE"],
  },
} as const satisfies Operations;
