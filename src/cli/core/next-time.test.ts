import { expect, it } from "vitest";
import { parseNextTime } from "./log-time.ts";

const local = (day: number, hour: number, minute = 0): Date => new Date(2026, 10, day, hour, minute);
const next = (text: string, now: Date): string | undefined => parseNextTime(text, now.getTime());

it("a time of the day that is to come is the next one, today or tomorrow", () => {
  const now = local(28, 12);
  expect(next("15:30", now)).toBe(local(28, 15, 30).toISOString());
  expect(next("03:00", now)).toBe(local(29, 3).toISOString());
  expect(next("12:00", now)).toBe(local(29, 12).toISOString());
  // With a date it is what it says, though it has passed.
  expect(next("2026-11-28 03:00", now)).toBe(local(28, 3).toISOString());
  expect(next("soon", now)).toBeUndefined();
});
