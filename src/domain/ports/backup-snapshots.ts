/** A snapshot of snapper. */
export interface BackupSnapshot {
  readonly number: number;
  /** Epoch milliseconds. */
  readonly createdAt: number;
}

export interface BackupSnapshots {
  /**
   * The newest snapshot of a configuration of snapper.
   * @param latestAt snapshots that say to be newer do not count; epoch milliseconds.
   * @throws Error with snapper's own words where it refuses, as for a configuration that it does not have.
   */
  readonly newest: (config: string, latestAt: number, signal: AbortSignal) => Promise<BackupSnapshot | undefined>;
}
