import type { CheckMetrics, checks, HealthCheckHistory } from "#contract/checks.ts";
import { checkHistoryKeptMs, checkHistoryLimit, checkHistoryWindowMs, metricMinutesKeptMs } from "#contract/limits.ts";
import type { Handlers } from "#contract/operation.ts";
import { invalid, unknownCheck } from "#domain/common/error.ts";
import type { StoredRun } from "#domain/ports/check-history.ts";
import { type Clock, parseTimestamp, toDay, toTimestamp } from "#kernel/clock.ts";
import type { RunHistory } from "./history.ts";
import { minuteMs } from "./series.ts";
import { hourMs } from "./timeline.ts";
import type { Day, Uptime } from "./uptime.ts";

function timeOf(field: string, text: string | undefined, otherwise: number): number {
  if (text === undefined) return otherwise;
  const at = parseTimestamp(text);
  if (at === undefined) throw invalid(field, "Must be an RFC 3339 time");
  return at;
}

const toRun = ({ checkedAt, status, message, durationMs }: StoredRun): HealthCheckHistory["runs"][number] => ({
  checked_at: toTimestamp(checkedAt),
  status,
  message,
  duration_ms: durationMs,
});

const toDayEntry = (day: Day): NonNullable<HealthCheckHistory["days"]>[number] => ({
  day: toDay(day.since),
  runs: day.runs,
  changes: day.changes,
  duration_ms:
    day.runs === 0
      ? { min: null, mean: null, max: null }
      : { min: day.minMs, mean: Math.round(day.totalMs / day.runs), max: day.maxMs },
  time_ms: day.timeMs,
});

function toUptime({ days, since, until, timeMs }: Uptime): NonNullable<HealthCheckHistory["uptime"]>[number] {
  const percent = (part: number): number => Number(((part / Math.max(1, until - since)) * 100).toFixed(3));
  const { pass, warn, fail, skip, unknown } = timeMs;
  return {
    days,
    since: toTimestamp(since),
    until: toTimestamp(until),
    time_ms: timeMs,
    percent: {
      pass: percent(pass),
      warn: percent(warn),
      fail: percent(fail),
      skip: percent(skip),
      unknown: percent(unknown),
    },
  };
}

/** @param ports.isKnown whether there is a check of that id; resolves once all checks have been added. */
export function historyHandlers(ports: {
  history: Pick<RunHistory, "runs" | "recentRuns" | "transitions" | "days" | "uptime" | "minutes" | "hours">;
  isKnown: (checkId: string) => Promise<boolean>;
  clock: Pick<Clock, "now">;
}): Pick<Handlers<typeof checks>, "getCheckHistory" | "getCheckMetrics"> {
  const { history, isKnown, clock } = ports;

  const daily = (id: string, since: number, now: number, limit: number): HealthCheckHistory => {
    const days = history.days(id, since, now);
    return {
      check_id: id,
      runs: [],
      total: days.length,
      days: days.slice(-limit).map(toDayEntry),
      uptime: history.uptime(id, now).map(toUptime),
    };
  };

  return {
    async getCheckHistory({ params: { check_id: id }, query }) {
      if (!(await isKnown(id))) throw unknownCheck(id);
      const { resolution, limit = checkHistoryLimit.default } = query;
      const now = clock.now();
      const windowMs = resolution === "daily" ? checkHistoryKeptMs : checkHistoryWindowMs;
      const since = timeOf("since", query.since, now - windowMs);
      if (resolution === "daily") return daily(id, since, now, limit);
      const read = { runs: history.recentRuns, transitions: history.transitions };
      const { runs, total } = (resolution === undefined ? history.runs : read[resolution])(id, since, limit);
      return { check_id: id, runs: runs.map(toRun), total };
    },
    async getCheckMetrics({ query: { check: id, name, ...query } }): Promise<CheckMetrics> {
      if (!(await isKnown(id))) throw unknownCheck(id);
      const now = clock.now();
      const until = timeOf("until", query.until, now);
      const since = timeOf("since", query.since, now - checkHistoryWindowMs);
      if (since > until) throw invalid("since", "Must not be later than `until`");
      const window = { checkId: id, name, since, until };
      if (since >= now - metricMinutesKeptMs) {
        const all = history.minutes(window).map(({ series, points }) => ({
          name: series.name,
          unit: series.unit,
          points: points.map(([at, value]) => ({ at: toTimestamp(at), value })),
        }));
        return { check_id: id, step_seconds: minuteMs / 1000, series: all };
      }
      const all = history.hours(window).map(({ series, points }) => ({
        name: series.name,
        unit: series.unit,
        points: points.map(([at, { mean, min, max }]) => ({ at: toTimestamp(at), value: mean, min, max })),
      }));
      return { check_id: id, step_seconds: hourMs / 1000, series: all };
    },
  };
}
