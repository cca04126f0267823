import type { LogEntry } from "#contract/log-entry.ts";
import { counted, listNames } from "#kernel/text.ts";
import { type BuiltInCheck, type CheckSettings, createIgnore, grade, type Outcome, thresholdsFor } from "../check.ts";
import { judgeKernelLog, type KernelLogPorts, windowHours } from "../journal-checks.ts";

/** The kernel's line for each victim, of the machine and of control groups. */
const killed = "Killed process [0-9]+";
const victim = /Killed process (\d+) \((.*?)\)(?:,| |$)/;

const limits = { warn: 1, fail: 5 };

function judge(lines: readonly LogEntry[], { ignore, ...settings }: CheckSettings): Outcome {
  const { warn, fail } = thresholdsFor(limits, settings);
  const isIgnored = createIgnore(ignore);
  const kills = lines.flatMap(({ timestamp, message }) => {
    const [, pid, process] = victim.exec(message) ?? [];
    return pid === undefined || process === undefined || isIgnored(process)
      ? []
      : [{ process, pid: Number(pid), killed_at: timestamp }];
  });
  const details = { kills: kills.slice(-20), count: kills.length, window_hours: windowHours };
  const figures = { details, thresholds: { count: { warn, fail } } };
  const status = grade(kills.length, { warn, fail });
  if (kills.length === 0) return { status, message: `The OOM killer killed nothing in ${windowHours} h`, ...figures };
  const names = [...new Set(kills.map(({ process }) => process))];
  return {
    status,
    message: `The OOM killer killed ${listNames(names)} (${counted(kills.length, "kill")} in ${windowHours} h)`,
    ...figures,
  };
}

export const oomKillsCheck = (ports: KernelLogPorts): BuiltInCheck => ({
  id: "oom_kills",
  name: "Processes killed by the OOM killer",
  category: "memory",
  severity: "high",
  thresholds: limits,
  about:
    "Processes killed by the OOM killer in the last 24 hours: by default 1 warns, 5 fail. `ignore` takes process " +
    "names and patterns.",
  meaning: "Memory ran out, and the kernel killed a process to free some.",
  remedy: "Give the process more memory or a limit of its own (MemoryMax=), and see that it was started again.",
  run: (settings, signal) => judgeKernelLog(ports, killed, (lines) => judge(lines, settings), signal),
});
