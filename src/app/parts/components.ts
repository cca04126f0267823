import type { Part, PartContext } from "#app/part.ts";
import type { Probed, Prober } from "#domain/health/prober.ts";
import type { Probe, ProbeResult } from "#domain/ports/probe.ts";

export function createComponentsPart(
  ports: Pick<PartContext, "log" | "metrics"> & {
    readonly prober: Prober;
    readonly probes: Probed["probes"];
    readonly added: Readonly<Record<string, Probe>>;
    readonly onResult: (component: string, result: ProbeResult) => void;
  },
): Part {
  const { log, metrics, prober, probes, added } = ports;
  return {
    start: () =>
      prober.start({
        probes,
        added,
        onChange(component, result) {
          const { healthy, expected, reason } = result;
          ports.onResult(component, result);
          metrics.componentUp(component, healthy);
          if (healthy) log.info({ component }, "component healthy");
          else log[expected ? "warn" : "info"]({ component, reason }, "component unhealthy");
        },
      }),
    dispose: prober.dispose,
  };
}
