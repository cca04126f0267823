import type { Timer, Timers } from "#domain/ports/units.ts";

const now = Date.parse("2026-01-02T12:00:00Z");

/** A timer that ran an hour ago and runs again in an hour. */
export const fakeTimer = (name: string, given: Partial<Timer> = {}): Timer => ({
  name: `${name}.timer`,
  unit: `${name}.service`,
  lastStartAt: now - 3_600_000,
  nextStartAt: now + 3_600_000,
  unitActiveState: "inactive",
  unitResult: "success",
  unitSince: now - 3_590_000,
  ...given,
});

/** @param timers undefined stands for a host without systemd. */
export const createFakeTimers = (timers?: readonly Timer[]): Timers => ({ list: () => Promise.resolve(timers) });
