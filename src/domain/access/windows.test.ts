import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Calendar } from "#kernel/clock.ts";
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
  it("that opens again before it closes has no end", () => {
    const every = {
      latest: (at: number) => Math.floor(at / 60) * 60,
      next: (at: number) => Math.floor(at / 60) * 60 + 60,
    };
    const phase = phaseAt({ calendar: every, durationMs: 600, delayMs: 0 }, 1234);
    expect(phase).toMatchObject({ isOpen: true, openedAt: 1200, changesAt: undefined });
    expect(phase.knownUntil).toBeGreaterThan(1234);
    expect(phase.knownUntil).toBeLessThan(Number.POSITIVE_INFINITY);
  });

  const windows = fc.record({
    openings: fc
      .uniqueArray(fc.integer({ min: 0, max: 300 }), { maxLength: 12 })
      .map((list) => list.sort((a, b) => a - b)),
    durationMs: fc.integer({ min: 1, max: 120 }),
    delayMs: fc.integer({ min: 0, max: 40 }),
  });

  it("is open exactly while an opening covers the time, and names its next change", () => {
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

  it("is cached only while it holds, also when the clock is set back", () => {
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
