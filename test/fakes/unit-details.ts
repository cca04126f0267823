import type { InspectedService, KindUnit, UnitDetails } from "#domain/ports/unit-details.ts";
import type { Units } from "#domain/ports/units.ts";

const nothing = {
  documentation: [],
  loadError: "",
  needsReload: false,
  ...{ type: "simple", restart: "no", user: "", group: "", busName: "" },
  ...{ slice: "system.slice", controlGroup: "", invocation: "", statusText: "", sourcePath: "" },
  fragment: undefined,
  dropIns: [],
  commands: [],
  unmet: [],
  dependencies: {},
  triggers: [],
  usage: {
    ...{ memoryPeakBytes: null, memorySwapBytes: null, cpuNs: null, tasks: null },
    ...{ ioReadBytes: null, ioWriteBytes: null, networkInBytes: null, networkOutBytes: null },
  },
  limits: {
    ...{ memoryMaxBytes: null, memoryHighBytes: null, memorySwapMaxBytes: null, cpuPercent: null },
    ...{ tasksMax: null, openFiles: null, openFilesMax: null, processes: null, runtimeMaxMs: null },
  },
  processes: [],
  processesTotal: 0,
  lastRun: { startedAt: null, endedAt: null, exitCode: null, signal: null },
} as const satisfies Partial<InspectedService>;

/** The details of units in memory. @param given what a service reports besides, by its name. @param others units of other kinds. */
export const createFakeUnitDetails = (
  units: Pick<Units, "read" | "list" | "absence">,
  given: Readonly<Record<string, Partial<InspectedService>>> = {},
  others: readonly KindUnit[] = [],
): UnitDetails => ({
  get absence() {
    return units.absence;
  },
  async inspect(name) {
    const unit = await units.read(name);
    return { ...nothing, names: [unit.name], ...unit, ...given[unit.name] };
  },
  async list({ kinds, activeState, limit }) {
    const services = (await units.list()).map((unit) => ({ ...unit, kind: "service" as const }));
    const all = [...services, ...others]
      .filter((unit) => kinds.includes(unit.kind) && (activeState === undefined || unit.activeState === activeState))
      .toSorted((a, b) => (a.name < b.name ? -1 : 1));
    return { units: all.slice(0, limit), total: all.length };
  },
});
