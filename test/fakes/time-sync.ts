import type { TimeSync, TimeSyncState } from "#domain/health/ports.ts";

/** A clock in this state; undefined where nothing can tell. */
export const createFakeTimeSync = (state: TimeSyncState | undefined): TimeSync => ({
  state: () => Promise.resolve(state),
});
