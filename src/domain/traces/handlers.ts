import { traceListLimit } from "#contract/limits.ts";
import { type Handlers, SerializedJson } from "#contract/operation.ts";
import type { TraceSummary, traces } from "#contract/traces.ts";
import { DomainError, invalid, readTime } from "#domain/common/error.ts";
import { type TraceQuery, type TraceStore, TracesUnavailable } from "#domain/ports/traces.ts";
import { durationUs, usOfTimestamp } from "./span.ts";

async function onStore<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof TracesUnavailable)) throw error;
    const details = { missing: "traces", retryable: true };
    throw new DomainError("UNAVAILABLE", `cannot read traces: ${error.message}`, details, error);
  }
}

const cursorShape = /^(\d{1,16})\.([0-9a-f]{32})$/;

const cursorBehind = ({ start, trace_id: id }: TraceSummary): string => `${usOfTimestamp(start)}.${id}`;

/** @throws DomainError for a text that is not a cursor. */
function parseCursor(cursor: string): NonNullable<TraceQuery["after"]> {
  const [, startUs, traceId] = cursorShape.exec(cursor) ?? [];
  if (startUs === undefined || traceId === undefined) throw invalid("cursor", "Must be the `next_cursor` of a page");
  return { startUs: Number(startUs), traceId };
}

export function tracesHandlers({ store }: { store: Pick<TraceStore, "list" | "trace"> }): Handlers<typeof traces> {
  return {
    async listTraces({ query }) {
      const { limit = traceListLimit.default, cursor } = query;
      const wanted = {
        service: query.service,
        origin: query.origin,
        minDurationUs: query.min_duration === undefined ? 0 : durationUs(query.min_duration),
        sinceUs: query.since === undefined ? 0 : readTime("since", query.since) * 1000,
        after: cursor === undefined ? undefined : parseCursor(cursor),
        limit: limit + 1,
      };
      const found = await onStore(() => store.list(wanted));
      const page = found.slice(0, limit);
      const last = found.length > limit ? page.at(-1) : undefined;
      return { traces: page, limit, next_cursor: last === undefined ? null : cursorBehind(last) };
    },
    async getTrace({ params }) {
      const id = params.trace_id.toLowerCase();
      const bytes = await onStore(() => store.trace(id));
      if (bytes === undefined) throw new DomainError("NOT_FOUND", `cannot find trace ${id}: it is not kept here`);
      return new SerializedJson(bytes);
    },
  };
}
