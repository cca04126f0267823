import type { CheckSettings } from "./check.ts";

export interface Thresholds {
  readonly warn: number;
  readonly fail: number;
}

export const thresholdsFor = (own: Thresholds, { warn, fail }: CheckSettings): Thresholds => ({
  warn: warn ?? own.warn,
  fail: fail ?? own.fail,
});

export function grade(value: number, { warn, fail }: Thresholds): "pass" | "warn" | "fail" {
  if (value >= fail) return "fail";
  return value >= warn ? "warn" : "pass";
}

const gigabyte = 1e9;

const round = (value: number, decimals: number): number => Number(value.toFixed(decimals));

/** A share in percent with one decimal, so that the figure shown is the one graded. 0 where there is nothing. */
export const toPercent = (part: number, whole: number): number => (whole <= 0 ? 0 : round((part / whole) * 100, 1));

/** Bytes in GB of 10^9 bytes, with one decimal; three below 1 GB. */
export function toGigabytes(bytes: number): number {
  const gigabytes = bytes / gigabyte;
  return round(gigabytes, gigabytes < 1 ? 3 : 1);
}
