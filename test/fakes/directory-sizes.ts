import {
  type DirectorySizes,
  DirectoryUnavailable,
  type MeasuredDirectory,
  NoDirectory,
} from "#domain/ports/disk-usage.ts";

export const fakeMeasured = (path: string, given: Partial<MeasuredDirectory> = {}): MeasuredDirectory => ({
  path,
  ...{ bytes: 4096, entries: 0, largest: [], written: [], truncated: null },
  unreadable: { total: 0, paths: [] },
  silent: [],
  otherFileSystems: { total: 0, paths: [] },
  ...given,
});

export interface FakeDirectorySizes extends DirectorySizes {
  measure: DirectorySizes["measure"];
  readonly directories: Map<string, MeasuredDirectory>;
  /** Directories that may not be read. */
  readonly closed: Set<string>;
}

export function createFakeDirectorySizes(directories: readonly MeasuredDirectory[] = []): FakeDirectorySizes {
  const fake: FakeDirectorySizes = {
    directories: new Map(directories.map((each) => [each.path, each])),
    closed: new Set(),
    async measure(path, { limit }, signal) {
      await Promise.resolve();
      signal.throwIfAborted();
      if (fake.closed.has(path))
        throw new DirectoryUnavailable(`this service may not read ${path}`, { missing: "rights", retryable: false });
      const found = fake.directories.get(path);
      if (found === undefined) throw new NoDirectory("it does not exist");
      return { ...found, largest: found.largest.slice(0, limit) };
    },
  };
  return fake;
}
