import { createProcesses } from "#adapters/procfs/processes.ts";
import { createUnitExamination } from "#adapters/systemd/examination.ts";
import { ownServiceUnit } from "#adapters/systemd/index.ts";
import type { PartContext } from "#app/part.ts";
import type { Caller } from "#contract/operation.ts";
import { scopeLack } from "#domain/access/needs.ts";
import { matchesPattern, resourcesOf } from "#domain/access/scopes.ts";
import { isWithin } from "#domain/logs/unit-pattern.ts";
import type { HostFacts } from "#domain/ports/host.ts";
import type { Processes } from "#domain/ports/processes.ts";
import type { UnitDetails, UnitExamination } from "#domain/ports/unit-details.ts";
import type { Units } from "#domain/ports/units.ts";
import { systemHandlers, unitHandlers } from "#domain/system/handlers.ts";
import { processHandlers } from "#domain/system/process-list.ts";
import type { Own } from "#domain/system/process-signal.ts";
import { createUnitLog } from "#domain/system/unit-log.ts";
import { ownersThroughRoot, processesThroughRoot } from "#root/processes-through-root.ts";
import type { RootSide } from "#root/request.ts";
import { throughRoot, unitsThroughRoot } from "#root/through-root.ts";
import type { HostPart, TracesPart } from "./host.ts";
import type { LogsPart } from "./logs.ts";

interface Earlier {
  readonly traces: Pick<TracesPart, "traced">;
  readonly rootSide: RootSide | undefined;
  readonly host: Pick<HostPart, "open">;
  readonly logs: Pick<LogsPart, "reader" | "unitsOf">;
}

interface SystemAdapters {
  readonly facts: Pick<HostFacts, "info">;
  readonly units: Units;
  readonly details: UnitDetails;
  readonly examination: UnitExamination;
  readonly processes: Processes;
  /** The processes and the unit of this service. */
  readonly own: Own;
}

function openSystem({ clock }: Pick<PartContext, "clock">, { traces, rootSide, host }: Earlier): SystemAdapters {
  const { facts, systemd } = host.open();
  const { details } = systemd;
  const processes = createProcesses({ clock, owners: rootSide && ownersThroughRoot(rootSide.request, clock) });
  return {
    facts,
    details,
    units: throughRoot(systemd.units, rootSide, (request) => unitsThroughRoot(systemd.units, request)),
    examination: createUnitExamination(traces.traced),
    processes: throughRoot(processes, rootSide, (request) => processesThroughRoot(processes, request, clock)),
    own: { pids: [process.pid], unit: ownServiceUnit() },
  };
}

/** What runs: the host, its units and its processes. */
export function systemPart(
  context: Pick<PartContext, "clock">,
  earlier: Earlier,
  adapters = openSystem(context, earlier),
) {
  const { clock } = context;
  const { logs } = earlier;
  const { facts, units, details, examination, processes, own } = adapters;
  const log = createUnitLog({
    readLogs: logs.reader.read,
    seesLog(caller, unit) {
      const granted = logs.unitsOf(caller);
      return granted === "all" || granted.some((pattern) => isWithin(unit, pattern));
    },
    clock,
  });
  const rights = {
    unitsOf: ({ scopes }: Caller, scope: Parameters<typeof resourcesOf>[1]) => resourcesOf(scopes, scope),
    matches: matchesPattern,
    lackOf: scopeLack,
  };
  return {
    handlers: {
      ...systemHandlers({ host: facts, units, ownUnit: own.unit }),
      ...unitHandlers({ details, examination, log }),
      ...processHandlers({ processes, units, own, rights, clock }),
    },
    units,
  };
}
