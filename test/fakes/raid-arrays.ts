import type { RaidArray, RaidArrays } from "#domain/ports/storage.ts";

/** A mirror of two devices, both there. */
export const fakeRaidArray = (given: Partial<RaidArray> = {}): RaidArray => ({
  name: "md0",
  level: "raid1",
  isActive: true,
  devices: 2,
  workingDevices: 2,
  rebuildPercent: null,
  ...given,
});

/** Arrays as given; undefined stands for a kernel without software RAID. */
export const createFakeRaidArrays = (arrays?: readonly RaidArray[]): RaidArrays => ({
  list: () => Promise.resolve(arrays),
});
