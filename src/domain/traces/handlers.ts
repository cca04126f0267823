import { traceListLimit } from "#contract/limits.ts";
import { type Handlers, SerializedJson } from "#contract/operation.ts";
import type { traces } from "#contract/traces.ts";
import { DomainError, readTime } from "#domain/common/error.ts";
import { type TraceStore, TracesUnavailable } from "#domain/ports/traces.ts";
import { durationUs } from "./span.ts";

async function onStore<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof TracesUnavailable)) throw error;
    const details = { missing: "traces", retryable: true };
    throw new DomainError("UNAVAILABLE", `cannot read traces: ${error.message}`, details, error);
  }
}

export function tracesHandlers({ store }: { store: Pick<TraceStore, "list" | "trace"> }): Handlers<typeof traces> {
  return {
    async listTraces({ query }) {
      const wanted = {
        service: query.service,
        origin: query.origin,
        minDurationUs: query.min_duration === undefined ? 0 : durationUs(query.min_duration),
        sinceUs: query.since === undefined ? 0 : readTime("since", query.since) * 1000,
        limit: query.limit ?? traceListLimit.default,
      };
      return { traces: [...(await onStore(() => store.list(wanted)))] };
    },
    async getTrace({ params }) {
      const id = params.trace_id.toLowerCase();
      const bytes = await onStore(() => store.trace(id));
      if (bytes === undefined) throw new DomainError("NOT_FOUND", `cannot find trace ${id}: it is not kept here`);
      return new SerializedJson(bytes);
    },
  };
}
