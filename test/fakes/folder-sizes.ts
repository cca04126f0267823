import { type FolderSizes, FolderUnavailable, type MeasuredFolder, NoFolder } from "#domain/ports/disk-usage.ts";

export const fakeMeasured = (path: string, given: Partial<MeasuredFolder> = {}): MeasuredFolder => ({
  path,
  ...{ bytes: 4096, entries: 0, largest: [], written: [], truncated: null },
  unreadable: { total: 0, paths: [] },
  silent: [],
  otherFileSystems: { total: 0, paths: [] },
  ...given,
});

export interface FakeFolderSizes extends FolderSizes {
  measure: FolderSizes["measure"];
  readonly folders: Map<string, MeasuredFolder>;
  /** Folders that may not be read. */
  readonly closed: Set<string>;
}

export function createFakeFolderSizes(folders: readonly MeasuredFolder[] = []): FakeFolderSizes {
  const fake: FakeFolderSizes = {
    folders: new Map(folders.map((each) => [each.path, each])),
    closed: new Set(),
    async measure(path, { limit }, signal) {
      await Promise.resolve();
      signal.throwIfAborted();
      if (fake.closed.has(path))
        throw new FolderUnavailable(`this service may not read ${path}`, { missing: "rights", retryable: false });
      const found = fake.folders.get(path);
      if (found === undefined) throw new NoFolder("it does not exist");
      return { ...found, largest: found.largest.slice(0, limit) };
    },
  };
  return fake;
}
