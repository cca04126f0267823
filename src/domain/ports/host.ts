import type { SystemInfo } from "#contract/system.ts";

/** A process that has ended and was not awaited by its parent. */
export interface Zombie {
  readonly pid: number;
  readonly name: string;
  readonly parentPid: number;
  readonly parentName: string;
}

/** What the host is and how busy it is. */
export interface HostFacts {
  readonly info: () => Promise<SystemInfo>;
  /** In a container with a limit those of the limit. */
  readonly memory: () => Promise<{
    readonly totalBytes: number;
    readonly availableBytes: number;
    readonly swapTotalBytes: number;
    readonly swapFreeBytes: number;
  }>;
  /** Over the last minute or up to ten, or since the start when that is shorter. */
  readonly cpuPercent: (overMs?: number) => Promise<number>;
  readonly zombies: () => Promise<readonly Zombie[]>;
}

export interface TimeSyncState {
  /** Whether a time service is installed. */
  readonly canSync: boolean;
  readonly isEnabled: boolean;
  readonly isSynchronised: boolean;
  /** A container has the clock of its host. */
  readonly isContainer: boolean;
  /** A running program that sets the clock and is not the time service of systemd: `chronyd`, `ntpd`, `phc2sys`. */
  readonly otherDaemon?: string;
}

export interface TimeSync {
  /** Undefined where nothing on the host can tell. */
  readonly state: (signal: AbortSignal) => Promise<TimeSyncState | undefined>;
  /** Enables the time service. @throws when that is refused. */
  readonly enable: (signal: AbortSignal) => Promise<void>;
}

export interface RebootReasons {
  readonly isRequested: boolean;
  readonly packages: readonly string[];
  /** Installed ones are none where the host does not bring its own. */
  readonly runningKernel: string;
  readonly installedKernels: readonly string[];
}

export interface RebootNeed {
  readonly reasons: () => Promise<RebootReasons>;
}
