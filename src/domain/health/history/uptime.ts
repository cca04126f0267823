import { type CheckStatus, checkStatuses } from "#contract/checks.ts";
import type { StoredHour } from "#domain/ports/check-history.ts";
import { hourMs, startOfHour } from "./timeline.ts";

export const dayMs = 24 * hourMs;

export type TimeInStates = Readonly<Record<CheckStatus | "unknown", number>>;

/** Milliseconds in each state; they add up to the length of the window. */
export interface Window {
  /** Epoch milliseconds. */
  readonly since: number;
  readonly until: number;
  readonly timeMs: TimeInStates;
}

export interface Uptime extends Window {
  readonly days: number;
}

export interface Day extends Window {
  readonly runs: number;
  readonly changes: number;
  readonly minMs: number;
  readonly maxMs: number;
  readonly totalMs: number;
}

/** What was counted of an hour, cut to its length: a clock that was set back by hours lets time be counted twice. */
function timeOf({ hour, inStatus }: StoredHour, until: number): Readonly<Record<CheckStatus, number>> {
  const length = Math.max(0, Math.min(until, hour + hourMs) - hour);
  const counted = checkStatuses.reduce((sum, status) => sum + inStatus[status], 0);
  if (counted <= length) return inStatus;
  const part = (status: CheckStatus): number => Math.floor((inStatus[status] * length) / counted);
  return { pass: part("pass"), warn: part("warn"), fail: part("fail"), skip: part("skip") };
}

function windowOf(hours: readonly StoredHour[], since: number, until: number): Window {
  const time = { pass: 0, warn: 0, fail: 0, skip: 0 };
  let known = 0;
  for (const each of hours) {
    if (each.hour < since || each.hour >= until) continue;
    const ofHour = timeOf(each, until);
    for (const status of checkStatuses) {
      time[status] += ofHour[status];
      known += ofHour[status];
    }
  }
  return { since, until, timeMs: { ...time, unknown: until - since - known } };
}

/**
 * The time in each state over the last days, up to now.
 * @returns a window for each number of days, from the start of an hour on.
 */
export const uptimeOf = (hours: readonly StoredHour[], days: readonly number[], now: number): readonly Uptime[] =>
  days.map((count) => ({ days: count, ...windowOf(hours, startOfHour(now) - count * dayMs, now) }));

/** Each day of UTC from that of `since` to today, oldest first. */
export function daysOf(hours: readonly StoredHour[], since: number, now: number): readonly Day[] {
  const days: Day[] = [];
  for (let day = Math.floor(since / dayMs) * dayMs; day <= now; day += dayMs) {
    const until = Math.min(now, day + dayMs);
    const ofDay = hours.filter(({ hour, runs }) => hour >= day && hour < day + dayMs && runs > 0);
    const total = (of: (hour: StoredHour) => number): number => ofDay.reduce((sum, each) => sum + of(each), 0);
    days.push({
      ...windowOf(hours, day, until),
      runs: total(({ runs }) => runs),
      changes: total(({ changes }) => changes),
      minMs: ofDay.reduce((least, { minMs }) => Math.min(least, minMs), ofDay[0]?.minMs ?? 0),
      maxMs: ofDay.reduce((most, { maxMs }) => Math.max(most, maxMs), 0),
      totalMs: total(({ totalMs }) => totalMs),
    });
  }
  return days;
}
