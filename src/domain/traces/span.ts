import type { Span, SpanKindName, SpanStatus } from "#contract/traces.ts";
import type { KeptSpan } from "#domain/ports/traces.ts";

const nsPerMs = 1_000_000n;
const nsPerUs = 1_000n;
const nsPerSecond = 1_000_000_000n;

/** The last time that is taken, in the year 2255: up to it whole microseconds are numbers. */
export const latestNs = BigInt(Number.MAX_SAFE_INTEGER) * nsPerUs + 999n;

/** Nanoseconds since the epoch as RFC 3339 in UTC, with all nine decimals. */
function timestampOfNs(ns: bigint): string {
  const seconds = new Date(Number(ns / nsPerMs)).toISOString().slice(0, 19);
  return `${seconds}.${String(ns % nsPerSecond).padStart(9, "0")}Z`;
}

/** Microseconds since the epoch as RFC 3339 in UTC, with six decimals. */
export function timestampOfUs(us: number): string {
  const seconds = new Date(Math.floor(us / 1000)).toISOString().slice(0, 19);
  return `${seconds}.${String(us % 1_000_000).padStart(6, "0")}Z`;
}

/** The microseconds of what {@link timestampOfUs} wrote. */
export const usOfTimestamp = (text: string): number =>
  Date.parse(`${text.slice(0, 19)}Z`) * 1000 + Number(text.slice(20, 26));

const usOfNs = (ns: bigint): number => Number(ns / nsPerUs);

const msBetween = (startNs: bigint, endNs: bigint): number =>
  endNs > startNs ? Number(endNs - startNs) / Number(nsPerMs) : 0;

const unitUs: Readonly<Record<string, number>> = {
  us: 1,
  ms: 1000,
  s: 1_000_000,
  m: 60_000_000,
  h: 3_600_000_000,
};

/** Reads a duration such as `250ms`, whose form has been checked. */
export function durationUs(text: string): number {
  const [, count, unit = ""] = /^(\d+)([a-z]+)$/.exec(text) ?? [];
  return Number(count) * (unitUs[unit] ?? Number.NaN);
}

/** Attributes by name, their values as JSON can write them. */
export type AttributeValues = Readonly<Record<string, unknown>>;

/** What may be left out of a span that has too much of it. */
interface Described {
  readonly attributes: AttributeValues;
  readonly droppedAttributes: number;
}

export interface SpanEventData extends Described {
  readonly timeNs: bigint;
  readonly name: string;
}

export interface SpanLinkData extends Described {
  readonly traceId: string;
  readonly spanId: string;
}

export interface SpanData extends Described {
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for a root. */
  readonly parentSpanId: string;
  readonly traceState: string;
  readonly scope: string;
  readonly name: string;
  readonly kind: SpanKindName;
  readonly startNs: bigint;
  readonly endNs: bigint;
  readonly status: SpanStatus;
  readonly statusMessage: string;
  readonly events: readonly SpanEventData[];
  readonly droppedEvents: number;
  readonly links: readonly SpanLinkData[];
  readonly droppedLinks: number;
}

const described = ({ attributes, droppedAttributes }: Described) => ({
  attributes,
  ...(droppedAttributes > 0 && { dropped_attributes: droppedAttributes }),
});

function toSpan(span: SpanData): Omit<Span, "resource" | "origin"> {
  return {
    span_id: span.spanId,
    parent_span_id: span.parentSpanId,
    name: span.name,
    kind: span.kind,
    start: timestampOfNs(span.startNs),
    duration_ms: msBetween(span.startNs, span.endNs),
    status: span.status,
    status_message: span.statusMessage,
    trace_state: span.traceState,
    scope: span.scope,
    ...described(span),
    events: span.events.map((event) => ({
      time: timestampOfNs(event.timeNs),
      name: event.name,
      ...described(event),
    })),
    ...(span.droppedEvents > 0 && { dropped_events: span.droppedEvents }),
    links: span.links.map((link) => ({ trace_id: link.traceId, span_id: link.spanId, ...described(link) })),
    ...(span.droppedLinks > 0 && { dropped_links: span.droppedLinks }),
  };
}

/** Makes a span ready to be kept. One that ends before it begins ends when it begins. */
export function keptSpan(span: SpanData): KeptSpan {
  const { traceId, spanId, parentSpanId, name, status, startNs, endNs } = span;
  return {
    traceId,
    spanId,
    name,
    isRoot: parentSpanId === "",
    isError: status === "error",
    startUs: usOfNs(startNs),
    endUs: Math.max(usOfNs(startNs), usOfNs(endNs)),
    json: JSON.stringify(toSpan(span)),
  };
}
