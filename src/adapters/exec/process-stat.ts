import { readFileSync } from "node:fs";
import { isProcessGone, orUndefinedSync } from "#kernel/errors.ts";

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
