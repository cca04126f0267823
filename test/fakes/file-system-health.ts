import type { FileSystemHealth, FileSystemRecord, ZfsPool } from "#domain/ports/storage.ts";

/** Without errors, and never scrubbed. */
export const fakeRecord = (given: Partial<FileSystemRecord> = {}): FileSystemRecord => ({
  errors: {},
  lastErrorAt: null,
  missingDevices: 0,
  scrub: null,
  ...given,
});

/** Records by device; a device without one is of a kind that keeps none. */
export const createFakeFileSystemHealth = (
  records: Readonly<Record<string, FileSystemRecord>> = {},
  pools: readonly ZfsPool[] = [],
): FileSystemHealth => ({
  of: ({ device }) => Promise.resolve(records[device]),
  pools: () => Promise.resolve(pools),
});
