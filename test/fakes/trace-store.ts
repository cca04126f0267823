import type { SpanOrigin } from "#contract/traces.ts";
import {
  type KeptSpan,
  maxTraceSpans,
  ownSource,
  type SpanGroup,
  type SpanSource,
  type TraceStore,
  TracesUnavailable,
} from "#domain/ports/traces.ts";
import { timestampOfUs } from "#domain/traces/span.ts";

export interface FakeTraceStore extends TraceStore {
  /** Whether it answers at all. */
  available: boolean;
}

interface Kept extends KeptSpan {
  readonly service: string;
  readonly resource: string;
  readonly source: SpanSource;
}

const originOf = ({ source }: Kept): SpanOrigin => (source === ownSource ? "own" : "received");

/** Traces in memory, without a limit to their size. */
export function createFakeTraceStore(): FakeTraceStore {
  const traces = new Map<string, Map<string, Kept>>();
  /** Spans by source and trace. */
  const counts = new Map<string, number>();
  const answer = <T>(work: () => T): Promise<T> =>
    fake.available ? Promise.resolve(work()) : Promise.reject(new TracesUnavailable("the disk is full"));

  const summaryOf = (traceId: string, spans: readonly Kept[]) => {
    const sorted = spans.toSorted((a, b) => a.startUs - b.startUs);
    const named = spans.find(({ isRoot }) => isRoot) ?? sorted[0];
    const startUs = Math.min(...spans.map((span) => span.startUs));
    const endUs = Math.max(...spans.map((span) => span.endUs));
    return {
      startUs,
      endUs,
      services: new Set(spans.map(({ service }) => service)),
      origins: new Set(spans.map(originOf)),
      summary: {
        trace_id: traceId,
        name: named?.name ?? "",
        service: named?.service ?? "",
        origin: named === undefined ? ("received" as const) : originOf(named),
        start: timestampOfUs(startUs),
        duration_ms: (endUs - startUs) / 1000,
        spans: spans.length,
        errors: spans.filter(({ isError }) => isError).length,
      },
    };
  };

  const put = ({ service, resource, spans }: SpanGroup, source: SpanSource): number => {
    let rejected = 0;
    for (const span of spans) {
      const trace = traces.get(span.traceId) ?? new Map<string, Kept>();
      traces.set(span.traceId, trace);
      const key = `${source} ${span.spanId}`;
      const count = counts.get(`${source} ${span.traceId}`) ?? 0;
      if (count >= maxTraceSpans) rejected += 1;
      else if (!trace.has(key)) {
        trace.set(key, { ...span, service, resource, source });
        counts.set(`${source} ${span.traceId}`, count + 1);
      }
    }
    return rejected;
  };

  const fake: FakeTraceStore = {
    available: true,
    add: (groups, source) =>
      answer(() => {
        const total = groups.reduce((sum, { spans }) => sum + spans.length, 0);
        const rejected = groups.reduce((sum, group) => sum + put(group, source), 0);
        return { kept: total - rejected, rejected };
      }),
    list: ({ service, origin, minDurationUs, sinceUs, after, limit }) =>
      answer(() =>
        [...traces]
          .map(([traceId, spans]) => summaryOf(traceId, [...spans.values()]))
          .filter(
            ({ startUs, endUs, services, origins, summary: { trace_id: id } }) =>
              (after === undefined || startUs < after.startUs || (startUs === after.startUs && id < after.traceId)) &&
              startUs >= sinceUs &&
              endUs - startUs >= minDurationUs &&
              (origin === undefined || origins.has(origin)) &&
              (service === undefined || services.has(service)),
          )
          .sort((a, b) => b.startUs - a.startUs || (a.summary.trace_id < b.summary.trace_id ? 1 : -1))
          .slice(0, limit)
          .map(({ summary }) => summary),
      ),
    trace: (traceId) =>
      answer(() => {
        const spans = [...(traces.get(traceId)?.values() ?? [])].sort((a, b) => a.startUs - b.startUs);
        if (spans.length === 0) return undefined;
        const entries = spans.map((span) => ({
          ...JSON.parse(span.json),
          origin: originOf(span),
          resource: JSON.parse(span.resource),
        }));
        return new Uint8Array(Buffer.from(JSON.stringify({ trace_id: traceId, spans: entries })));
      }),
  };
  return fake;
}
