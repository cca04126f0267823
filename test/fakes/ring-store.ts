import type { Ring, RingStore } from "#domain/ports/host-samples.ts";

export interface FakeRingStore extends RingStore {
  readonly saves: () => number;
}

/** Keeps copies, as a file does. */
export function createFakeRingStore(): FakeRingStore {
  let kept: readonly Ring[] | undefined;
  let saves = 0;
  const copy = (rings: readonly Ring[]): readonly Ring[] =>
    rings.map((ring) => ({ ...ring, values: ring.values.slice() }));
  return {
    load: () => kept && copy(kept),
    save(rings) {
      kept = copy(rings);
      saves += 1;
    },
    saves: () => saves,
  };
}
