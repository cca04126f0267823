import type { Context, Input, Plan } from "#contract/operation.ts";
import type { processes as operations, ProcessSignal, SignalResult } from "#contract/processes.ts";
import { DomainError, readTime, unavailable } from "#domain/common/error.ts";
import { createPlan } from "#domain/common/plan.ts";
import { redact } from "#domain/common/redact.ts";
import { type Process, type Processes, ProcessGone } from "#domain/ports/processes.ts";
import type { FoundUnit, UnitObstacle, Units } from "#domain/ports/units.ts";
import type { Clock } from "#kernel/clock.ts";
import { mayUse, type UnitRights } from "./process-selection.ts";
import { isOwnTask } from "./service-policy.ts";

/** What must not be signalled, besides what the policy of services protects. */
export interface Own {
  /** Process ids of this service. */
  readonly pids: readonly number[];
  /** Its unit; undefined where it runs in none. */
  readonly unit: string | undefined;
}

/** Why a process is never sent a signal, whatever its unit. */
function processObstacle(process: Process, own: Own): UnitObstacle | undefined {
  const { pid, unit, isKernelThread, state, parentPid } = process;
  if (pid === 1) return { reason: "it is the init process" };
  if (isKernelThread) return { reason: "it is a kernel thread, which ignores signals" };
  if (own.pids.includes(pid) || (unit !== null && unit === own.unit))
    return { reason: "it belongs to this service", remedy: `systemctl restart ${own.unit ?? "it"} starts it again` };
  if (unit !== null && isOwnTask(unit)) return { reason: `${unit} carries out a task of this service` };
  if (unit === "init.scope") return { reason: "it belongs to the service manager of the host" };
  if (state === "zombie" || state === "dead")
    return { reason: `it has ended, and is a zombie until its parent ${parentPid} collects it` };
  return undefined;
}

/** The unit of a process, if it has one, where nothing is in the way of a signal. @throws DomainError VALIDATION_ERROR. */
export async function requireSignallable(
  process: Process,
  { units, own, doing }: { readonly units: Pick<Units, "read">; readonly own: Own; readonly doing: string },
): Promise<FoundUnit | undefined> {
  const obstacle = processObstacle(process, own);
  if (obstacle !== undefined) throw refusedSignal(doing, obstacle);
  if (process.unit === null) return undefined;
  const unit = await units.read(process.unit);
  if (unit.refusal === undefined) return unit;
  const reason = `it belongs to ${process.unit}: ${unit.refusal.reason}`;
  throw refusedSignal(doing, { ...unit.refusal, reason });
}

const refusedSignal = (doing: string, { reason, remedy, setting }: UnitObstacle): DomainError =>
  new DomainError("VALIDATION_ERROR", `cannot ${doing}: ${reason}${remedy === undefined ? "" : ` (${remedy})`}`, {
    field: "pid",
    issue: reason,
    ...(setting !== undefined && { setting }),
  });

/** Signals that end a process that does not handle them. */
const endsProcess = (signal: ProcessSignal): boolean => signal !== "STOP" && signal !== "CONT";
/** systemd takes an end by these for a clean one (systemd.service(5), SuccessExitStatus=). */
const cleanSignals: readonly ProcessSignal[] = ["HUP", "INT", "TERM"];

/** Values of Restart= by which systemd starts a service again whose main process a signal has ended. */
const restartsAfter = (signal: ProcessSignal): readonly string[] =>
  cleanSignals.includes(signal) ? ["always", "on-success"] : ["always", "on-failure", "on-abnormal", "on-abort"];

/** What systemd does when the process ends; undefined where it does nothing. */
function afterwards(process: Process, unit: FoundUnit | undefined, signal: ProcessSignal): string | undefined {
  if (unit === undefined || !endsProcess(signal) || !unit.name.endsWith(".service")) return undefined;
  const { name, mainPid, restart } = unit;
  if (mainPid !== process.pid)
    return `${process.pid} is not the main process of ${name}, so systemd does not start ${name} again for it (Restart=${restart})`;
  const starts = restartsAfter(signal).includes(restart);
  return starts
    ? `${process.pid} is the main process of ${name}: systemd starts ${name} again if it ends by this signal (Restart=${restart})`
    : `${process.pid} is the main process of ${name}: if it ends by this signal ${name} stops, and systemd does not start it again (Restart=${restart})`;
}

/** What of a command line a plan shows. */
const maxShown = 200;
const waitMs = 1_000;
const pollMs = 50;

export interface SignalPorts {
  readonly processes: Pick<Processes, "read" | "commands" | "signal">;
  readonly units: Pick<Units, "read">;
  readonly rights: UnitRights;
  readonly own: Own;
  readonly clock: Pick<Clock, "sleep" | "monotonicMs">;
}

/** Sends signals to processes. */
export function createSignals(ports: SignalPorts) {
  const { processes, units, rights, own, clock } = ports;

  const describe = async (process: Process): Promise<string> => {
    const command = (await processes.commands([process])).get(process.pid) ?? "";
    const text = command === "" ? process.name : redact(command).text;
    const shown = text.length > maxShown ? `${text.slice(0, maxShown)}…` : text;
    const user = process.user === null ? "" : `, user ${process.user}`;
    return `process ${process.pid} (${shown}${user})`;
  };

  const hasEnded = async ({ pid, startTicks }: Process, isExpected: boolean): Promise<boolean> => {
    const untilMs = clock.monotonicMs() + (isExpected ? waitMs : 0);
    for (;;) {
      const now = await processes.read(pid);
      if (now === undefined || now.startTicks !== startTicks || now.state === "zombie" || now.state === "dead")
        return true;
      if (clock.monotonicMs() >= untilMs) return false;
      await clock.sleep(pollMs);
    }
  };

  const find = async (pid: number, startTime: number, doing: string): Promise<Process> => {
    const process = await processes.read(pid);
    if (process === undefined) throw new DomainError("NOT_FOUND", `cannot ${doing}: there is no such process`);
    if (process.startedAt !== startTime)
      throw new DomainError(
        "CONFLICT",
        `cannot ${doing}: this process started at another time (list processes again)`,
        {
          start_time: new Date(process.startedAt).toISOString(),
          retryable: false,
        },
      );
    return process;
  };

  return async (
    { params: { pid }, query, body: { signal, start_time: startTime } }: Input<typeof operations.signalProcess>,
    context: Context,
  ): Promise<SignalResult | Plan> => {
    const doing = `send SIG${signal} to process ${pid}`;
    const { caller } = context;
    const onHost = async <T>(work: () => Promise<T>): Promise<T> => {
      try {
        return await work();
      } catch (error) {
        if (error instanceof ProcessGone)
          throw new DomainError("NOT_FOUND", `cannot ${doing}: ${error.message}`, undefined, error);
        throw unavailable(doing, error) ?? error;
      }
    };
    const process = await onHost(() => find(pid, readTime("start_time", startTime), doing));
    if (!mayUse(rights, caller, "processes:signal", process.unit)) throw rights.lackOf(caller, "processes:signal");
    context.checkWindows("processes:signal", process.unit ?? "");
    const unit = await onHost(() => requireSignallable(process, { units, own, doing }));
    if (query.dry_run) {
      const reason = afterwards(process, unit, signal);
      return createPlan([`send SIG${signal} to ${await describe(process)}`], {
        units: process.unit === null ? [] : [process.unit],
        ...(reason !== undefined && { reason }),
      });
    }
    context.touched({
      pid: String(pid),
      signal,
      name: process.name,
      ...(process.unit !== null && { unit: process.unit }),
    });
    await onHost(() => processes.signal(process, signal));
    const ended = await onHost(() => hasEnded(process, endsProcess(signal)));
    return {
      success: true,
      message: `SIG${signal} sent to process ${pid} (${process.name})${ended ? ", which has ended" : ""}`,
      pid,
      signal,
      unit: process.unit,
      has_ended: ended,
    };
  };
}
