import type { Input } from "#contract/operation.ts";
import { dependencyKinds, type ServiceDetails, type ServiceRun, type units } from "#contract/units.ts";
import { DomainError } from "#domain/common/error.ts";
import type { InspectedService, Trigger, UnitDetails, UnitExamination, UnitFile } from "#domain/ports/unit-details.ts";
import { isPresent, isRunning } from "#domain/ports/units.ts";
import { toNullableTimestamp } from "#kernel/clock.ts";
import { errorMessage } from "#kernel/errors.ts";
import { defined } from "#kernel/values.ts";
import { onHost, parseServiceName, remediesOf, toServiceEntry } from "./service.ts";
import { toFacts, withoutSecrets } from "./unit-entry.ts";
import type { UnitLog } from "./unit-log.ts";

function toFile({ path, text, withheld }: UnitFile): ServiceDetails["files"]["drop_ins"][number] {
  return { path, text: text === undefined ? null : withoutSecrets(text), ...defined({ withheld }) };
}

/** A word as it would have to be written, so that one with spaces is one. */
const quoted = (word: string): string => (/^[^\s"']+$/.test(word) ? word : JSON.stringify(word));

const toTrigger = (trigger: Trigger): ServiceDetails["triggered_by"][number] => {
  const { timer, socket, path } = toFacts(trigger);
  return { name: trigger.name, active_state: trigger.activeState, ...defined({ timer, socket, path }) };
};

function toLastRun(unit: InspectedService): ServiceRun {
  const { startedAt, endedAt, exitCode, signal } = unit.lastRun;
  const runs = endedAt === null && unit.mainPid !== null;
  const ends = { result: startedAt === null ? "unknown" : unit.result };
  const failed = exitCode !== null && exitCode !== 0;
  return {
    started_at: toNullableTimestamp(startedAt),
    ended_at: toNullableTimestamp(endedAt),
    duration_ms: startedAt === null || endedAt === null ? null : endedAt - startedAt,
    result: runs ? "running" : ends.result,
    exit: failed ? `status=${exitCode}` : signal === null ? "" : `signal=${signal}`,
  };
}

const toLists = ({ dependencies }: InspectedService): ServiceDetails["dependencies"] =>
  Object.fromEntries(
    dependencyKinds.map((kind) => [kind, [...(dependencies[kind] ?? [])]]),
  ) as ServiceDetails["dependencies"];

const toResources = ({ memoryBytes, usage }: InspectedService): ServiceDetails["resources"] => ({
  memory_bytes: memoryBytes,
  memory_peak_bytes: usage.memoryPeakBytes,
  memory_swap_bytes: usage.memorySwapBytes,
  cpu_seconds: usage.cpuNs === null ? null : usage.cpuNs / 1e9,
  tasks: usage.tasks,
  io_read_bytes: usage.ioReadBytes,
  io_write_bytes: usage.ioWriteBytes,
  network_in_bytes: usage.networkInBytes,
  network_out_bytes: usage.networkOutBytes,
});

const toLimits = ({ limits }: InspectedService): ServiceDetails["limits"] => ({
  memory_max_bytes: limits.memoryMaxBytes,
  memory_high_bytes: limits.memoryHighBytes,
  memory_swap_max_bytes: limits.memorySwapMaxBytes,
  cpu_percent: limits.cpuPercent,
  tasks_max: limits.tasksMax,
  open_files: limits.openFiles,
  open_files_max: limits.openFilesMax,
  processes: limits.processes,
  runtime_max_ms: limits.runtimeMaxMs === null ? null : Math.round(limits.runtimeMaxMs),
});

/** What systemd reports, without what is found out elsewhere. */
function toDetails(
  unit: InspectedService,
): Omit<ServiceDetails, "listening" | "security" | "logs" | "runs" | "not_shown"> {
  return {
    ...toServiceEntry(unit),
    names: [...unit.names],
    documentation: [...unit.documentation],
    result: unit.result,
    load_error: unit.loadError,
    status_text: withoutSecrets(unit.statusText),
    type: unit.type,
    restart: unit.restart,
    user: unit.user,
    group: unit.group,
    slice: unit.slice,
    control_group: unit.controlGroup,
    invocation_id: unit.invocation,
    unmet_conditions: [...unit.unmet],
    control: {
      permitted: unit.refusal === undefined,
      reason: unit.refusal === undefined ? "" : `${unit.refusal.reason} (${remediesOf(unit.refusal)})`,
    },
    files: {
      fragment: unit.fragment === undefined ? null : toFile(unit.fragment),
      drop_ins: unit.dropIns.map(toFile),
      source_path: unit.sourcePath,
      needs_reload: unit.needsReload,
    },
    commands: unit.commands.map(({ setting, argv, ignoresFailure, startedAt, endedAt, exitCode }) => ({
      setting,
      command: withoutSecrets(argv.map(quoted).join(" ")),
      ignores_failure: ignoresFailure,
      started_at: toNullableTimestamp(startedAt),
      ended_at: toNullableTimestamp(endedAt),
      exit_code: exitCode,
    })),
    processes: unit.processes.map(({ pid, command }) => ({ pid, command: withoutSecrets(command) })),
    processes_total: unit.processesTotal,
    last_run: toLastRun(unit),
    dependencies: toLists(unit),
    triggered_by: unit.triggers.map(toTrigger),
    bus_name: unit.busName,
    resources: toResources(unit),
    limits: toLimits(unit),
  };
}

export interface DetailPorts {
  readonly details: UnitDetails;
  readonly examination: UnitExamination;
  readonly log: UnitLog;
}

type NotShown = ServiceDetails["not_shown"][number];

/** The answer to a question, or why there is none. */
async function optionally<T>(what: string, isAsked: boolean, find: () => Promise<T>) {
  if (!isAsked) return { notShown: { what, reason: "it was not asked for" } };
  try {
    return { found: await find() };
  } catch (error) {
    return { notShown: { what, reason: withoutSecrets(errorMessage(error)) } };
  }
}

/** Everything about one service. */
export function createServiceDetails({ details, examination, log }: DetailPorts) {
  return async (
    { params, query }: Input<typeof units.getService>,
    { caller, signal }: Parameters<UnitLog["read"]>[1],
  ): Promise<ServiceDetails> => {
    const name = parseServiceName(params.name);
    const doing = `show ${name}`;
    const [unit, ofName] = await Promise.all([
      onHost(doing, () => details.inspect(name)),
      log.read(name, { caller, signal }),
    ]);
    if (!isPresent(unit)) throw new DomainError("NOT_FOUND", `cannot ${doing}: no such unit`);
    const [logged, listening, security] = await Promise.all([
      // An alias has no log of its own.
      unit.name === name ? ofName : log.read(unit.name, { caller, signal }),
      optionally("listening", query.listening === true, async () =>
        isRunning(unit) || unit.mainPid !== null ? examination.listening(unit.controlGroup, signal()) : [],
      ),
      optionally("security", query.security === true, () => examination.exposure(unit.name, signal())),
    ]);
    const notShown: readonly (NotShown | undefined)[] = [...logged.notShown, listening.notShown, security.notShown];
    const reported = toDetails(unit);
    return {
      ...reported,
      // systemd forgets the run of a unit that it unloads after it.
      last_run: reported.last_run.started_at === null ? (logged.runs?.[0] ?? reported.last_run) : reported.last_run,
      runs: logged.runs,
      logs: logged.logs,
      listening: listening.found === undefined ? null : listening.found.map((socket) => ({ ...socket })),
      security: security.found === undefined ? null : { exposure: security.found.score, level: security.found.level },
      not_shown: notShown.flatMap((each) => each ?? []),
    };
  };
}
