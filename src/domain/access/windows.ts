import type { Calendar } from "#kernel/clock.ts";

/** When a window is open. Openings that touch or overlap are one. */
export interface WindowTimes {
  readonly calendar: Calendar;
  readonly durationMs: number;
  /** By how much this host opens later than the calendar says, so that not all hosts do at once. */
  readonly delayMs: number;
}

export interface Phase {
  readonly isOpen: boolean;
  /** The latest opening, also of a window that has closed since. */
  readonly openedAt: number | undefined;
  /** When it closes, or opens; undefined where neither is in sight. */
  readonly changesAt: number | undefined;
  /** Until when the same holds at least. */
  readonly knownUntil: number;
}

/** Openings without a gap that are inspected; a window with more has no end in sight. */
const mostOpenings = 200;

function openPhase({ calendar, durationMs, delayMs }: WindowTimes, openedAt: number): Phase {
  let start = openedAt;
  for (let count = 0; count < mostOpenings; count += 1) {
    const next = calendar.next(start);
    const end = start + durationMs + delayMs;
    if (next === undefined || next > start + durationMs)
      return { isOpen: true, openedAt: openedAt + delayMs, changesAt: end, knownUntil: end };
    start = next;
  }
  const end = start + durationMs + delayMs;
  return { isOpen: true, openedAt: openedAt + delayMs, changesAt: undefined, knownUntil: end };
}

/** How a window is at a time (epoch milliseconds): open from its opening on, closed from its end on. */
export function phaseAt(times: WindowTimes, at: number): Phase {
  const { calendar, durationMs, delayMs } = times;
  const openedAt = calendar.latest(at - delayMs);
  if (openedAt !== undefined && at - delayMs < openedAt + durationMs) return openPhase(times, openedAt);
  const next = calendar.next(at - delayMs);
  const opensAt = next === undefined ? undefined : next + delayMs;
  return {
    isOpen: false,
    openedAt: openedAt === undefined ? undefined : openedAt + delayMs,
    changesAt: opensAt,
    knownUntil: opensAt ?? Number.POSITIVE_INFINITY,
  };
}

/** {@link phaseAt}, computed again only where the last answer does not hold: also before it, since clocks are set back. */
export function createPhases(times: WindowTimes): (at: number) => Phase {
  let last: { readonly from: number; readonly phase: Phase } | undefined;
  return (at) => {
    if (last === undefined || at < last.from || at >= last.phase.knownUntil)
      last = { from: at, phase: phaseAt(times, at) };
    return last.phase;
  };
}
