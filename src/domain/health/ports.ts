import type { CheckStatus } from "#contract/checks.ts";

/** What a probe found of a component. */
export interface ProbeResult {
  readonly healthy: boolean;
  /** Whether this host should have the component: one that it cannot have does not make it unhealthy. */
  readonly expected: boolean;
  /** Why it is not healthy, for the log. */
  readonly reason?: string;
}

/** Looks at one component once. A probe that throws counts as an expected component that is not healthy. */
export type Probe = (signal: AbortSignal) => Promise<ProbeResult>;

/** A mounted file system. Sizes are bytes; `availableBytes` is what is left for unprivileged users. */
export interface MountedFileSystem {
  readonly path: string;
  readonly device: string;
  readonly type: string;
  readonly isReadOnly: boolean;
  /** Whether it was meant to be mounted read-only: by fstab, or because its kind cannot be written. */
  readonly isMeantReadOnly: boolean;
  readonly totalBytes: number;
  readonly freeBytes: number;
  readonly availableBytes: number;
  /** 0 where the file system has no fixed number of inodes. */
  readonly totalInodes: number;
  readonly freeInodes: number;
}

/** File systems of the host that hold data: no pseudo file systems, each device once, at its shortest path. */
export interface FileSystems {
  readonly list: (signal: AbortSignal) => Promise<readonly MountedFileSystem[]>;
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

/** Software RAID arrays of the kernel (md), as /proc/mdstat tells. */
export interface RaidArray {
  readonly name: string;
  readonly level: string;
  readonly isActive: boolean;
  readonly devices: number;
  readonly workingDevices: number;
  /** Recovery, resync or reshape under way, in percent; null when there is none. */
  readonly rebuildPercent: number | null;
}

export interface RaidArrays {
  /** Undefined where the kernel has no software RAID. */
  readonly list: () => Promise<readonly RaidArray[] | undefined>;
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
   * Where systemd does not run, nothing of what is listed is loaded.
   * @throws where it runs and does not answer.
   */
  readonly list: () => Promise<readonly UnitState[]>;
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

/** What the files of the journal take, in bytes. */
export interface JournalSize {
  readonly diskBytes: number;
  /** Of journals in memory, below /run. */
  readonly memoryBytes: number;
  readonly files: number;
}

export interface JournalStorage {
  /** @returns undefined where the host keeps no journal. */
  readonly size: (signal: AbortSignal) => Promise<JournalSize | undefined>;
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

/** What became of a question to a name server; `code` is the reason as the resolver names it (`ETIMEOUT`, `ESERVFAIL`). */
export type NameAnswer =
  | { readonly isAnswered: true; readonly durationMs: number }
  | { readonly isAnswered: false; readonly durationMs: number; readonly code: string };

export interface NameServers {
  /** Addresses that the host is told to ask, in order. */
  readonly list: () => Promise<readonly string[]>;
  /** Asks one server for the addresses of a name; for the root `.`, for its name servers. */
  readonly ask: (server: string, name: string, signal: AbortSignal) => Promise<NameAnswer>;
}

export interface DefaultRoute {
  readonly family: "ipv4" | "ipv6";
  readonly interface: string;
  /** Null for a link without one, such as a tunnel. */
  readonly gateway: string | null;
  /** Whether the interface is up and has a carrier. */
  readonly isUp: boolean;
}

export interface DefaultRoutes {
  readonly list: () => Promise<readonly DefaultRoute[]>;
}

/** A certificate of a file. Times are epoch milliseconds. */
export interface CertificateDates {
  readonly subject: string;
  readonly validFrom: number;
  readonly validTo: number;
}

export interface CertificateFiles {
  /** @throws when the file cannot be read or holds no certificate: the message says which. */
  readonly read: (path: string) => Promise<readonly CertificateDates[]>;
}
