import type { Timer, Timers } from "#domain/ports/units.ts";
import { type Clock, toTimestamp } from "#kernel/clock.ts";
import { type BuiltInCheck, createIgnore, skip, thresholdsFor } from "../check.ts";
import { combineFindings, type Finding, passing } from "../grading.ts";

const hourMs = 3_600_000;
const mostListed = 50;

const timeOrNull = (at: number | null): string | null => (at === null ? null : toTimestamp(at));

const limits = { warn: 24, fail: Number.POSITIVE_INFINITY };

export function timersCheck(ports: { timers: Timers; clock: Pick<Clock, "now"> }): BuiltInCheck {
  const { timers, clock } = ports;

  const judge = (timer: Timer, limits: { readonly warn: number; readonly fail: number }): Finding => {
    const { name, unit, nextStartAt, unitActiveState, unitResult, unitSince } = timer;
    const hoursSince = (at: number | null): number => (at === null ? 0 : Math.floor((clock.now() - at) / hourMs));
    const late = (hours: number, problem: string): Finding =>
      hours < limits.warn ? passing : { status: hours < limits.fail ? "warn" : "fail", problem };
    if (unitActiveState === "failed")
      return {
        status: "fail",
        problem: `the last run of ${unit}, started by ${name}, failed (${unitResult}; journalctl -u ${unit})`,
      };
    if (unitActiveState === "activating") {
      const hours = hoursSince(unitSince);
      return late(hours, `the run of ${unit}, started by ${name}, has not ended after ${hours} h`);
    }
    const hours = hoursSince(nextStartAt);
    return late(hours, `${name} is overdue by ${hours} h`);
  };

  return {
    id: "timers",
    name: "Timers",
    category: "services",
    severity: "medium",
    thresholds: limits,
    about:
      "Timers whose last run failed, whose run has not ended after 24 hours, or that are overdue by as much; " +
      "`warn` and `fail` are these hours. Services that stay active are meant to. `ignore` takes names and " +
      "patterns of timers and of their units.",
    meaning: "A job that a timer starts has failed, does not end, or was not started.",
    remedy: "Read its log (journalctl -u UNIT), fix it and run it once by hand (systemctl start UNIT).",
    intervalMs: 5 * 60_000,
    async run({ ignore, ...settings }) {
      const { warn, fail } = thresholdsFor(limits, settings);
      const all = await timers.list();
      if (all === undefined) return skip("systemd is not running on this host");
      const isIgnored = createIgnore(ignore);
      const watched = all.filter(({ name, unit }) => !isIgnored(name) && !isIgnored(unit));
      if (watched.length === 0) return skip("No timer is active");
      const findings = watched.map((timer) => ({ timer, ...judge(timer, { warn, fail }) }));
      const troubled = findings.filter(({ status }) => status !== "pass").map(({ timer }) => timer);
      return combineFindings(findings, "The timers ran when they should, and their runs succeeded", {
        timers: troubled.slice(0, mostListed).map((timer) => ({
          name: timer.name,
          unit: timer.unit,
          last_start_at: timeOrNull(timer.lastStartAt),
          next_start_at: timeOrNull(timer.nextStartAt),
          result: timer.unitResult,
        })),
        active_count: watched.length,
      });
    },
  };
}
