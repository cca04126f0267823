const nsPerMs = 1_000_000n;
const nsPerUs = 1_000n;
const nsPerSecond = 1_000_000_000n;

/** The last moment that is taken, in the year 2255: up to it whole microseconds are numbers. */
export const latestNs = BigInt(Number.MAX_SAFE_INTEGER) * nsPerUs + 999n;

/** Nanoseconds since the epoch as RFC 3339 in UTC, with all nine decimals. */
export function timestampOfNs(ns: bigint): string {
  const seconds = new Date(Number(ns / nsPerMs)).toISOString().slice(0, 19);
  return `${seconds}.${String(ns % nsPerSecond).padStart(9, "0")}Z`;
}

/** Microseconds since the epoch as RFC 3339 in UTC, with six decimals. */
export function timestampOfUs(us: number): string {
  const seconds = new Date(Math.floor(us / 1000)).toISOString().slice(0, 19);
  return `${seconds}.${String(us % 1_000_000).padStart(6, "0")}Z`;
}

export const usOfNs = (ns: bigint): number => Number(ns / nsPerUs);

export const msBetween = (startNs: bigint, endNs: bigint): number =>
  endNs > startNs ? Number(endNs - startNs) / Number(nsPerMs) : 0;

const unitUs: Readonly<Record<string, number>> = {
  us: 1,
  ms: 1000,
  s: 1_000_000,
  m: 60_000_000,
  h: 3_600_000_000,
};

/** Reads a duration such as `250ms`, whose form has been checked. */
export function durationUs(text: string): number {
  const [, count, unit = ""] = /^(\d+)([a-z]+)$/.exec(text) ?? [];
  return Number(count) * (unitUs[unit] ?? Number.NaN);
}
