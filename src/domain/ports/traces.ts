import type { SpanOrigin, TraceSummary } from "#contract/traces.ts";

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
  /** The span of an answer as a JSON object with members, without its resource. */
  readonly json: string;
}

/** Spans of the same resource. */
export interface SpanGroup {
  readonly service: string;
  /** Attributes as JSON. */
  readonly resource: string;
  readonly spans: readonly KeptSpan[];
}

/** The sender of spans, not stated in them: the service itself, the user id of the sending program, or another negative number. */
export type SpanSource = number;

export const ownSource: SpanSource = -1;

/** A span that was there already counts as kept. */
export interface Keeping {
  readonly kept: number;
  readonly rejected: number;
}

export interface TraceQuery {
  /** Only traces with a span of it. */
  readonly service: string | undefined;
  /** Only traces with a span of this origin. */
  readonly origin: SpanOrigin | undefined;
  /** Microseconds; 0 for all. */
  readonly minDurationUs: number;
  /** Microseconds since the epoch; 0 for all. */
  readonly sinceUs: number;
  /** Only what is listed behind this trace: earlier ones, and of those of the same time the ones with a smaller id. */
  readonly after: { readonly startUs: number; readonly traceId: string } | undefined;
  readonly limit: number;
}

/** The newest traces, within a size limit. Each function may throw {@link TracesUnavailable}. */
export interface TraceStore {
  /** Replaces the oldest by arrival, of the largest source. */
  readonly add: (groups: readonly SpanGroup[], source: SpanSource) => Promise<Keeping>;
  /** Newest first; of the same time by their ids, from the greatest. */
  readonly list: (query: TraceQuery) => Promise<readonly TraceSummary[]>;
  /** JSON of a trace, its spans sorted by start. */
  readonly trace: (traceId: string) => Promise<Uint8Array | undefined>;
}

export class TracesUnavailable extends Error {
  override readonly name = "TracesUnavailable";
}

/** Limits of one trace. */
export const maxTraceSpans = 10_000;

export const maxTraceBytes = 8 * 1024 * 1024;
