import { createPackageManagerProbe } from "#adapters/packages/index.ts";
import { createUnitExamination } from "#adapters/systemd/examination.ts";
import { ownServiceUnit } from "#adapters/systemd/index.ts";
import type { Caller } from "#contract/operation.ts";
import { opsProbe, type Prober } from "#domain/health/prober.ts";
import type { LogReader } from "#domain/logs/reader.ts";
import { isWithin } from "#domain/logs/unit-pattern.ts";
import type { HostFacts } from "#domain/ports/host.ts";
import type { UnitDetails, UnitExamination } from "#domain/ports/unit-details.ts";
import type { Units } from "#domain/ports/units.ts";
import { systemHandlers, unitHandlers } from "#domain/system/handlers.ts";
import { createUnitLog } from "#domain/system/unit-log.ts";
import type { RootSide } from "#root/request.ts";
import { throughRoot, unitsThroughRoot } from "#root/through-root.ts";
import { openHost } from "../host.ts";
import type { PartContext } from "../part.ts";
import type { TracedParts } from "../tracing/tracing.ts";

interface LogsOfUnits {
  readonly reader: LogReader;
  readonly unitsOf: (caller: Caller) => "all" | readonly string[];
}

export function createSystemPart(
  ports: Pick<PartContext, "clock"> & {
    readonly host: Pick<HostFacts, "info">;
    readonly units: Units;
    readonly ownUnit: string | undefined;
    readonly details: UnitDetails;
    readonly examination: UnitExamination;
    readonly logs: LogsOfUnits;
  },
) {
  const { details, examination, logs, clock } = ports;
  const log = createUnitLog({
    readLogs: logs.reader.read,
    seesLog(caller, unit) {
      const granted = logs.unitsOf(caller);
      return granted === "all" || granted.some((pattern) => isWithin(unit, pattern));
    },
    clock,
  });
  const handlers = { ...systemHandlers(ports), ...unitHandlers({ details, examination, log }) };
  return { handlers, units: ports.units };
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
  { clock }: Pick<PartContext, "clock">,
  built: {
    readonly host: Pick<BuiltHost, "facts" | "systemd">;
    readonly rootSide: RootSide | undefined;
    readonly traced: Pick<TracedParts, "exec">;
    readonly logs: LogsOfUnits;
  },
) {
  const { host, rootSide, traced, logs } = built;
  const { units: own, details } = host.systemd;
  const units = throughRoot(own, rootSide, (request) => unitsThroughRoot(own, request));
  const examination = createUnitExamination(traced);
  return createSystemPart({ clock, host: host.facts, units, ownUnit: ownServiceUnit(), details, examination, logs });
}
