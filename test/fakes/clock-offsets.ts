import type { ClockOffset, ClockOffsets } from "#domain/ports/host.ts";

/** @param found undefined: no program knows. */
export const createFakeClockOffsets = (found?: ClockOffset): ClockOffsets => ({
  canRead: () => Promise.resolve(found !== undefined),
  read: () => Promise.resolve(found),
});
