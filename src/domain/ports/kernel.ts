/** A process and the files that it has open. */
export interface ProcessFilesUse {
  readonly pid: number;
  readonly name: string;
  readonly open: number;
  /** How many it may have open: the soft limit, RLIMIT_NOFILE. */
  readonly limit: number;
}

export interface ProcessFiles {
  /** Processes with 50 files or more, those nearest to their limits first; without those that may not be looked at. */
  readonly busiest: (most: number) => Promise<readonly ProcessFilesUse[]>;
}

/** The memory of a unit of systemd, by its control group. */
export interface UnitMemory {
  readonly name: string;
  /** Without file caches and others that the kernel can free at once. */
  readonly usedBytes: number;
  /** Null without a limit of its own. */
  readonly limitBytes: number | null;
  /** Processes of it that the OOM killer has killed since it was started. */
  readonly oomKills: number;
}

export interface UnitMemories {
  /** Services and scopes that run; undefined where memory is not counted by unit (cgroup v1, or no memory controller). */
  readonly list: () => Promise<readonly UnitMemory[] | undefined>;
}
