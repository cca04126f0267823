import type { Handlers } from "#contract/operation.ts";
import {
  isSystemMetric,
  type SystemMetricName,
  type SystemMetrics,
  systemMetricNames,
  systemMetricPoints,
  type systemMetricRows,
  systemMetrics,
} from "#contract/system-metrics.ts";
import { checked, invalid, readTime } from "#domain/common/error.ts";
import { type Clock, toTimestamp } from "#kernel/clock.ts";
import { isLackedBy } from "./figures.ts";
import type { MetricSampler } from "./sampler.ts";

const hourMs = 60 * 60 * 1000;

const decimals: Readonly<Record<(typeof systemMetrics)[SystemMetricName]["unit"], number>> = {
  load: 2,
  percent: 2,
  bytes: 0,
  bytes_per_second: 0,
};

function rounded(values: readonly number[], digits: number): (number | null)[] {
  const scale = 10 ** digits;
  return values.map((value) => (Number.isNaN(value) ? null : Math.round(value * scale) / scale));
}

/** @throws DomainError */
function namesIn(text: string | undefined): readonly SystemMetricName[] {
  if (text === undefined) return systemMetricNames;
  const named = (name: string): SystemMetricName => {
    if (isSystemMetric(name)) return name;
    throw invalid("names", `There is no series ${name}`);
  };
  return checked(...[...new Set(text.split(","))].map((name) => () => named(name)));
}

/** @throws DomainError */
function beginningOf(text: string | undefined, nowMs: number): number {
  const sinceMs = text === undefined ? nowMs - hourMs : readTime("since", text);
  if (sinceMs > nowMs) throw invalid("since", "Must not be later than now");
  return sinceMs;
}

export function systemMetricHandlers(ports: {
  readonly sampler: Pick<MetricSampler, "series" | "absences">;
  readonly clock: Pick<Clock, "now">;
}): Handlers<typeof systemMetricRows> {
  const { sampler, clock } = ports;
  return {
    getSystemMetrics({ query }): SystemMetrics {
      const nowMs = clock.now();
      const [names, sinceMs] = checked(
        () => namesIn(query.names),
        () => beginningOf(query.since, nowMs),
      );
      const { points = systemMetricPoints.default } = query;
      const found = sampler.series.read(names, { sinceMs, nowMs, points });
      const missing = names.flatMap((name) =>
        sampler
          .absences()
          .filter((absence) => isLackedBy(name, absence))
          .map(({ reason }) => ({ what: name, reason })),
      );
      return {
        since: toTimestamp(found.sinceMs),
        until: toTimestamp(found.untilMs),
        step_seconds: found.stepMs / 1000,
        series: found.columns.map(({ name, values, max }) => {
          const { unit, kind, description } = systemMetrics[name];
          const digits = decimals[unit];
          return {
            ...{ name, description, unit, kind, values: rounded(values, digits) },
            ...(max && { max: rounded(max, digits) }),
          };
        }),
        ...(missing.length > 0 && { not_shown: missing }),
      };
    },
  };
}
