import type { LogEntry } from "#contract/log-entry.ts";
import type { LogList } from "#contract/logs.ts";
import type { Journal } from "#domain/ports/journal.ts";
import type { Clock } from "#kernel/clock.ts";
import { counted, listNames } from "#kernel/text.ts";
import { type BuiltInCheck, createIgnore, grade, skip, thresholdsFor } from "../check.ts";

const windowHours = 24;
const windowMicros = windowHours * 3_600_000_000;
const mostLines = 1000;

/** The kernel's line for each victim, of the machine and of control groups. */
const killed = "Killed process [0-9]+";
const victim = /Killed process (\d+) \((.*?)\)(?:,| |$)/;

const limits = { warn: 1, fail: 5 };

export function oomKillsCheck(ports: {
  journal: Pick<Journal, "query" | "size">;
  clock: Pick<Clock, "now">;
}): BuiltInCheck {
  const { journal, clock } = ports;

  /** The newest ones, oldest first. */
  const kernelLines = async (grep: string, since: number, signal: AbortSignal): Promise<readonly LogEntry[]> => {
    const none = { priority: undefined, identifier: undefined, boot: undefined, cursor: undefined };
    const until = Number.MAX_SAFE_INTEGER;
    const query = { ...none, units: ["kernel"], since, until, grep, order: "asc", limit: mostLines } as const;
    const { bytes } = await journal.query(query, signal);
    return (JSON.parse(new TextDecoder().decode(bytes)) as LogList).logs;
  };

  return {
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
    async run({ ignore, ...settings }, signal) {
      const { warn, fail } = thresholdsFor(limits, settings);
      if ((await journal.size(signal)) === undefined) return skip("There is no journal to read kernel messages from");
      const messages = await kernelLines(killed, clock.now() * 1000 - windowMicros, signal);
      const isIgnored = createIgnore(ignore);
      const kills = messages.flatMap(({ timestamp, message }) => {
        const [, pid, process] = victim.exec(message) ?? [];
        return pid === undefined || process === undefined || isIgnored(process)
          ? []
          : [{ process, pid: Number(pid), killed_at: timestamp }];
      });
      const details = { kills: kills.slice(-20), count: kills.length, window_hours: windowHours };
      const figures = { details, thresholds: { count: { warn, fail } } };
      const status = grade(kills.length, { warn, fail });
      if (kills.length === 0)
        return { status, message: `The OOM killer killed nothing in ${windowHours} h`, ...figures };
      const names = [...new Set(kills.map(({ process }) => process))];
      return {
        status,
        message: `The OOM killer killed ${listNames(names)} (${counted(kills.length, "kill")} in ${windowHours} h)`,
        ...figures,
      };
    },
  };
}
