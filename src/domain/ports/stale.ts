/** A process that runs programs or libraries whose files have been replaced or removed. */
export interface StaleProcess {
  readonly pid: number;
  readonly name: string;
  /** The system's service that it belongs to; null for what users run, and for none. */
  readonly unit: string | null;
  /** By name. */
  readonly files: readonly string[];
}

export interface StaleProcesses {
  /** By pid, without those that carry out the work of Steward itself, and without those of containers. */
  readonly processes: readonly StaleProcess[];
  /** Number of processes that could not be inspected, since that takes rights. */
  readonly hidden: number;
}

export interface StaleCode {
  readonly find: (signal: AbortSignal) => Promise<StaleProcesses>;
}
