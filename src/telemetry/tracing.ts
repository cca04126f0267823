/** Attributes by OpenTelemetry's semantic conventions. Never foreign texts, paths, queries or headers, which may hold secrets. */
export type Attributes = Readonly<Record<string, string | number | boolean | string[] | undefined>>;

/** `client`: a request to another program. */
export type SpanKind = "internal" | "client";

export interface Span {
  readonly set: (attributes: Attributes) => void;
  /** Marks it as failed. @param type one of few kinds of failure. */
  readonly fail: (type: string) => void;
}

export interface OpenSpan extends Span {
  /** Runs work whose spans become children. */
  readonly run: <T>(work: () => T) => T;
  readonly end: () => void;
}

export interface RequestSpan extends OpenSpan {
  /** 32 hex digits. */
  readonly traceId: string;
}

/** `traceparent` and `tracestate` of W3C Trace Context. */
export type TraceHeaders = Readonly<Record<string, string>>;

/** Makes spans. A trace begins with a request or an operation; background work has none. */
export interface Tracer {
  /** Whether the next request of this route gets a span; all do without it. */
  readonly takes?: (route: string) => boolean;
  /** Begins the span of a request, a child of the one in its headers. */
  readonly request: (
    name: string,
    attributes: Attributes,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ) => RequestSpan;
  /** Runs an operation in a span, a child of the request that began it. */
  readonly operation: <T>(
    name: string,
    attributes: Attributes,
    traceparent: string | undefined,
    work: (span: Span) => Promise<T>,
  ) => Promise<T>;
  /** Runs work in a span, which fails with it. */
  readonly span: <T>(
    kind: SpanKind,
    name: string,
    attributes: Attributes,
    work: (span: Span) => Promise<T>,
  ) => Promise<T>;
  /** Begins a span that is ended by hand; undefined outside of a trace. */
  readonly begin: (kind: SpanKind, name: string, attributes: Attributes) => OpenSpan | undefined;
  /** Headers for requests to other programs; none outside of a trace. */
  readonly headers: () => TraceHeaders;
}

export interface Tracing {
  readonly tracer: Tracer;
  readonly close: () => Promise<void>;
}

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

export const spanOf =
  (begin: Tracer["begin"]): Tracer["span"] =>
  (kind, name, attributes, work) => {
    const span = begin(kind, name, attributes);
    return span === undefined ? work(nowhere) : within(span, work);
  };

/** The name of an error: its message may hold anything. */
export const errorTypeOf = (error: unknown): string => (error instanceof Error ? error.name : "unknown");

const tracesPath = "v1/traces";

export function tracesUrl(endpoint: string): string {
  const url = new URL(endpoint);
  if (!url.pathname.endsWith(`/${tracesPath}`)) url.pathname = `${url.pathname.replace(/\/$/, "")}/${tracesPath}`;
  return url.href;
}
