import { readFileSync } from "node:fs";
import { readBootId } from "#adapters/boot-id/index.ts";
import type { ProcessIdentity } from "#domain/ports/operations.ts";
import { isProcessGone } from "#kernel/errors.ts";
import { parseStat } from "./parse.ts";

function statOf(pid: number) {
  try {
    return parseStat(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch (error) {
    if (isProcessGone(error)) return undefined;
    throw error;
  }
}

export function ownProcess(): ProcessIdentity {
  const stat = statOf(process.pid);
  if (stat === undefined) throw new Error("cannot tell this process from others: /proc does not show it");
  return { pid: process.pid, startTicks: stat.startTicks, bootId: readBootId() };
}

/** Whether it is still at work. One that has ended and only waits for its parent to notice is not. */
export function isAlive({ pid, startTicks, bootId: boot }: ProcessIdentity): boolean {
  const stat = statOf(pid);
  if (stat === undefined || stat.startTicks !== startTicks || stat.state === "Z" || stat.state === "X") return false;
  return readBootId() === readBootId(boot);
}
