import { openHost } from "#app/host.ts";
import type { PartContext } from "#app/part.ts";
import { createTraceParts } from "#app/tracing/receiver.ts";
import { createHostTracing, createTracedParts, type TracedParts } from "#app/tracing/tracing.ts";
import type { Prober } from "#domain/health/prober.ts";
import type { AuditLog } from "#domain/ports/audit.ts";
import type { TraceStore } from "#domain/ports/traces.ts";
import { tracesHandlers } from "#domain/traces/handlers.ts";
import { hasRootSide } from "#root/places.ts";
import { createRootSide, type RootSide } from "#root/request.ts";
import type { Tracer } from "#telemetry/tracing.ts";

interface TraceAdapters {
  readonly store: Pick<TraceStore, "list" | "trace">;
  /** Undefined where nothing is traced. */
  readonly tracer: Tracer | undefined;
  /** Opens the ports that receive traces of others. */
  readonly open?: () => Promise<void>;
  readonly close?: () => Promise<void>;
}

async function openTraces({ config, version, log, metrics }: PartContext): Promise<TraceAdapters> {
  const ports = { version, log, onSpans: metrics.traceSpans };
  const tracing = await createHostTracing(config, ports);
  const { store, own, open, close } = createTraceParts(config, ports);
  return {
    store,
    tracer: tracing?.tracer ?? own?.tracer,
    open,
    async close(): Promise<void> {
      await close();
      await tracing?.close();
    },
  };
}

/** Traces of the service and of others, and what touches the host for the parts that follow, traced. */
export async function tracesPart(context: PartContext, _earlier: unknown, adapters?: TraceAdapters) {
  const { store, tracer, open, close } = adapters ?? (await openTraces(context));
  return {
    handlers: tracesHandlers({ store }),
    tracer,
    traced: createTracedParts(tracer),
    ready: () => open?.(),
    dispose: () => close?.(),
  };
}

export type TracesPart = Awaited<ReturnType<typeof tracesPart>>;

/** A service without rights, as the package installs it, asks root; any other one acts itself. */
export function rootSidePart(
  { config, clock, isSafeMode }: Pick<PartContext, "config" | "clock" | "isSafeMode">,
  { audit }: { readonly audit: { readonly log: Pick<AuditLog, "record"> } },
): RootSide | undefined {
  return hasRootSide(config.stateDir) ? createRootSide({ clock, isSafeMode, audit: audit.log }) : undefined;
}

function openThisHost(
  { config, log, metrics }: PartContext,
  { traced, prober }: { readonly traced: TracedParts; readonly prober: Pick<Prober, "probeNow"> },
) {
  return openHost(config.settings, {
    ...traced,
    stateDir: config.stateDir,
    onStateChange({ up, reason }) {
      if (up) log.info("system bus connected");
      else log.warn({ reason }, "system bus lost");
      // The health status shows a lost bus at once, not at the next probe.
      void prober.probeNow("ops");
    },
    onUnreadable({ path, what, isFirst }) {
      metrics.journalFault();
      if (isFirst) log.warn({ path, what }, "cannot read all of a journal file");
    },
  });
}

type OpenedHost = ReturnType<typeof openThisHost>;

/** What several parts open their adapters with. It is opened by the first that does. */
export function hostPart(
  context: PartContext,
  { traces, prober }: { readonly traces: Pick<TracesPart, "traced">; readonly prober: Pick<Prober, "probeNow"> },
  openOnce: () => OpenedHost = () => openThisHost(context, { traced: traces.traced, prober }),
) {
  let opened: OpenedHost | undefined;
  return {
    open(): OpenedHost {
      opened ??= openOnce();
      return opened;
    },
    dispose: (): void => opened?.dispose(),
  };
}

export type HostPart = ReturnType<typeof hostPart>;
