import type { CheckStatus } from "#contract/checks.ts";

/** What a probe found of a component. */
export interface ProbeResult {
  readonly healthy: boolean;
  /** Whether this host should have the component: one that it cannot have does not make it unhealthy. */
  readonly expected: boolean;
  /** Why it is not healthy, for the log. */
  readonly reason?: string;
}

export const healthy: ProbeResult = { healthy: true, expected: true };
export const unhealthy = (reason: string): ProbeResult => ({ healthy: false, expected: true, reason });

/** Looks at one component once. A probe that throws counts as an expected component that is not healthy. */
export type Probe = (signal: AbortSignal) => Promise<ProbeResult>;

/** A process that has ended and that its parent has not asked about. */
export interface Zombie {
  readonly pid: number;
  readonly name: string;
  readonly parentPid: number;
  readonly parentName: string;
}

/** How busy the kernel is. */
export interface KernelLoad {
  /** Bytes; in a container with a limit those of the limit. */
  readonly memory: () => Promise<{
    readonly totalBytes: number;
    readonly availableBytes: number;
    readonly swapTotalBytes: number;
    readonly swapFreeBytes: number;
  }>;
  /** Share of processor time in use over the last minute, in percent; over what there is since the start when that is shorter. */
  readonly cpuPercent: () => Promise<number>;
  readonly fileHandles: () => Promise<{ readonly used: number; readonly maximum: number }>;
  readonly zombies: () => Promise<readonly Zombie[]>;
}

/** A run of a check as it is kept. Times are epoch milliseconds. */
export interface StoredRun {
  readonly checkedAt: number;
  readonly status: CheckStatus;
  readonly message: string;
  readonly durationMs: number;
}

/** What is kept of a check between starts of the service. */
export interface StoredState {
  readonly status: CheckStatus;
  /** Since when it has had this status. */
  readonly since: number;
  readonly consecutiveFailures: number;
}

/** Runs of checks, kept over restarts. */
export interface CheckHistory {
  readonly record: (checkId: string, run: StoredRun, state: StoredState) => void;
  readonly state: (checkId: string) => StoredState | undefined;
  /** The newest `limit` runs since a moment, oldest first, and how many there are. */
  readonly runs: (
    checkId: string,
    since: number,
    limit: number,
  ) => { readonly runs: readonly StoredRun[]; readonly total: number };
  /** Forgets runs before a moment. */
  readonly forget: (before: number) => void;
}

/** A unit of systemd. The states are systemd's own words; `loadState` is empty for a unit file that is not loaded. */
export interface UnitState {
  readonly name: string;
  readonly loadState: string;
  readonly activeState: string;
  readonly subState: string;
  /** Automatic restarts since the unit was loaded or reset. */
  readonly restarts: number;
  /** `success`, `exit-code`, `start-limit-hit`, … */
  readonly result: string;
}

export interface UnitStates {
  /**
   * Services. Where systemd does not run, nothing of what is listed is loaded.
   * @throws where it runs and does not answer.
   */
  readonly list: () => Promise<readonly UnitState[]>;
  /**
   * Units of every kind that have failed: services, mounts, sockets, timers, …
   * @returns undefined where systemd does not run.
   * @throws where it runs and does not answer.
   */
  readonly failed: () => Promise<readonly FailedUnit[] | undefined>;
}

/** A unit that has failed; `result` is empty for kinds that give none. */
export type FailedUnit = Pick<UnitState, "name" | "result">;

/** Starts units of any kind again. Every method throws where systemd does not answer, or refuses. */
export interface UnitRepair {
  /**
   * The unit as it is now, and since when, which stays as it was where systemd does not even try to start it; loadState
   * `not-found` for an unknown one.
   */
  readonly read: (name: string) => Promise<
    UnitState & {
      readonly unitFileState: string;
      readonly since: number | null;
      /** Why Steward's policy leaves it alone; undefined where it may be restarted. */
      readonly refusal: { readonly reason: string; readonly remedy: string } | undefined;
    }
  >;
  readonly resetFailed: (name: string) => Promise<void>;
  /** @returns systemd's job result; `running` when the job outlasts the wait, `unknown` when it was lost with the bus and the unit does not show it. */
  readonly restart: (name: string, signal: AbortSignal) => Promise<string>;
  /** Resolves once the unit is seen to have failed, or after the time. */
  readonly settled: (name: string, waitMs: number) => Promise<void>;
}

/** A line of the kernel log. */
export interface KernelMessage {
  /** RFC 3339. */
  readonly timestamp: string;
  readonly message: string;
}

export interface KernelLog {
  /**
   * Messages since a moment (epoch microseconds) that match a regular expression, the newest 1000, oldest first.
   * @returns undefined where the host keeps no journal.
   * @throws when the journal is there and cannot be read.
   */
  readonly matching: (
    pattern: string,
    sinceMicros: number,
    signal: AbortSignal,
  ) => Promise<readonly KernelMessage[] | undefined>;
}

/** What the system says of its clock. */
export interface TimeSyncState {
  /** Whether a service that sets the clock from the network is installed. */
  readonly canSync: boolean;
  readonly isEnabled: boolean;
  /** Whether the kernel considers its clock right, whoever set it. */
  readonly isSynchronised: boolean;
  /** Whether this is a container, whose clock is that of the machine around it. */
  readonly isContainer: boolean;
}

export interface TimeSync {
  /** @returns undefined where nothing on the host can tell. */
  readonly state: (signal: AbortSignal) => Promise<TimeSyncState | undefined>;
  /**
   * Switches on the service that sets the clock.
   * @throws when that is refused.
   */
  readonly enable: (signal: AbortSignal) => Promise<void>;
}

/** Why a host may need to boot again. */
export interface RebootReasons {
  /** Whether a package asked for it. */
  readonly isRequested: boolean;
  readonly packages: readonly string[];
  /** Release of the kernel that runs, and of those that are installed; none where the host does not bring its own. */
  readonly runningKernel: string;
  readonly installedKernels: readonly string[];
}

export interface RebootNeed {
  readonly reasons: () => Promise<RebootReasons>;
}
