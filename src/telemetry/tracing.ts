import { AsyncLocalStorage } from "node:async_hooks";

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
  readonly span: <T>(
    kind: SpanKind,
    name: string,
    attributes: Attributes,
    work: (span: Span) => Promise<T>,
  ) => Promise<T>;
  readonly begin: (kind: SpanKind, name: string, attributes: Attributes) => OpenSpan | undefined;
  readonly headers: () => TraceHeaders;
}

export interface Tracing {
  readonly tracer: Tracer;
  readonly close: () => Promise<void>;
}

const nowhere: Span = { set: () => undefined, fail: () => undefined };

async function within<T>(span: OpenSpan, work: (span: Span) => Promise<T>): Promise<T> {
  try {
    return await span.run(() => work(span));
  } catch (error) {
    span.fail(errorTypeOf(error));
    throw error;
  } finally {
    span.end();
  }
}

/** What a tracer is made of. A `Place` is where in a trace spans begin. */
export interface SpanMaker<Place> {
  /** Below the span of a caller; that of a new trace without one. */
  readonly below: (traceparent: string | undefined, tracestate: string | undefined) => Place;
  readonly start: (
    kind: SpanKind | "server",
    name: string,
    attributes: Attributes,
    place: Place,
  ) => { readonly span: Omit<RequestSpan, "run">; readonly inside: Place };
  readonly headers: (place: Place) => TraceHeaders;
}

export function createTracer<Place>({ below, start, headers }: SpanMaker<Place>): Tracer {
  const active = new AsyncLocalStorage<{ readonly place: Place; readonly root: { isOver: boolean } }>();

  /** Undefined outside of a trace, and in what continues after its end, such as timers. */
  const current = () => {
    const scope = active.getStore();
    return scope?.root.isOver === true ? undefined : scope;
  };

  const open = (root: { isOver: boolean }, ...given: Parameters<typeof start>): RequestSpan => {
    const { span, inside } = start(...given);
    return { ...span, run: (work) => active.run({ place: inside, root }, work) };
  };

  const openRoot = (...given: Parameters<typeof start>): RequestSpan => {
    const root = { isOver: false };
    const span = open(root, ...given);
    return {
      ...span,
      end() {
        root.isOver = true;
        span.end();
      },
    };
  };

  const begin: Tracer["begin"] = (kind, name, attributes) => {
    const scope = current();
    return scope && open(scope.root, kind, name, attributes, scope.place);
  };

  return {
    request(name, attributes, { traceparent, tracestate }) {
      const one = (header: string | string[] | undefined) => (typeof header === "string" ? header : undefined);
      return openRoot("server", name, attributes, below(one(traceparent), one(tracestate)));
    },
    operation: (name, attributes, traceparent, work) =>
      within(openRoot("internal", name, attributes, below(traceparent, undefined)), work),
    begin,
    span(kind, name, attributes, work) {
      const span = begin(kind, name, attributes);
      return span === undefined ? work(nowhere) : within(span, work);
    },
    headers() {
      const scope = current();
      return scope === undefined ? {} : headers(scope.place);
    },
  };
}

/** The name of an error: its message may hold anything. */
export const errorTypeOf = (error: unknown): string => (error instanceof Error ? error.name : "unknown");

const tracesPath = "v1/traces";

export function tracesUrl(endpoint: string): string {
  const url = new URL(endpoint);
  if (!url.pathname.endsWith(`/${tracesPath}`)) url.pathname = `${url.pathname.replace(/\/$/, "")}/${tracesPath}`;
  return url.href;
}

export interface TraceParent {
  /** 32 hex digits. */
  readonly traceId: string;
  /** 16 hex digits. */
  readonly spanId: string;
  readonly isSampled: boolean;
}

const pattern = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const sampledFlag = 1;

const isZero = (digits: string): boolean => /^0+$/.test(digits);

/** Parses `traceparent` (https://www.w3.org/TR/trace-context/#traceparent-header), also of later versions; undefined when malformed. */
export function parseTraceparent(text: string): TraceParent | undefined {
  const [, version, traceId = "", spanId = "", flags = "", rest] = pattern.exec(text) ?? [];
  if (version === undefined || version === "ff" || (version === "00" && rest !== undefined)) return undefined;
  if (isZero(traceId) || isZero(spanId)) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & sampledFlag) === sampledFlag };
}

export const formatTraceparent = ({ traceId, spanId, isSampled }: TraceParent): string =>
  `00-${traceId}-${spanId}-${isSampled ? "01" : "00"}`;
