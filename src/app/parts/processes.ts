import { createProcesses } from "#adapters/procfs/processes.ts";
import { ownServiceUnit } from "#adapters/systemd/index.ts";
import type { PartContext } from "#app/part.ts";
import { scopeLack } from "#domain/access/needs.ts";
import { matchesPattern, resourcesOf } from "#domain/access/scopes.ts";
import type { Processes } from "#domain/ports/processes.ts";
import type { Units } from "#domain/ports/units.ts";
import { processHandlers } from "#domain/system/process-list.ts";
import type { Own } from "#domain/system/process-signal.ts";
import { ownersThroughRoot, processesThroughRoot } from "#root/processes-through-root.ts";
import type { RootSide } from "#root/request.ts";
import { throughRoot } from "#root/through-root.ts";

export function createProcessesPart(
  ports: Pick<PartContext, "clock"> & {
    readonly processes: Processes;
    readonly units: Pick<Units, "read">;
    readonly own: Own;
  },
) {
  const unitsOf: Parameters<typeof processHandlers>[0]["rights"]["unitsOf"] = ({ scopes }, scope) =>
    resourcesOf(scopes, scope);
  return { handlers: processHandlers({ ...ports, rights: { unitsOf, matches: matchesPattern, lackOf: scopeLack } }) };
}

export function buildProcessesPart(
  { clock }: PartContext,
  { units, rootSide }: { readonly units: Pick<Units, "read">; readonly rootSide: RootSide | undefined },
) {
  const owners = rootSide && ownersThroughRoot(rootSide.request, clock);
  const own = createProcesses({ clock, owners });
  const processes = throughRoot(own, rootSide, (request) => processesThroughRoot(own, request, clock));
  return createProcessesPart({ clock, processes, units, own: { pids: [process.pid], unit: ownServiceUnit() } });
}
