import type { StoredWindow, WindowStore } from "#domain/ports/access.ts";

export interface FakeWindowStore extends WindowStore {
  /** Times that something was saved. */
  readonly saves: () => number;
}

/** Windows in memory, by a clock that a test moves. */
export function createFakeWindowStore(clock: { readonly monotonicMs: () => number }): FakeWindowStore {
  const windows = new Map<string, StoredWindow & { readonly endsAtMs: number }>();
  let saves = 0;
  return {
    saves: () => saves,
    load: () =>
      [...windows.values()]
        .map(({ endsAtMs, ...window }) => ({ ...window, endsInMs: endsAtMs - clock.monotonicMs() }))
        .filter(({ endsInMs }) => endsInMs > 0),
    save(changed) {
      saves += 1;
      for (const window of changed) {
        const { subject, name, endsInMs } = window;
        windows.set(JSON.stringify([subject, name]), { ...window, endsAtMs: clock.monotonicMs() + endsInMs });
      }
    },
  };
}
