import type { TimeSync, TimeSyncState } from "#domain/ports/host.ts";

export interface FakeTimeSync extends TimeSync {
  /** The state from now on. */
  now: TimeSyncState | undefined;
}

/**
 * A clock in this state; undefined where nothing can tell.
 * @param afterwards what it is like once it has been switched on; without it that is refused.
 */
export function createFakeTimeSync(state: TimeSyncState | undefined, afterwards?: TimeSyncState): FakeTimeSync {
  const fake: FakeTimeSync = {
    now: state,
    state: () => Promise.resolve(fake.now),
    async enable() {
      await Promise.resolve();
      if (afterwards === undefined) throw new Error("timedatectl says: NTP not supported");
      fake.now = afterwards;
    },
  };
  return fake;
}
