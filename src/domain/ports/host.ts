import type { SystemInfo } from "#contract/system.ts";

/** What the host is and how busy it is. */
export interface HostFacts {
  readonly info: () => Promise<SystemInfo>;
}

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
