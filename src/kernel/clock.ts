/** Time as the domain sees it; tests pass one that they move by hand. */
export interface Clock {
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Milliseconds that never jump, for durations. */
  readonly monotonicMs: () => number;
  /** Runs the task again and again until disposed; does not keep the process alive. */
  readonly every: (intervalMs: number, task: () => void) => Dispose;
  /** Resolves after the time, or as soon as the signal fires. */
  readonly sleep: (durationMs: number, signal?: AbortSignal) => Promise<void>;
}

/** Times that come again, by the local time of a zone. Epoch milliseconds. */
export interface Calendar {
  /** The last one that is not later than this; undefined without one. */
  readonly latest: (at: number) => number | undefined;
  /** The first one that is later than this; undefined without one. */
  readonly next: (at: number) => number | undefined;
}

/** Gives back what was opened. */
export type Dispose = () => void;

/** The end of the years that RFC 3339 can write. */
export const latestMs = Date.parse("9999-12-31T23:59:59.999Z");

/** Epoch milliseconds as RFC 3339 in UTC; up to {@link latestMs}. */
export const toTimestamp = (epochMs: number): string => new Date(epochMs).toISOString();

/** The day in UTC, as YYYY-MM-DD. */
export const toDay = (epochMs: number): string => new Date(epochMs).toISOString().slice(0, 10);

export const toNullableTimestamp = (epochMs: number | null): string | null =>
  epochMs === null ? null : toTimestamp(epochMs);

const rfc3339 = /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.\d+)?(?:[Zz]|([+-])(\d{2}):(\d{2}))$/;

/** With {@link latestMs} the limits of RFC 3339 in UTC; an offset may lead out of the years 0000 to 9999. */
const earliest = Date.parse("0000-01-01T00:00:00Z");

/**
 * Parses RFC 3339 (§5.6) strictly: with an offset, the separator `T` and an existing day. A leap second counts as the next second.
 * @returns epoch milliseconds; undefined for other text.
 */
export function parseTimestamp(text: string): number | undefined {
  const match = rfc3339.exec(text);
  if (match === null) return undefined;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match.slice(1, 7).map(Number);
  const daysInMonth = new Date(Date.UTC(year, month, 0)).getUTCDate();
  if (month < 1 || month > 12 || day < 1 || day > daysInMonth) return undefined;
  if (hour > 23 || minute > 59 || second > 60) return undefined;
  if (Number(match[8] ?? 0) > 23 || Number(match[9] ?? 0) > 59) return undefined;
  const millis = Date.parse(second === 60 ? text.replace(/:60/, ":59").toUpperCase() : text.toUpperCase());
  const time = millis + (second === 60 ? 1000 : 0);
  return time >= earliest && time <= latestMs ? time : undefined;
}
