import type { KernelLog } from "#domain/ports/journal.ts";
import type { Clock } from "#kernel/clock.ts";
import { counted, listNames } from "#kernel/text.ts";
import { type Check, skip } from "../check.ts";
import { createIgnore } from "../ignore.ts";
import { grade } from "../threshold.ts";

const windowHours = 24;
const windowMicros = windowHours * 3_600_000_000;

/** The kernel's line for each victim, of the machine and of control groups. */
const killed = "Killed process [0-9]+";
const victim = /Killed process (\d+) \((.*?)\)(?:,| |$)/;

/** Processes killed by the OOM killer in the last 24 hours: by default 1 warns, 5 fail. `ignore` takes process names and patterns. */
export function oomKillsCheck({ log, clock }: { log: KernelLog; clock: Pick<Clock, "now"> }): Check {
  return {
    id: "oom_kills",
    name: "Processes killed by the OOM killer",
    category: "memory",
    severity: "high",
    async run({ warn = 1, fail = 5, ignore }, signal) {
      const messages = await log.matching(killed, clock.now() * 1000 - windowMicros, signal);
      if (messages === undefined) return skip("There is no journal to look for kernel messages in");
      const isIgnored = createIgnore(ignore);
      const kills = messages.flatMap(({ timestamp, message }) => {
        const [, pid, process] = victim.exec(message) ?? [];
        return pid === undefined || process === undefined || isIgnored(process)
          ? []
          : [{ process, pid: Number(pid), killed_at: timestamp }];
      });
      const details = { kills: kills.slice(-20), count: kills.length, window_hours: windowHours };
      const status = grade(kills.length, { warn, fail });
      if (kills.length === 0) return { status, message: `The OOM killer killed nothing in ${windowHours} h`, details };
      const names = [...new Set(kills.map(({ process }) => process))];
      return {
        status,
        message: `The OOM killer killed ${listNames(names)} (${counted(kills.length, "kill")} in ${windowHours} h)`,
        details,
      };
    },
  };
}
