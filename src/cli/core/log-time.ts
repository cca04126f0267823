import { InvalidArgumentError } from "commander";
import { parseTimestamp } from "#kernel/clock.ts";

const unitMs: Readonly<Record<string, number>> = {
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
  month: 2_629_800_000,
  y: 31_557_600_000,
};

/** `30m`, `4h`, `2d` in milliseconds; undefined for anything else. */
export function parseDuration(text: string): number | undefined {
  const [, count, unit = ""] = /^([1-9]\d{0,4})([mhd])$/.exec(text) ?? [];
  return count === undefined ? undefined : Number(count) * (unitMs[unit] ?? Number.NaN);
}

/** Spellings of systemd.time(7). */
const spellings: readonly (readonly [RegExp, string])[] = [
  [/^(s|sec|secs|second|seconds)$/, "s"],
  [/^(m|min|mins|minute|minutes)$/, "m"],
  [/^(h|hr|hrs|hour|hours)$/, "h"],
  [/^(d|day|days)$/, "d"],
  [/^(w|week|weeks)$/, "w"],
  [/^(M|month|months)$/, "month"],
  [/^(y|year|years)$/, "y"],
];

/** `2h 30min`, `90s`, in milliseconds; undefined for anything else. */
function spanMs(text: string): number | undefined {
  if (!/^(\d+(\.\d+)?\s*[A-Za-z]+\s*)+$/.test(text)) return undefined;
  let sum = 0;
  for (const [, figure = "", unit = ""] of text.matchAll(/(\d+(?:\.\d+)?)\s*([A-Za-z]+)/g)) {
    const size = unitMs[spellings.find(([pattern]) => pattern.test(unit))?.[1] ?? ""];
    if (size === undefined) return undefined;
    sum += Number(figure) * size;
  }
  return sum;
}

/** Local midnight, so many days from today. */
function midnight(now: number, days: number): number {
  const date = new Date(now);
  return new Date(date.getFullYear(), date.getMonth(), date.getDate() + days).getTime();
}

const dayAndTime = /^(?:(\d{4})-(\d{1,2})-(\d{1,2}))?(?:(?:^|[ T])(\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?)?$/;

/** `2026-01-31 14:00`, `2026-01-31`, `14:00` in local time; undefined for anything else, or a day that does not exist. */
function localMs(text: string, now: number): number | undefined {
  const match = dayAndTime.exec(text);
  if (match === null || text === "") return undefined;
  const today = new Date(now);
  const [year, month, day, hour, minute, second] = match
    .slice(1)
    .map((part) => (part === undefined ? undefined : Number(part)));
  const date = new Date(
    year ?? today.getFullYear(),
    month === undefined ? today.getMonth() : month - 1,
    day ?? today.getDate(),
    hour ?? 0,
    minute ?? 0,
    second ?? 0,
  );
  const isReal =
    (month === undefined || date.getMonth() === month - 1) &&
    (hour ?? 0) < 24 &&
    (minute ?? 0) < 60 &&
    (second ?? 0) < 60;
  return isReal ? date.getTime() : undefined;
}

function epochMs(text: string, now: number): number | undefined {
  if (text === "now") return now;
  if (text === "today") return midnight(now, 0);
  if (text === "yesterday") return midnight(now, -1);
  if (text === "tomorrow") return midnight(now, 1);
  if (/^@\d+(\.\d+)?$/.test(text)) return Number(text.slice(1)) * 1000;
  const [, sign, ahead] = /^([+-])(.*)$/.exec(text) ?? [];
  if (ahead !== undefined) {
    const span = spanMs(ahead.trim());
    return span === undefined ? undefined : now + (sign === "-" ? -span : span);
  }
  const [, ago] = /^(.*\S)\s+ago$/.exec(text) ?? [];
  if (ago !== undefined) {
    const span = spanMs(ago);
    return span === undefined ? undefined : now - span;
  }
  return parseTimestamp(text.replace(" ", "T")) ?? localMs(text, now) ?? utcMs(text);
}

/** `2026-01-31 14:00 UTC`. */
function utcMs(text: string): number | undefined {
  const [, day, time] = /^(\d{4}-\d{2}-\d{2}) (\d{2}:\d{2}(?::\d{2})?) UTC$/.exec(text) ?? [];
  return day === undefined ? undefined : parseTimestamp(`${day}T${time?.length === 5 ? `${time}:00` : time}Z`);
}

/** The latest time that RFC 3339 can write. */
const latestMs = Date.parse("9999-12-31T23:59:59.999Z");

/**
 * Parses a time as journalctl does: `yesterday`, `-1h`, `2 hours ago`, `2026-01-31 14:00`, `@1769868000`, RFC 3339.
 * @returns RFC 3339; undefined for anything else.
 */
export function parseTime(text: string, now: number): string | undefined {
  const ms = epochMs(text.trim(), now);
  return ms === undefined || !(ms >= 0 && ms <= latestMs) ? undefined : new Date(ms).toISOString();
}

/** Parses a time for an option. */
export const timeOption =
  (now: () => number) =>
  (text: string): string => {
    const found = parseTime(text, now());
    if (found !== undefined) return found;
    throw new InvalidArgumentError(
      "it must be a time such as yesterday, -1h, '2 hours ago', '2026-01-31 14:00' or RFC 3339",
    );
  };

/**
 * {@link parseTime} of something that is still to come: a time of the day alone is the next one, tomorrow where it has passed, as shutdown(8)
 * takes it.
 */
export function parseNextTime(text: string, now: number): string | undefined {
  const at = parseTime(text, now);
  if (at === undefined || Date.parse(at) > now || !/^\d{1,2}:\d{2}(?::\d{2})?$/.test(text.trim())) return at;
  const next = new Date(at);
  next.setDate(next.getDate() + 1);
  return next.toISOString();
}
