import type { Calendar } from "#kernel/clock.ts";

/** A time that comes again after each interval, from midnight UTC on. */
export const createFakeCalendar = (everyMs: number): Calendar => ({
  latest: (at) => Math.floor(at / everyMs) * everyMs,
  next: (at) => (Math.floor(at / everyMs) + 1) * everyMs,
});
