import { maxSeries, maxSeriesPerCheck, metricHoursKeptMs } from "#contract/limits.ts";
import { type HourPoint, maxSeriesId, type StoredSeries } from "#domain/ports/check-history.ts";
import { recordsIn } from "#kernel/values.ts";
import type { Outcome } from "../check.ts";
import { startOfHour } from "./timeline.ts";
import { dayMs } from "./uptime.ts";

/** A number that a check reports. */
export interface Figure {
  readonly name: string;
  /** As the plugin wrote it; "" where the name contains it. */
  readonly unit: string;
  readonly value: number;
}

const maxNameChars = 64;
const maxUnitChars = 16;

/** So that a mean of an hour can be stored in 32 bits. */
const maxValue = 1e38;

const isFigure = (value: unknown): value is number => typeof value === "number" && Math.abs(value) <= maxValue;

/**
 * The performance data of a plugin, else every number in the details that is not inside a list or an object: what `steward check --nagios`
 * prints, so that nothing needs to be declared, and lists of objects that come and go make no series.
 */
export function figuresOf(details: Outcome["details"]): readonly Figure[] {
  const { perfdata } = details as { readonly perfdata?: unknown };
  const named: readonly (readonly [string, unknown, unknown])[] = Array.isArray(perfdata)
    ? recordsIn(perfdata).map(({ label, value, unit }) => [String(label), value, unit])
    : Object.entries(details).map(([name, value]) => [name, value, ""]);
  return named.flatMap(([name, value, unit]) =>
    isFigure(value) && name !== "" && name.length <= maxNameChars
      ? [{ name, value, unit: String(unit).slice(0, maxUnitChars) }]
      : [],
  );
}

export const minuteMs = 60_000;
/** A series without values for so long gives its place to another, and is kept until its values are forgotten. */
const placeKeptMs = 7 * dayMs;
const maxCount = 0xffff;

const startOf = (at: number, unitMs: number): number => Math.floor(at / unitMs) * unitMs;
const keyOf = (checkId: string, name: string): string => `${checkId}\n${name}`;

/** Both as if they were measured in one. */
export function combine(one: HourPoint | undefined, other: HourPoint): HourPoint {
  if (one === undefined) return other;
  const sum = one.count + other.count;
  return {
    count: Math.min(maxCount, sum),
    mean: one.mean + (other.mean - one.mean) * (other.count / sum),
    min: Math.min(one.min, other.min),
    max: Math.max(one.max, other.max),
  };
}

/** Minutes and hours that wait to be written while the store fails. */
const maxPending = 60;

function pointsAt<T>(all: Map<number, Map<number, T>>, at: number): Map<number, T> {
  const points = all.get(at) ?? new Map<number, T>();
  all.set(at, points);
  const [oldest] = all.keys();
  if (all.size > maxPending && oldest !== undefined) all.delete(oldest);
  return points;
}

/** Follows the figures of checks: the last value of each minute, and of each hour mean, minimum and maximum. */
export function createSeries(stored: readonly StoredSeries[]) {
  const known = new Map(stored.map((each) => [keyOf(each.checkId, each.name), each]));
  let changed = new Map<string, StoredSeries>();
  let minutes = new Map<number, Map<number, number>>();
  let hours = new Map<number, Map<number, HourPoint>>();

  const freeId = (now: number): number | undefined => {
    for (const [key, { seenAt }] of known) if (seenAt < now - metricHoursKeptMs - dayMs) known.delete(key);
    const ids = new Set([...known.values()].map(({ id }) => id));
    for (let id = 1; id <= maxSeriesId; id += 1) if (!ids.has(id)) return id;
    return undefined;
  };

  const hasSpace = (checkId: string, now: number): boolean => {
    const active = [...known.values()].filter(({ seenAt }) => seenAt >= now - placeKeptMs);
    return active.length < maxSeries && active.filter((each) => each.checkId === checkId).length < maxSeriesPerCheck;
  };

  const seriesOf = (checkId: string, { name, unit }: Figure, now: number): StoredSeries | undefined => {
    const key = keyOf(checkId, name);
    const before = known.get(key);
    const seenAt = startOf(now, dayMs);
    const isActive = before !== undefined && before.seenAt >= now - placeKeptMs;
    if (isActive && before.seenAt === seenAt && before.unit === unit) return before;
    if (!isActive && !hasSpace(checkId, now)) return undefined;
    const id = before?.id ?? freeId(now);
    if (id === undefined) return undefined;
    const series = { id, checkId, name, unit, seenAt };
    known.set(key, series);
    changed.set(key, series);
    return series;
  };

  return {
    add(checkId: string, figures: readonly Figure[], at: number): void {
      for (const figure of figures) {
        const id = seriesOf(checkId, figure, at)?.id;
        if (id === undefined) continue;
        const { value } = figure;
        pointsAt(minutes, startOf(at, minuteMs)).set(id, value);
        const ofHour = pointsAt(hours, startOfHour(at));
        ofHour.set(id, combine(ofHour.get(id), { count: 1, mean: value, min: value, max: value }));
      }
    },
    ofCheck: (checkId: string): readonly StoredSeries[] =>
      [...known.values()].filter((each) => each.checkId === checkId),
    pending: () => ({ series: [...changed.values()], minutes, pointHours: hours }),
    clear(): void {
      changed = new Map();
      minutes = new Map();
      hours = new Map();
    },
  };
}
