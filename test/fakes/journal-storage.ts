import type { JournalSize, JournalStorage } from "#domain/health/ports.ts";

/** A journal of this size; none where there is no size. */
export const createFakeJournalStorage = (size: JournalSize | undefined): JournalStorage => ({
  size: () => Promise.resolve(size),
});
