import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Calendar } from "#domain/ports/calendar.ts";
import { createPhases, phaseAt, type WindowTimes } from "./windows.ts";

/** Opens at these times. */
const calendarOf = (times: readonly number[]): Calendar => ({
  latest: (at) => times.findLast((time) => time <= at),
  next: (at) => times.find((time) => time > at),
});

const timesOf = (openings: readonly number[], durationMs: number, delayMs = 0): WindowTimes => ({
  calendar: calendarOf(openings),
  durationMs,
  delayMs,
});

describe("a window", () => {
  it("is open from its opening on, and closed from its end on", () => {
    const times = timesOf([100, 200], 10);
    expect(phaseAt(times, 99)).toMatchObject({ isOpen: false, openedAt: undefined, changesAt: 100 });
    expect(phaseAt(times, 100)).toMatchObject({ isOpen: true, openedAt: 100, changesAt: 110 });
    expect(phaseAt(times, 109)).toMatchObject({ isOpen: true, changesAt: 110 });
    expect(phaseAt(times, 110)).toMatchObject({ isOpen: false, openedAt: 100, changesAt: 200 });
    expect(phaseAt(times, 210)).toMatchObject({ isOpen: false, openedAt: 200, changesAt: undefined });
  });

  it("opens later by the delay of the host, and lasts as long", () => {
    const times = timesOf([100], 10, 7);
    expect(phaseAt(times, 106)).toMatchObject({ isOpen: false, changesAt: 107 });
    expect(phaseAt(times, 107)).toMatchObject({ isOpen: true, openedAt: 107, changesAt: 117 });
    expect(phaseAt(times, 117)).toMatchObject({ isOpen: false });
  });

  it("stays open where it opens again before it closes, or just then", () => {
    const times = timesOf([100, 105, 115, 130], 10);
    expect(phaseAt(times, 101)).toMatchObject({ isOpen: true, changesAt: 125 });
    expect(phaseAt(times, 125)).toMatchObject({ isOpen: false, changesAt: 130 });
  });

  it("has no end in sight where it opens more often than it closes", () => {
    const every = {
      latest: (at: number) => Math.floor(at / 60) * 60,
      next: (at: number) => Math.floor(at / 60) * 60 + 60,
    };
    const phase = phaseAt({ calendar: every, durationMs: 600, delayMs: 0 }, 1234);
    expect(phase).toMatchObject({ isOpen: true, openedAt: 1200, changesAt: undefined });
    expect(phase.knownUntil).toBeGreaterThan(1234);
    expect(phase.knownUntil).toBeLessThan(Number.POSITIVE_INFINITY);
  });

  it("never opens without a time", () => {
    expect(phaseAt(timesOf([], 10), 5)).toEqual({
      isOpen: false,
      openedAt: undefined,
      changesAt: undefined,
      knownUntil: Number.POSITIVE_INFINITY,
    });
  });

  const windows = fc.record({
    openings: fc
      .uniqueArray(fc.integer({ min: 0, max: 300 }), { maxLength: 12 })
      .map((list) => list.sort((a, b) => a - b)),
    durationMs: fc.integer({ min: 1, max: 120 }),
    delayMs: fc.integer({ min: 0, max: 40 }),
  });

  it("is open just where an opening covers the time, and changes just when it says", () => {
    fc.assert(
      fc.property(windows, fc.integer({ min: -10, max: 500 }), ({ openings, durationMs, delayMs }, at) => {
        const isOpen = (time: number): boolean =>
          openings.some((opening) => opening + delayMs <= time && time < opening + delayMs + durationMs);
        const phase = phaseAt(timesOf(openings, durationMs, delayMs), at);
        expect(phase.isOpen).toBe(isOpen(at));
        const changes = Array.from({ length: 1000 }, (_, step) => at + step).find(
          (time) => isOpen(time) !== isOpen(at),
        );
        expect(phase.changesAt).toBe(changes);
      }),
      { numRuns: 2000 },
    );
  });

  it("is remembered only where it still holds, also when the clock is set back", () => {
    fc.assert(
      fc.property(
        windows,
        fc.array(fc.integer({ min: -10, max: 500 }), { maxLength: 20 }),
        ({ openings, durationMs, delayMs }, clock) => {
          const times = timesOf(openings, durationMs, delayMs);
          const phases = createPhases(times);
          for (const at of clock) {
            const { isOpen, openedAt, changesAt } = phaseAt(times, at);
            expect(phases(at)).toMatchObject({ isOpen, changesAt });
            if (isOpen) expect(openedAt).toBeDefined();
          }
        },
      ),
      { numRuns: 1000 },
    );
  });
});
