import type { ThinPool, ThinPools } from "#domain/ports/storage.ts";

/** A pool of 100 GB, half full. */
export const fakeThinPool = (given: Partial<ThinPool> = {}): ThinPool => ({
  name: "vg0/pool",
  sizeBytes: 100_000_000_000,
  dataPercent: 50,
  metadataPercent: 12.5,
  health: "",
  ...given,
});

/** @param pools null: the kernel has some, and LVM's programs are not installed. */
export const createFakeThinPools = (pools: readonly ThinPool[] | null = []): ThinPools => ({
  arePresent: () => Promise.resolve(pools === null || pools.length > 0),
  list: () => Promise.resolve(pools === null ? undefined : { pools, complaint: "" }),
});
