import type { StartDetached } from "#adapters/exec/detached.ts";
import { startDetached } from "#adapters/exec/detached.ts";
import type { Exec } from "#adapters/exec/index.ts";
import { exec } from "#adapters/exec/index.ts";
import type { HostJournal } from "#adapters/journald/index.ts";
import type { ObserveCall } from "#adapters/systemd/connection.ts";
import type { Config } from "#config/load.ts";
import type { TaskOutcome } from "#domain/operations/task.ts";
import type { ConnectorDiscovery, ConnectorPlan } from "#domain/ports/connectors.ts";
import type { OperationSpec } from "#domain/ports/operations.ts";
import { errorSummary } from "#kernel/errors.ts";
import type { Logger } from "#telemetry/logger.ts";
import type { SpanResult } from "#telemetry/metrics.ts";
import type { Tracer, Tracing } from "#telemetry/tracing.ts";
import * as traced from "./traced-ports.ts";

export async function createHostTracing(
  { settings }: Pick<Config, "settings">,
  ports: {
    readonly version: string;
    readonly log: Logger;
    readonly onSpans: (result: SpanResult, count: number) => void;
  },
): Promise<Tracing | undefined> {
  const { endpoint, protocol = "http", sample = 1 } = settings.tracing ?? {};
  if (endpoint === undefined) return undefined;
  const { version, log, onSpans } = ports;
  const { createOtlpTracing } = await import("#telemetry/otlp.ts");
  // Without name and password, which the address may have.
  const { host: collector } = new URL(endpoint);
  onSpans("exported", 0);
  onSpans("dropped", 0);
  return createOtlpTracing({
    endpoint,
    protocol,
    sample,
    version,
    onSpans,
    onLost: (error) => log.warn({ collector, reason: errorSummary(error) }, "cannot export traces"),
    onBack: () => log.info({ collector }, "traces are exported again"),
  });
}

export interface TracedParts {
  readonly exec: Exec;
  readonly startDetached: StartDetached;
  readonly observeCall: ObserveCall | undefined;
  readonly requestOptions: { readonly headers?: Tracer["headers"] };
  readonly journalOf: (journal: HostJournal) => HostJournal;
  readonly connectorsOf: <T extends Connectors>(connectors: T) => T;
}

interface Connectors {
  readonly plan: ConnectorPlan;
  readonly discovery: ConnectorDiscovery;
}

export const untraced: TracedParts = {
  exec,
  startDetached,
  observeCall: undefined,
  requestOptions: {},
  journalOf: (journal) => journal,
  connectorsOf: (connectors) => connectors,
};

export function createTracedParts(tracer: Tracer | undefined): TracedParts {
  if (tracer === undefined) return untraced;
  return {
    exec: traced.tracedExec(exec, tracer),
    startDetached: traced.tracedStart(startDetached, tracer),
    observeCall: traced.tracedCalls(tracer),
    requestOptions: { headers: tracer.headers },
    journalOf: (host) => ({ ...host, journal: traced.tracedJournal(host.journal, tracer) }),
    connectorsOf: (connectors) => ({
      ...connectors,
      plan: traced.tracedPlan(connectors.plan, tracer),
      discovery: traced.tracedDiscovery(connectors.discovery, tracer),
    }),
  };
}

export function tracedOperation(
  tracer: Tracer | undefined,
  spec: OperationSpec | undefined,
  work: () => Promise<TaskOutcome>,
): Promise<TaskOutcome> {
  if (tracer === undefined || spec === undefined) return work();
  const { id, kind, traceparent } = spec;
  const attributes = { "steward.operation.id": id, "steward.operation.kind": kind };
  return tracer.operation(`operation ${kind}`, attributes, traceparent, async (span) => {
    const outcome = await work();
    span.set({ "steward.operation.outcome": outcome });
    if (outcome === "failed") span.fail(outcome);
    return outcome;
  });
}
