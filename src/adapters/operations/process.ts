import { readFileSync } from "node:fs";
import type { ProcessIdentity } from "#domain/operations/ports.ts";
import { parseStat } from "./parse.ts";

/** What systemd tells a unit that asks for it (`%b`). */
const bootVariable = "STEWARD_BOOT_ID";

const withoutDashes = (id: string): string => id.trim().replaceAll("-", "");

/**
 * As systemd counts boots, where it tells. In a container the kernel's own file is covered by one for that container, which units
 * with `ProtectKernelTunables=` do not see.
 */
const bootId = (): string =>
  withoutDashes(process.env[bootVariable] ?? readFileSync("/proc/sys/kernel/random/boot_id", "utf8"));

function statOf(pid: number) {
  try {
    return parseStat(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    // ESRCH: it went while it was being read.
    if (code === "ENOENT" || code === "ESRCH") return undefined;
    throw error;
  }
}

/** Who this process is. */
export function ownProcess(): ProcessIdentity {
  const stat = statOf(process.pid);
  if (stat === undefined) throw new Error("cannot tell this process from others: /proc does not show it");
  return { pid: process.pid, startTicks: stat.startTicks, bootId: bootId() };
}

/** Whether it is still at work. One that has ended and only waits for its parent to notice is not. */
export function isAlive({ pid, startTicks, bootId: boot }: ProcessIdentity): boolean {
  const stat = statOf(pid);
  if (stat === undefined || stat.startTicks !== startTicks || stat.state === "Z" || stat.state === "X") return false;
  return bootId() === withoutDashes(boot);
}
