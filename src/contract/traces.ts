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
    `\`own\`: the service made ${of} itself. \`received\`: a program has sent it, whatever \`service.name\` says.`,
  );

export const TraceSummary = Type.Object({
  trace_id: Type.String({ description: "32 hex digits." }),
  name: Type.String({
    description: "Name of the root span; of the earliest span as long as there is no root. Empty where it has none.",
  }),
  service: Type.String({ description: "`service.name` of the same span; empty where it has none." }),
  origin: Origin("that span"),
  start: Timestamp("Start of the earliest span, to the microsecond."),
  duration_ms: Type.Number({ description: "From the start of the earliest span to the end of the last." }),
  spans: Type.Integer({ description: "Spans that are kept." }),
  errors: Type.Integer({ description: "Spans among them that have the status `error`." }),
});
export type TraceSummary = Static<typeof TraceSummary>;

export const TraceList = Type.Object({ traces: Type.Array(TraceSummary), ...ListShape });
export type TraceList = Static<typeof TraceList>;

const Attributes = (description: string) => Type.Record(Type.String(), Type.Unknown(), { description });
const dropped = (what: string) =>
  Type.Optional(Type.Integer({ description: `${what} that are not here; absent where all are.` }));

export const SpanEvent = Type.Object({
  time: Timestamp("To the nanosecond."),
  name: Type.String(),
  attributes: Attributes("As those of the span."),
  dropped_attributes: dropped("Attributes"),
});
export type SpanEvent = Static<typeof SpanEvent>;

export const SpanLink = Type.Object({
  trace_id: Type.String({ description: "32 hex digits." }),
  span_id: Type.String({ description: "16 hex digits." }),
  attributes: Attributes("As those of the span."),
  dropped_attributes: dropped("Attributes"),
});
export type SpanLink = Static<typeof SpanLink>;

export const Span = Type.Object({
  span_id: Type.String({ description: "16 hex digits." }),
  origin: Origin("the span"),
  parent_span_id: Type.String({ description: "16 hex digits; empty for a root." }),
  name: Type.String(),
  kind: Choice(spanKinds, "Role of the span in the call (OpenTelemetry)."),
  start: Timestamp("To the nanosecond."),
  duration_ms: Type.Number(),
  status: Choice(spanStatuses, "Whether what it stands for succeeded."),
  status_message: Type.String({ description: "What went wrong; empty unless `status` is `error`." }),
  trace_state: Type.String({ description: "As W3C Trace Context writes it." }),
  scope: Type.String({ description: "Name of the library that made the span." }),
  attributes: Attributes(
    "By name. Integers that JSON numbers cannot hold exactly are strings, as are numbers that are not finite; bytes are base64.",
  ),
  dropped_attributes: dropped("Attributes"),
  events: Type.Array(SpanEvent),
  dropped_events: dropped("Events"),
  links: Type.Array(SpanLink),
  dropped_links: dropped("Links"),
  resource: Attributes("What the span is from: `service.name`, `host.name` and the like."),
});
export type Span = Static<typeof Span>;

export const Trace = Type.Object({
  trace_id: Type.String({ description: "32 hex digits." }),
  spans: Type.Array(Span, { description: "By their start." }),
});
export type Trace = Static<typeof Trace>;

export const traces = {
  listTraces: {
    method: "GET",
    path: "/traces",
    tag: "Observability",
    summary: "Newest traces",
    description:
      "What arrived over OTLP, and the service's own where no `tracing.endpoint` is set. Newest first, by their start. The oldest are forgotten when `tracing.keep` is reached.",
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
        "Only traces with a span that the service made itself, or with one that it has received.",
      ),
      min_duration: Type.String({
        pattern: "^[0-9]{1,9}(us|ms|s|m|h)$",
        description: "Only traces that took so long or longer.",
        examples: ["250ms"],
      }),
      since: Type.String({ format: "date-time", description: "Only traces that began then or later, RFC 3339." }),
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
