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
