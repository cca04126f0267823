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
