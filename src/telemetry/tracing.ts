/**
 * What is known of a span, by the names of OpenTelemetry's semantic conventions where they have one. Never a text that somebody
 * else has written, a path, a query or a header: they may hold secrets.
 */
export type Attributes = Readonly<Record<string, string | number | boolean | string[] | undefined>>;

/** `client`: the work is done by another program, which was asked for it. */
export type SpanKind = "internal" | "client";

/** A span that has begun. */
export interface Span {
  readonly set: (attributes: Attributes) => void;
  /** Marks it as failed. @param type what kind of failure it was, one of few. */
  readonly fail: (type: string) => void;
}

/** A span whose end is not that of a promise. */
export interface OpenSpan extends Span {
  /** Does work whose spans are children of this one. */
  readonly run: <T>(work: () => T) => T;
  readonly end: () => void;
}

/** The span of a request that was received. */
export interface RequestSpan extends OpenSpan {
  /** 32 hex digits. */
  readonly traceId: string;
}

/** The headers of W3C Trace Context: `traceparent`, and `tracestate` where there is one. */
export type TraceHeaders = Readonly<Record<string, string>>;

/**
 * Makes spans. A trace begins with a request or an operation: what the service does by itself, all day long, has none, and
 * spans that would have no parent are not made. Whoever has no tracer traces nothing, and pays nothing.
 */
export interface Tracer {
  /** Whether the next request of this route is to have a span; without it all are. */
  readonly takes?: (route: string) => boolean;
  /** Begins the span of a request, as a child of what its headers name where they are well formed. */
  readonly request: (
    name: string,
    attributes: Attributes,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ) => RequestSpan;
  /** Does an operation within a span of its own, a child of the request that began it. */
  readonly operation: <T>(
    name: string,
    attributes: Attributes,
    traceparent: string | undefined,
    work: (span: Span) => Promise<T>,
  ) => Promise<T>;
  /** Does work within a span. One that rejects has failed. */
  readonly span: <T>(
    kind: SpanKind,
    name: string,
    attributes: Attributes,
    work: (span: Span) => Promise<T>,
  ) => Promise<T>;
  /** Begins a span that is ended by hand; undefined outside of a trace. */
  readonly begin: (kind: SpanKind, name: string, attributes: Attributes) => OpenSpan | undefined;
  /** Headers that tell another program which span its work is for; none outside of a trace. */
  readonly headers: () => TraceHeaders;
}

/** Where spans go, and what is left of it at the end. */
export interface Tracing {
  readonly tracer: Tracer;
  /** Sends what waits, for a moment at most. */
  readonly close: () => Promise<void>;
}

/** Does work within a span that has begun, and ends it. */
export async function within<T>(span: OpenSpan, work: (span: Span) => Promise<T>): Promise<T> {
  try {
    return await span.run(() => work(span));
  } catch (error) {
    span.fail(errorTypeOf(error));
    throw error;
  } finally {
    span.end();
  }
}

const nowhere: Span = { set: () => undefined, fail: () => undefined };

/** Spans of the length of their work, by way of those that are ended by hand. */
export const spanOf =
  (begin: Tracer["begin"]): Tracer["span"] =>
  (kind, name, attributes, work) => {
    const span = begin(kind, name, attributes);
    return span === undefined ? work(nowhere) : within(span, work);
  };

/** The kind of an error: never its message, which may hold anything. */
export const errorTypeOf = (error: unknown): string => (error instanceof Error ? error.name : "unknown");
