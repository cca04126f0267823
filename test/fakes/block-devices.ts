import { type BlockDevice, type BlockDevices, DisksUnavailable } from "#domain/ports/disks.ts";

export const fakeDevice = (name: string, given: Partial<BlockDevice> = {}): BlockDevice => ({
  name,
  path: `/dev/${name}`,
  number: "8:0",
  type: "disk",
  sizeBytes: 1_000_000_000,
  parents: [],
  isReadOnly: false,
  isRemovable: false,
  isRotational: false,
  model: null,
  transport: null,
  content: null,
  ...given,
});

export interface FakeBlockDevices extends BlockDevices {
  devices: readonly BlockDevice[];
  /** What is missing; while set, every call fails with it. */
  missing: string | undefined;
}

export function createFakeBlockDevices(devices: readonly BlockDevice[] = [fakeDevice("sda")]): FakeBlockDevices {
  const fake: FakeBlockDevices = {
    devices,
    missing: undefined,
    async list(signal) {
      await Promise.resolve();
      signal.throwIfAborted();
      if (fake.missing !== undefined)
        throw new DisksUnavailable(`there is no ${fake.missing}`, fake.missing, { retryable: false });
      return fake.devices;
    },
  };
  return fake;
}
