import type { PartContext } from "#app/part.ts";
import { createTraceParts } from "#app/tracing/receiver.ts";
import { createHostTracing, createTracedParts } from "#app/tracing/tracing.ts";
import type { TraceStore } from "#domain/ports/traces.ts";
import { tracesHandlers } from "#domain/traces/handlers.ts";

export const createTracesPart = (ports: { readonly store: Pick<TraceStore, "list" | "trace"> }) => ({
  handlers: tracesHandlers(ports),
});

export async function buildTracesPart({ config, version, log, metrics }: PartContext) {
  const ports = { version, log, onSpans: metrics.traceSpans };
  const tracing = await createHostTracing(config, ports);
  const { store, own, open, close } = createTraceParts(config, ports);
  const tracer = tracing?.tracer ?? own?.tracer;
  return {
    ...createTracesPart({ store }),
    tracer,
    traced: createTracedParts(tracer),
    ready: open,
    async dispose(): Promise<void> {
      await close();
      await tracing?.close();
    },
  };
}
