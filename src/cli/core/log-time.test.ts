import { describe, expect, it } from "vitest";
import { parseTime } from "./log-time.ts";

/** Noon of a winter's day, wherever the test runs. */
const now = new Date(2026, 0, 31, 12, 0, 0).getTime();
const local = (...parts: [number, number, number, number?, number?, number?]): string =>
  new Date(...parts).toISOString();
const ago = (ms: number): string => new Date(now - ms).toISOString();
const hour = 3_600_000;

describe("a time in the syntax of journalctl", () => {
  it.each([
    ["now", ago(0)],
    ["today", local(2026, 0, 31)],
    ["yesterday", local(2026, 0, 30)],
    ["tomorrow", local(2026, 1, 1)],
    ["-1h", ago(hour)],
    ["-90s", ago(90_000)],
    ["-1h 30min", ago(1.5 * hour)],
    ["-1h30m", ago(1.5 * hour)],
    ["+5 minutes", ago(-300_000)],
    ["2 hours ago", ago(2 * hour)],
    ["1 day ago", ago(24 * hour)],
    ["-2w", ago(14 * 24 * hour)],
    ["-1M", ago(2_629_800_000)],
    ["2026-01-30", local(2026, 0, 30)],
    ["2026-01-30 14:05", local(2026, 0, 30, 14, 5)],
    ["2026-01-30 14:05:06", local(2026, 0, 30, 14, 5, 6)],
    ["2026-01-30T14:05", local(2026, 0, 30, 14, 5)],
    ["2026-01-30 14:05 UTC", "2026-01-30T14:05:00.000Z"],
    ["14:05", local(2026, 0, 31, 14, 5)],
    ["2026-01-30T14:05:00+02:00", "2026-01-30T12:05:00.000Z"],
    ["2026-01-30 14:05:00+02:00", "2026-01-30T12:05:00.000Z"],
    ["@1769868000", "2026-01-31T14:00:00.000Z"],
  ])("is read from %s", (text, timestamp) => {
    expect(parseTime(text, now)).toBe(timestamp);
  });

  it.each([
    ...["", "soon", "-1", "-1 fortnight", "1h", "2026-02-30", "2026-13-01", "25:00", "14:60", "2026-01-30 14"],
    ...["2026-01-30T25:00:00Z", "@", "-100000y", "$(date)"],
  ])("is refused: %j", (text) => {
    expect(parseTime(text, now)).toBeUndefined();
  });
});
