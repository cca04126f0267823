import { serviceListLimit } from "#contract/limits.ts";
import { type Handlers, Versioned } from "#contract/operation.ts";
import type { ServiceEntry, system } from "#contract/system.ts";
import type { units } from "#contract/units.ts";
import { membersUpTo, notShown, pageOf } from "#domain/common/page.ts";
import type { HostFacts } from "#domain/ports/host.ts";
import { unitKinds } from "#domain/ports/unit-details.ts";
import { isPresent, type Unit } from "#domain/ports/units.ts";
import { onHost, type ServicePorts, toServiceEntry } from "./service.ts";
import { createServiceChanges } from "./service-change.ts";
import { createServiceDetails, type DetailPorts } from "./service-details.ts";
import { toUnitEntry } from "./unit-entry.ts";
import { createUnitFileChanges } from "./unit-files.ts";

/** Units are immutable, so their entries are made once. */
const entries = new WeakMap<Unit, ServiceEntry>();

function cachedEntry(unit: Unit): ServiceEntry {
  const entry = entries.get(unit) ?? toServiceEntry(unit);
  entries.set(unit, entry);
  return entry;
}

export function systemHandlers(
  ports: ServicePorts & { readonly host: Pick<HostFacts, "info"> },
): Handlers<typeof system> {
  const { host, units } = ports;
  const change = createServiceChanges(ports);
  const changeFile = createUnitFileChanges(ports);

  return {
    getSystemInfo: () => host.info(),

    async listServices({ query }) {
      const all = await onHost("list services", () => units.list());
      const status = query.status ?? "all";
      const matching = all.filter((unit) => isPresent(unit) && (status === "all" || unit.activeState === status));
      const limit = query.limit ?? serviceListLimit.default;
      const shown = matching.slice(0, limit);
      const total = matching.length;
      return new Versioned([total, ...shown], () => ({
        services: shown.map(cachedEntry),
        total,
        ...notShown("states", units.absence),
      }));
    },

    restartService: (input, context) => change("restart", input, context),
    startService: (input, context) => change("start", input, context),
    stopService: (input, context) => change("stop", input, context),
    reloadService: (input, context) => change("reload", input, context),
    enableService: (input) => changeFile("enable", input),
    disableService: (input) => changeFile("disable", input),
    maskService: (input) => changeFile("mask", input),
    unmaskService: (input) => changeFile("unmask", input),
  };
}

export function unitHandlers(ports: DetailPorts): Handlers<typeof units> {
  return {
    getService: createServiceDetails(ports),

    async listUnits({ query }) {
      const { type = "all", status = "all", limit = serviceListLimit.default, cursor } = query;
      const kinds = type === "all" ? unitKinds : [type];
      const activeState = status === "all" ? undefined : status;
      const wanted = { kinds, activeState, limit: membersUpTo({ limit, cursor }) };
      const { units, total } = await onHost("list units", () => ports.details.list(wanted));
      const { items, shape } = pageOf(units, { limit, cursor }, ({ name }) => name, total);
      return { units: items.map(toUnitEntry), ...shape, ...notShown("states", ports.details.absence) };
    },
  };
}
