import type { FileSystems, MountedFileSystem, UnreadableFileSystem } from "#domain/ports/storage.ts";

const gigabyte = 1e9;

/** A file system of 100 GB and a million inodes, half of both taken, with what a test wants otherwise. */
export const fakeFileSystem = (given: Partial<MountedFileSystem> = {}): MountedFileSystem => ({
  path: "/",
  number: "8:1",
  device: "/dev/sda1",
  type: "ext4",
  isReadOnly: false,
  isMeantReadOnly: false,
  totalBytes: 100 * gigabyte,
  freeBytes: 50 * gigabyte,
  availableBytes: 50 * gigabyte,
  totalInodes: 1_000_000,
  freeInodes: 500_000,
  ...given,
});

/** One that answers with an error. */
export const brokenFileSystem = (given: Partial<UnreadableFileSystem> = {}): UnreadableFileSystem => ({
  path: "/srv/broken",
  number: "8:17",
  device: "/dev/sdb1",
  type: "vfat",
  isReadOnly: false,
  isMeantReadOnly: false,
  unreadable: "EIO",
  ...given,
});

export interface FakeFileSystems extends FileSystems {
  /** What is mounted from now on. */
  mounted: readonly (MountedFileSystem | UnreadableFileSystem)[];
}

/** File systems that are as given. */
export function createFakeFileSystems(mounted: FakeFileSystems["mounted"] = [fakeFileSystem()]): FakeFileSystems {
  const fake: FakeFileSystems = {
    mounted,
    async list(signal) {
      await Promise.resolve();
      signal.throwIfAborted();
      return fake.mounted;
    },
    holding: (path) =>
      Promise.resolve(
        fake.mounted
          .map((each) => each.path)
          .filter((each) => each === "/" || path === each || path.startsWith(`${each}/`))
          .toSorted((a, b) => b.length - a.length)[0],
      ),
  };
  return fake;
}
