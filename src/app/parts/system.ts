import { createPackageManagerProbe } from "#adapters/packages/index.ts";
import { ownServiceUnit } from "#adapters/systemd/index.ts";
import { opsProbe, type Prober } from "#domain/health/prober.ts";
import type { HostFacts } from "#domain/ports/host.ts";
import type { Units } from "#domain/ports/units.ts";
import { systemHandlers } from "#domain/system/handlers.ts";
import type { RootSide } from "#root/request.ts";
import { unitsThroughRoot } from "#root/through-root.ts";
import { openHost } from "../host.ts";
import type { PartContext } from "../part.ts";
import type { TracedParts } from "../tracing/tracing.ts";

export function createSystemPart(ports: {
  readonly host: Pick<HostFacts, "info">;
  readonly units: Units;
  readonly ownUnit: string | undefined;
}) {
  return { handlers: systemHandlers(ports), units: ports.units };
}

export function buildHost(
  { config, log, metrics, clock }: PartContext,
  { traced, prober }: { readonly traced: TracedParts; readonly prober: Pick<Prober, "probeNow"> },
) {
  const host = openHost(config.settings, {
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
      if (isFirst) log.warn({ path, what }, "journal file not wholly readable");
    },
  });
  return { ...host, probe: opsProbe(host.systemd.probe, createPackageManagerProbe({ exec: traced.exec, clock })) };
}

export type BuiltHost = ReturnType<typeof buildHost>;

export function buildSystemPart(
  { facts, systemd }: Pick<BuiltHost, "facts" | "systemd">,
  rootSide: RootSide | undefined,
) {
  const units = rootSide === undefined ? systemd.units : unitsThroughRoot(systemd.units, rootSide.request);
  return createSystemPart({ host: facts, units, ownUnit: ownServiceUnit() });
}
