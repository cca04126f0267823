import { createPackageManagerProbe } from "#adapters/packages/index.ts";
import type { PartContext } from "#app/part.ts";
import { isLoopbackAddress } from "#config/text.ts";
import { createProber, opsProbe, type Probed } from "#domain/health/prober.ts";
import type { Probe } from "#domain/ports/probe.ts";
import type { AccessPart } from "./access.ts";
import type { AlertsPart } from "./alerts.ts";
import type { AuditPart } from "./audit.ts";
import type { ConnectorsPart } from "./connectors.ts";
import type { HostPart, TracesPart } from "./host.ts";
import type { HttpPart } from "./http.ts";

/** What probes the components, for parts that are made before what is probed. */
export const proberPart = ({ clock }: Pick<PartContext, "clock">) => createProber(clock);

interface Earlier {
  readonly prober: ReturnType<typeof proberPart>;
  readonly audit: Pick<AuditPart, "check">;
  readonly access: Pick<AccessPart, "check">;
  readonly traces: Pick<TracesPart, "traced">;
  readonly host: Pick<HostPart, "open">;
  readonly connectors: Pick<ConnectorsPart, "probe">;
  readonly alerts: Pick<AlertsPart, "probes" | "probed">;
  readonly http: Pick<HttpPart, "probe" | "endpoint">;
}

type ProbeAdapters = Omit<Probed["probes"], "llm">;

function securityProbe({ config }: PartContext, { access, audit, http }: Earlier): Probe {
  const isGuarded = config.tls !== "off" || isLoopbackAddress(config.listen.host);
  return async (signal) => {
    const reason = access.check() ?? audit.check() ?? (isGuarded ? undefined : "TLS is off beyond loopback");
    if (reason !== undefined) return { healthy: false, expected: true, reason };
    // A handshake shows whether the certificate works.
    return config.tls === "off" ? { healthy: true, expected: true } : http.endpoint(signal);
  };
}

function openProbes(context: PartContext, earlier: Earlier): ProbeAdapters {
  const { exec } = earlier.traces.traced;
  const packages = createPackageManagerProbe({ exec, clock: context.clock });
  return {
    cli: earlier.http.probe,
    ops: opsProbe(earlier.host.open().systemd.probe, packages),
    security: securityProbe(context, earlier),
  };
}

/** Probes the components, and says when one has changed. */
export function probesPart(context: PartContext, earlier: Earlier, adapters = openProbes(context, earlier)) {
  const { log, metrics } = context;
  const { prober, connectors, alerts } = earlier;
  return {
    start: () =>
      prober.begin({
        probes: { ...adapters, llm: connectors.probe },
        added: alerts.probes,
        onChange(component, result) {
          const { healthy, expected, reason } = result;
          alerts.probed(component, result);
          metrics.componentUp(component, healthy);
          if (healthy) log.info({ component }, "component healthy");
          else log[expected ? "warn" : "info"]({ component, reason }, "component unhealthy");
        },
      }),
    dispose: prober.end,
  };
}
