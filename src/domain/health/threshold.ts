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
