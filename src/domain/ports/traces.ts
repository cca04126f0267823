import type { SpanOrigin, TraceSummary } from "#contract/traces.ts";

/** A span in the form in which it is kept. */
export interface KeptSpan {
  /** 32 hex digits in lower case. */
  readonly traceId: string;
  /** 16 hex digits in lower case. */
  readonly spanId: string;
  readonly isRoot: boolean;
  readonly isError: boolean;
  readonly name: string;
  /** Microseconds since the epoch. */
  readonly startUs: number;
  readonly endUs: number;
  /** The span of an answer as a JSON object that has members, without its resource. */
  readonly json: string;
}

/** Spans that are from the same resource. */
export interface SpanGroup {
  /** `service.name`; empty where it has none. */
  readonly service: string;
  /** The attributes of the resource as JSON. */
  readonly resource: string;
  readonly spans: readonly KeptSpan[];
}

/**
 * Who spans are from, which nothing in them can say: the service itself, or the user whose program has sent them by its number;
 * another number below 0 where the kernel does not name one.
 */
export type SpanSource = number;

export const ownSource: SpanSource = -1;

/** What became of spans that were to be kept. A span that was there already counts as kept. */
export interface Keeping {
  readonly kept: number;
  /** Their traces were full. */
  readonly rejected: number;
}

export interface TraceQuery {
  /** Only traces that have a span of it. */
  readonly service: string | undefined;
  /** Only traces that have a span of such an origin. */
  readonly origin: SpanOrigin | undefined;
  /** Microseconds; 0 for all. */
  readonly minDurationUs: number;
  /** Microseconds since the epoch; 0 for all. */
  readonly sinceUs: number;
  readonly limit: number;
}

/** The newest traces, as many as there is room for. Each function may throw {@link TracesUnavailable}. */
export interface TraceStore {
  /** Where there is no room, the oldest make it, by their arrival, of whoever has the most. */
  readonly add: (groups: readonly SpanGroup[], source: SpanSource) => Promise<Keeping>;
  /** By their start, the newest first. */
  readonly list: (query: TraceQuery) => Promise<readonly TraceSummary[]>;
  /** The answer about one trace as JSON, its spans by their start; undefined when it is not there. */
  readonly trace: (traceId: string) => Promise<Uint8Array | undefined>;
}

/** Traces cannot be read or kept at the moment. */
export class TracesUnavailable extends Error {
  override readonly name = "TracesUnavailable";
}

/** The most spans of one trace that are kept, and the most text of them. */
export const maxTraceSpans = 10_000;

export const maxTraceBytes = 8 * 1024 * 1024;
