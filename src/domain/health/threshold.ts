import type { CheckSettings } from "./check.ts";

/** Figures from which on a check warns and fails. */
export interface Thresholds {
  readonly warn: number;
  readonly fail: number;
}

/** The thresholds of a check, with what settings say of them. */
export const thresholdsFor = (own: Thresholds, { warn, fail }: CheckSettings): Thresholds => ({
  warn: warn ?? own.warn,
  fail: fail ?? own.fail,
});

/** A figure for which more is worse: at the threshold it has reached it. */
export function grade(value: number, { warn, fail }: Thresholds): "pass" | "warn" | "fail" {
  if (value >= fail) return "fail";
  return value >= warn ? "warn" : "pass";
}

const gigabyte = 1e9;

const round = (value: number, decimals: number): number => Number(value.toFixed(decimals));

/** A share in percent with one decimal: the figure that is shown is also the one that is judged. 0 where there is nothing. */
export const toPercent = (part: number, whole: number): number => (whole <= 0 ? 0 : round((part / whole) * 100, 1));

/** Bytes in GB of 10^9 bytes, one decimal; below 1 GB three, or the small would all be 0. */
export function toGigabytes(bytes: number): number {
  const gigabytes = bytes / gigabyte;
  return round(gigabytes, gigabytes < 1 ? 3 : 1);
}
