import { readFileSync } from "node:fs";
import { isProcessGone, isProcessOutOfReach, orUndefinedSync } from "#kernel/errors.ts";

/** Undefined where the process is gone, or this user may not look at it. */
export const ifInReach = <T>(read: () => T): T | undefined => orUndefinedSync(read, isProcessOutOfReach);

export interface ProcessStat {
  readonly state: string;
  readonly startTicks: number;
}

/** The name of the program, in brackets, may hold anything, brackets included, so the rest is counted from the last one. */
export function parseStat(text: string): ProcessStat | undefined {
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const [state] = fields;
  // Field 22 of the file; the state is field 3.
  const startTicks = Number(fields[19]);
  return state === undefined || !Number.isSafeInteger(startTicks) || startTicks < 0 ? undefined : { state, startTicks };
}

export const statOf = (pid: number): ProcessStat | undefined =>
  orUndefinedSync(() => parseStat(readFileSync(`/proc/${pid}/stat`, "utf8")), isProcessGone);

/** Whether it is the process that was started then, and has not ended. */
export function isRunning({ pid, startTicks }: { readonly pid: number; readonly startTicks: number }): boolean {
  const stat = statOf(pid);
  return stat !== undefined && stat.startTicks === startTicks && stat.state !== "Z" && stat.state !== "X";
}

const unitPattern = /^[A-Za-z0-9:_.\\@-]+\.(?:service|scope|socket|mount|swap)$/;

/**
 * The unit of the system's manager that a control group belongs to, by its path: below the slices. What is further below is the unit's
 * own, such as the units of a user's manager and containers. Null for none.
 */
export function unitOfControlGroup(path: string): string | null {
  const name = path.split("/").find((part) => part !== "" && part !== ".." && !part.endsWith(".slice"));
  // systemd puts an underscore before names that the kernel could take for its own.
  const unit = name?.replace(/^_/, "") ?? "";
  return unitPattern.test(unit) ? unit : null;
}

/** The unit of a process by its `/proc/PID/cgroup` (cgroups(7)). Null for none. */
export function unitOfProcess(cgroup: string): string | null {
  // Where both versions of control groups are mounted, only that of systemd's own names the unit.
  const lines = cgroup.split("\n");
  const line = lines.find((each) => each.includes(":name=systemd:")) ?? lines.find((each) => each.startsWith("0::"));
  return line === undefined ? null : unitOfControlGroup(line.slice(line.indexOf("/")));
}

/** What systemd passes to a unit that asks for it (`Environment=STEWARD_BOOT_ID=%b`). */
const bootVariable = "STEWARD_BOOT_ID";

const kernelFile = "/proc/sys/kernel/random/boot_id";

/** As the journal writes it (sd-id128(3)). In a container the kernel's file may be covered by another id. */
export const readBootId = (reported = process.env[bootVariable]): string =>
  (reported ?? readFileSync(kernelFile, "latin1")).trim().replaceAll("-", "");
