import type { BackupSnapshot, BackupSnapshots } from "#domain/ports/backups.ts";

/** Snapshots by configuration. */
export const createFakeBackupSnapshots = (
  configs: Readonly<Record<string, readonly BackupSnapshot[]>> = {},
): BackupSnapshots => ({
  newest(config, latestAt) {
    const snapshots = configs[config];
    if (snapshots === undefined) return Promise.reject(new Error("snapper: Unknown config."));
    return Promise.resolve(
      snapshots
        .filter(({ createdAt }) => createdAt <= latestAt)
        .toSorted((a, b) => a.createdAt - b.createdAt)
        .at(-1),
    );
  },
});
