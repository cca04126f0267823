import type { SmartDisk, SmartDisks, UnreadDisk } from "#domain/ports/storage.ts";

/** A healthy disk. */
export const fakeSmartDisk = (given: Partial<SmartDisk> = {}): SmartDisk => ({
  name: "/dev/sda",
  model: "Some Disk",
  kind: "disk",
  isHealthy: true,
  criticalWarning: 0,
  reallocatedSectors: 0,
  pendingSectors: 0,
  uncorrectableErrors: 0,
  wearPercent: null,
  celsius: 34,
  powerOnHours: 12_000,
  selfTest: null,
  ...given,
});

/** @param disks undefined: none could be asked. */
export const createFakeSmartDisks = (disks?: readonly (SmartDisk | UnreadDisk)[]): SmartDisks => ({
  canList: () => Promise.resolve(disks !== undefined),
  list: () => Promise.resolve(disks ?? []),
});
