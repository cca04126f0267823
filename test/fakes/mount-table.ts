import type { FileSystemSizes, MountedVolume, MountPoint, MountTable, Swap } from "#domain/ports/disks.ts";

const halfFull: FileSystemSizes = {
  totalBytes: 1_000_000,
  freeBytes: 500_000,
  availableBytes: 450_000,
  totalInodes: 1_000,
  freeInodes: 900,
};

const fakeMount = (path: string, given: Partial<MountPoint> = {}): MountPoint => ({
  path,
  root: null,
  options: "rw,relatime",
  ...given,
});

export const fakeVolume = (path: string, given: Partial<MountedVolume> = {}): MountedVolume => ({
  number: "8:1",
  source: "/dev/sda1",
  type: "ext4",
  isRemote: false,
  mounts: [fakeMount(path)],
  sizes: halfFull,
  ...given,
});

export interface FakeMountTable extends MountTable {
  volumes: readonly MountedVolume[];
  swaps: readonly Swap[];
  isOwnView: boolean;
  leftOut: number;
}

export function createFakeMountTable(volumes: readonly MountedVolume[] = [fakeVolume("/")]): FakeMountTable {
  const fake: FakeMountTable = {
    volumes,
    swaps: [],
    isOwnView: false,
    leftOut: 0,
    async read(signal) {
      await Promise.resolve();
      signal.throwIfAborted();
      const { volumes: now, swaps, isOwnView, leftOut } = fake;
      return { volumes: now, swaps, isOwnView, leftOut };
    },
  };
  return fake;
}
