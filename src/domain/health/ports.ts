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
  /** The `path` of the listed file system that a path of the host lies on; undefined where it lies on none of them. */
  readonly holding: (path: string) => Promise<string | undefined>;
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
  readonly read: (
    name: string,
  ) => Promise<UnitState & { readonly unitFileState: string; readonly since: number | null }>;
  readonly resetFailed: (name: string) => Promise<void>;
  /** @returns systemd's job result; `running` when the job outlasts the wait, `unknown` when the bus went away meanwhile. */
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

/** What the files of the journal take, in bytes. */
export interface JournalSize {
  readonly diskBytes: number;
  /** Of journals in memory, below /run. */
  readonly memoryBytes: number;
  readonly files: number;
  /** Folder of those on the disk. */
  readonly folder: string;
  /** Of the files on the disk, what those take that are written no more and that vacuuming can remove. */
  readonly archivedBytes: number;
}

export interface JournalStorage {
  /** @returns undefined where the host keeps no journal. */
  readonly size: (signal: AbortSignal) => Promise<JournalSize | undefined>;
  /** Whether journald writes there, so that its files can be rotated; not so in a folder of journals from elsewhere. */
  readonly canRotate: boolean;
  /**
   * Begins new files: those of now become archived ones.
   * @throws when journald does not do it.
   */
  readonly rotate: (signal: AbortSignal) => Promise<void>;
  /**
   * Removes archived files, the oldest first, until those of each folder take no more than this.
   * @throws when it cannot be done.
   */
  readonly vacuum: (keepBytes: number, signal: AbortSignal) => Promise<void>;
}

/** Files in one folder that can go without loss. */
export interface CleanupCandidate {
  /** `packages`: downloads of the package manager, which can be had again. */
  readonly kind: "packages" | "temporary" | "core-dumps" | "crash-reports";
  readonly folder: string;
  /** Their names in the folder, sorted. */
  readonly files: readonly string[];
  readonly bytes: number;
}

/** What was removed, and what took its place on the disk. */
export interface CleanedUp {
  readonly files: number;
  readonly bytes: number;
}

/** Files that nobody misses: what counts as such is a closed list, which the adapter holds. */
export interface DiskCleanup {
  /** Folders in which there is something. */
  readonly find: (signal: AbortSignal) => Promise<readonly CleanupCandidate[]>;
  /**
   * Removes the files of a candidate, but for those that have come into use or have changed since.
   * @throws Error when some could not be removed: the message says how many, and why the first one.
   */
  readonly remove: (candidate: CleanupCandidate, signal: AbortSignal) => Promise<CleanedUp>;
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

/** What sshd would do with a connection, as it says itself. */
export type SshConfig =
  | {
      readonly is: "valid";
      /** By option name in lower case. An option that is given more than once has all its values, one a line. */
      readonly options: Readonly<Record<string, string>>;
    }
  /** It would not start. */
  | { readonly is: "refused"; readonly message: string }
  /** It cannot be asked. */
  | { readonly is: "untold"; readonly reason: string };

export interface SshServer {
  /** @returns undefined where no sshd is installed. */
  readonly config: (signal: AbortSignal) => Promise<SshConfig | undefined>;
}

/** A port on which the network reaches something. */
export interface OpenPort {
  readonly protocol: "tcp" | "udp";
  readonly port: number;
  /** Address that it is bound to; `0.0.0.0` and `::` are all. */
  readonly address: string;
  /** Over which kinds of address the network reaches it. */
  readonly families: readonly ("ipv4" | "ipv6")[];
  /** Number of the socket, by which its owner is found; 0 for sockets of the kernel itself. */
  readonly inode: number;
}

/** Sockets of this host's network that wait for others. */
export interface ListeningSockets {
  /** Those beyond loopback: TCP that listens, and UDP at a port of its own that is bound to no peer. */
  readonly open: () => Promise<readonly OpenPort[]>;
  /** Programs by socket; what belongs to another container, or to the kernel, is missing. */
  readonly owners: (inodes: readonly number[]) => Promise<ReadonlyMap<number, string>>;
}

/** A chain of rules that packets for this host go through. */
export interface InputChain {
  readonly families: readonly ("ipv4" | "ipv6")[];
  readonly table: string;
  readonly name: string;
  /** What becomes of a packet that no rule decides about. */
  readonly policy: "accept" | "drop";
  /**
   * Whether a rule of the chain, or of those it leads to, drops or rejects packets. One that does so only to certain
   * senders, or to packets of no known connection, does not count: it keeps nobody else out.
   */
  readonly isRefusing: boolean;
}

export interface PacketFilter {
  /** The chains, and why others could not be looked at. */
  readonly inputChains: (
    signal: AbortSignal,
  ) => Promise<{ readonly chains: readonly InputChain[]; readonly untold: readonly string[] }>;
}

/** A package that the manager began to change and did not finish. */
export interface UnfinishedPackage {
  readonly name: string;
  readonly version: string;
  /** The manager's own word: `unpacked`, `half-configured`. */
  readonly state: string;
  /** Whether its files cannot be relied on. */
  readonly mustBeReinstalled: boolean;
}

/** What is wrong with the packages of the host. */
export interface PackageFaults {
  /** How many are installed. */
  readonly installed: number;
  readonly unfinished: readonly UnfinishedPackage[];
  /** Whether the manager has written down changes that it has not carried out to the end. */
  readonly isInterrupted: boolean;
  /** Dependencies that are not there, in the manager's words. Not looked for while packages are in the middle of a change. */
  readonly unmet: readonly { readonly name: string; readonly needs: string }[];
  readonly held: readonly { readonly name: string; readonly version: string }[];
  /** Who is changing packages now. */
  readonly writer: { readonly pid: number; readonly program: string } | undefined;
}

export interface PackageStates {
  /** Name of the package manager; undefined where there is none that is supported, and then there are no faults either. */
  readonly manager: string | undefined;
  /** @throws when the manager is there and does not answer. */
  readonly faults: (signal: AbortSignal) => Promise<PackageFaults | undefined>;
}

/** A newer version of an installed package that closes a security hole. */
export interface SecurityUpdate {
  readonly name: string;
  readonly architecture: string;
  readonly installed: string;
  readonly candidate: string;
  /** The archives that call it one: `stable-security`. */
  readonly suites: readonly string[];
  /** Whether the administrator keeps the package at its version. */
  readonly isHeld: boolean;
}

/** What the package lists on disk offer. Nothing is downloaded. */
export interface PackageUpdates {
  /** @returns undefined where there is no package manager that is supported. */
  readonly security: (signal: AbortSignal) => Promise<readonly SecurityUpdate[] | undefined>;
  /** When the lists were last known to be fresh, epoch milliseconds; undefined where there are none. */
  readonly refreshedAt: () => Promise<number | undefined>;
}

/** What it takes to have everything that packages need, without removing any. */
export interface MissingPlan {
  /** Packages that are to be installed again although they are there. */
  readonly reinstalled: readonly string[];
  /** Exactly what is installed; `from` is null for a package that is new. */
  readonly changes: readonly {
    readonly name: string;
    readonly architecture: string;
    readonly from: string | null;
    readonly to: string;
  }[];
  /** Packages that are then set up. */
  readonly configured: readonly string[];
  readonly downloadBytes: number;
  /** Why it cannot be done; null when it can. */
  readonly obstacle: string | null;
}

/**
 * Mends packages. Each waits a while for the locks of the package manager.
 * @throws when it did not succeed: the message says why, in the words of the manager and of the package, or who holds the lock.
 */
export interface PackageRepairs {
  /** Takes up what was interrupted and sets up what is unpacked. */
  readonly finish: (signal: AbortSignal) => Promise<void>;
  /** Changes nothing. */
  readonly planMissing: (reinstalled: readonly string[], signal: AbortSignal) => Promise<MissingPlan>;
  /** @throws also when it would no longer do what the plan says. */
  readonly installMissing: (plan: MissingPlan, signal: AbortSignal) => Promise<void>;
  /** Downloads the package lists. */
  readonly refreshLists: (signal: AbortSignal) => Promise<void>;
}
