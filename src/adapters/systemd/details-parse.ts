import type {
  Dependencies,
  InspectedService,
  KindUnit,
  UnitCommand,
  UnitKind,
  UnitLastRun,
  UnitLimits,
  UnitProcess,
  UnitUsage,
} from "#domain/ports/unit-details.ts";
import { isRecord } from "#kernel/values.ts";
import { epochMs, hexOf, integer, nextStart, text, texts } from "./parse.ts";

export type Properties = Readonly<Record<string, unknown>>;

export const asProperties = (value: unknown): Properties => (isRecord(value) ? value : {});

const rows = (value: unknown): readonly (readonly unknown[])[] =>
  Array.isArray(value) ? value.filter((row) => Array.isArray(row)) : [];

/** Null for the largest 64-bit number, which stands for "none" and "not accounted". */
const figure = (value: unknown): number | null => integer(value) ?? null;

const exited = 1;

const commandSettings = [
  ...["ExecCondition", "ExecStartPre", "ExecStart", "ExecStartPost"],
  ...["ExecReload", "ExecStop", "ExecStopPost"],
] as const;

/** `a(sasbttttuii)`: path, arguments, whether a failure is ignored, start and end on two clocks, process, code, status. */
function parseCommand(setting: string, row: readonly unknown[]): UnitCommand {
  const [path, argv, ignoresFailure, startedAt, , endedAt, , , code, status] = row;
  const [, ...rest] = texts(argv);
  return {
    setting,
    argv: [text(path), ...rest],
    ignoresFailure: ignoresFailure === true,
    startedAt: epochMs(startedAt),
    endedAt: epochMs(endedAt),
    exitCode: code === exited ? (integer(status) ?? null) : null,
  };
}

const parseCommands = (service: Properties): readonly UnitCommand[] =>
  commandSettings.flatMap((setting) => rows(service[setting]).map((row) => parseCommand(setting, row)));

/** `a(sbbsi)`: its name, whether one of several suffices, whether it is negated, its value, and how it ended: below 0 it did not hold. */
const unmetIn = (value: unknown): readonly string[] =>
  rows(value).flatMap(([name, suffices, isNegated, wanted, state]) =>
    (integer(state) ?? 0) < 0
      ? `${text(name)}=${suffices === true ? "|" : ""}${isNegated === true ? "!" : ""}${text(wanted)}`
      : [],
  );

const dependencyProperties = {
  requires: "Requires",
  requisite: "Requisite",
  binds_to: "BindsTo",
  part_of: "PartOf",
  upholds: "Upholds",
  wants: "Wants",
  conflicts: "Conflicts",
  before: "Before",
  after: "After",
  required_by: "RequiredBy",
  requisite_of: "RequisiteOf",
  bound_by: "BoundBy",
  consists_of: "ConsistsOf",
  upheld_by: "UpheldBy",
  wanted_by: "WantedBy",
  conflicted_by: "ConflictedBy",
  on_success: "OnSuccess",
  on_failure: "OnFailure",
  on_success_of: "OnSuccessOf",
  on_failure_of: "OnFailureOf",
  propagates_reload_to: "PropagatesReloadTo",
  propagates_stop_to: "PropagatesStopTo",
  triggers: "Triggers",
} as const;

/** In the order of names: systemd's own depends on addresses in its memory. */
const dependenciesIn = (unit: Properties): Dependencies =>
  Object.fromEntries(
    Object.entries(dependencyProperties).map(([kind, property]) => [kind, texts(unit[property]).toSorted()]),
  );

const usageIn = (service: Properties): UnitUsage => ({
  memoryPeakBytes: figure(service["MemoryPeak"]),
  memorySwapBytes: figure(service["MemorySwapCurrent"]),
  cpuNs: figure(service["CPUUsageNSec"]),
  tasks: figure(service["TasksCurrent"]),
  ioReadBytes: figure(service["IOReadBytes"]),
  ioWriteBytes: figure(service["IOWriteBytes"]),
  networkInBytes: figure(service["IPIngressBytes"]),
  networkOutBytes: figure(service["IPEgressBytes"]),
});

const scaled = (value: unknown, unit: number): number | null => {
  const found = figure(value);
  return found === null ? null : found / unit;
};

const limitsIn = (service: Properties): UnitLimits => ({
  memoryMaxBytes: figure(service["MemoryMax"]),
  memoryHighBytes: figure(service["MemoryHigh"]),
  memorySwapMaxBytes: figure(service["MemorySwapMax"]),
  cpuPercent: scaled(service["CPUQuotaPerSecUSec"], 10_000),
  tasksMax: figure(service["TasksMax"]),
  openFiles: figure(service["LimitNOFILESoft"]),
  openFilesMax: figure(service["LimitNOFILE"]),
  processes: figure(service["LimitNPROCSoft"]),
  runtimeMaxMs: scaled(service["RuntimeMaxUSec"], 1000),
});

function lastRunIn(unit: Properties, service: Properties): UnitLastRun {
  const startedAt = epochMs(service["ExecMainStartTimestamp"]) ?? epochMs(unit["InactiveExitTimestamp"]);
  const endedAt = epochMs(service["ExecMainExitTimestamp"]);
  const isOver = endedAt !== null && (startedAt === null || endedAt >= startedAt);
  const status = integer(service["ExecMainStatus"]) ?? null;
  const code = integer(service["ExecMainCode"]);
  return {
    startedAt,
    endedAt: isOver ? endedAt : null,
    exitCode: isOver && code === exited ? status : null,
    signal: isOver && code !== exited ? status : null,
  };
}

/** `a(sus)` of GetUnitProcesses: control group, process and command line. */
export const parseProcesses = (value: unknown): readonly UnitProcess[] =>
  rows(value)
    .map(([, pid, command]) => ({ pid: integer(pid) ?? 0, command: text(command) }))
    .toSorted((a, b) => a.pid - b.pid);

/** What the properties of a service say beyond those of the mirror. */
export function parseService(unit: Properties, service: Properties) {
  const loadError = unit["LoadError"];
  return {
    names: texts(unit["Names"]).toSorted(),
    documentation: texts(unit["Documentation"]),
    loadError: Array.isArray(loadError) ? text(loadError[1]) : "",
    needsReload: unit["NeedDaemonReload"] === true,
    type: text(service["Type"]),
    restart: text(service["Restart"]),
    user: text(service["User"]),
    group: text(service["Group"]),
    busName: text(service["BusName"]),
    slice: text(service["Slice"]),
    invocation: hexOf(unit["InvocationID"]),
    statusText: text(service["StatusText"]),
    sourcePath: text(unit["SourcePath"]),
    commands: parseCommands(service),
    unmet: [...unmetIn(unit["Conditions"]), ...unmetIn(unit["Asserts"])],
    dependencies: dependenciesIn(unit),
    usage: usageIn(service),
    limits: limitsIn(service),
    lastRun: lastRunIn(unit, service),
  } satisfies Partial<InspectedService>;
}

const duration = (micros: unknown): string => {
  const seconds = Number(micros) / 1_000_000;
  return `${Number(seconds.toFixed(3))}s`;
};

/** `OnBootUSec` in the words of unit files. */
const timerSetting = (base: string): string => base.replace(/USec$/, "Sec");

/** What the properties of its own kind say of a unit. @param now epoch milliseconds. */
export function parseKind(
  kind: UnitKind,
  of: Properties,
  now: number,
): Pick<KindUnit, "timer" | "socket" | "mount" | "path"> {
  switch (kind) {
    case "timer":
      return {
        timer: {
          unit: text(of["Unit"]),
          lastAt: epochMs(of["LastTriggerUSec"]),
          nextAt: nextStart(of, now),
          rules: [
            ...rows(of["TimersCalendar"]).map(([base, rule]) => `${text(base)}=${text(rule)}`),
            ...rows(of["TimersMonotonic"]).map(([base, after]) => `${timerSetting(text(base))}=${duration(after)}`),
          ],
        },
      };
    case "socket":
      return {
        socket: {
          units: [],
          listens: rows(of["Listen"]).map(([type, address]) => ({ type: text(type), address: text(address) })),
          accepts: of["Accept"] === true,
          connections: integer(of["NConnections"]) ?? 0,
        },
      };
    case "mount":
      return {
        mount: {
          what: text(of["What"]),
          where: text(of["Where"]),
          type: text(of["Type"]),
          options: text(of["Options"]),
        },
      };
    case "path":
      return {
        path: {
          unit: text(of["Unit"]),
          rules: rows(of["Paths"]).map(([condition, path]) => ({ condition: text(condition), path: text(path) })),
        },
      };
    case "service":
    case "target":
    case "slice":
      return {};
  }
}
