/** The package managers that are supported. */
export const packageManagers = ["apt", "dnf", "zypper", "pacman"] as const;
export type PackageManagerName = (typeof packageManagers)[number];

/** A package as it is installed. Versions are whole, as the package manager writes them: with epoch and revision. */
export interface InstalledPackage {
  readonly name: string;
  readonly architecture: string;
  readonly version: string;
  /** Whether somebody asked for it; otherwise it is here because another one needs it. */
  readonly isManual: boolean;
  /** Whether it is kept from being changed. */
  readonly isHeld: boolean;
  /** Set where its files are there, but it was not set up: it does not work yet, and is not gone either. */
  readonly isUnfinished?: true;
}

/** What a transaction does to one package: `from` null installs it, `to` null removes it. */
export interface PackageChange {
  readonly name: string;
  readonly architecture: string;
  readonly from: string | null;
  readonly to: string | null;
  readonly isSecurity: boolean;
}

/** What could be updated, from the lists on disk. */
export interface AvailableUpdates {
  readonly updates: readonly PackageChange[];
  /** Names of packages that are kept from being changed. */
  readonly held: readonly string[];
  /** When the lists were last brought up to date, epoch milliseconds; null when there are none. */
  readonly listsAt: number | null;
}

/** A newer release of the distribution inside the one that is installed, such as a point release of Debian. */
export interface SystemRelease {
  readonly version: string;
  /** YYYY-MM-DD, or empty. */
  readonly releaseDate: string;
  readonly isSecurity: boolean;
  readonly changelog: string;
}

/** Which updates are wanted. */
export interface UpdateRequest {
  /** `packages` removes nothing; `system` and `all` may, where the distribution's own upgrade does. */
  readonly type: "packages" | "system" | "all";
  readonly isSecurityOnly: boolean;
  /** Only these; undefined for all. */
  readonly names: readonly string[] | undefined;
}

/** What a transaction would do, as the package manager itself says: nothing else is ever carried out. */
export interface TransactionPlan {
  readonly changes: readonly PackageChange[];
  readonly downloadBytes: number;
  /** What the installed packages grow by; negative when they shrink. */
  readonly diskBytes: number;
}

export const noChanges = { changes: [], downloadBytes: 0, diskBytes: 0 } as const satisfies TransactionPlan;

/** What became of a transaction. */
export interface TransactionResult {
  readonly isDone: boolean;
  /** Last lines of what the package manager printed when it is not done, else empty. */
  readonly reason: string;
}

/** The package manager holds its lock for somebody else. */
export class PackagesLocked extends Error {
  override readonly name = "PackagesLocked";
  readonly holder: { readonly pid: number; readonly program: string } | undefined;

  constructor(message: string, holder?: { readonly pid: number; readonly program: string }) {
    super(message);
    this.holder = holder;
  }
}

/** A request that the package manager cannot carry out: its message says why. */
export class UpdateRefused extends Error {
  override readonly name = "UpdateRefused";
}

/** The package manager of the host. Nothing here asks questions, and configuration files are kept. */
export interface PackageManager {
  readonly name: PackageManagerName;
  /** Whether it can tell security updates from others. */
  readonly knowsSecurity: boolean;
  readonly installed: (signal: AbortSignal) => Promise<readonly InstalledPackage[]>;
  readonly updates: (signal: AbortSignal) => Promise<AvailableUpdates>;
  readonly release: (signal: AbortSignal) => Promise<SystemRelease | undefined>;
  /** @throws PackagesLocked; Error when a list cannot be had. */
  readonly refresh: (progress: Progress, signal: AbortSignal) => Promise<void>;
  /** @throws UpdateRefused for names that are not installed or are held, or when it cannot be solved. */
  readonly simulate: (request: UpdateRequest, signal: AbortSignal) => Promise<TransactionPlan>;
  /**
   * Carries out just this plan, in a systemd unit of its own named after the transaction, which goes on whatever happens to
   * the caller.
   * @throws PackagesLocked before anything was changed; UpdateRefused when what would be done is no longer the plan.
   */
  readonly commit: (
    plan: TransactionPlan,
    transaction: {
      readonly id: string;
      readonly progress: Progress;
      /** How a snapshot was taken before it, if one was: the package manager's own need not take another. */
      readonly snapshot?: "snapper" | "packages";
    },
    signal: AbortSignal,
  ) => Promise<TransactionResult>;
  /** Waits until a transaction that an earlier process began is over; at once when none of that id runs. */
  readonly settle: (transactionId: string, signal: AbortSignal) => Promise<void>;
  /** Finishes what an interrupted transaction left half-done, without changing anything else. */
  readonly repair: (
    transaction: { readonly id: string; readonly progress: Progress },
    signal: AbortSignal,
  ) => Promise<TransactionResult>;
  /** What an interrupted or failed transaction left half-done; none when all is well. */
  readonly audit: (signal: AbortSignal) => Promise<readonly string[]>;
  /** Whether a package has asked for a reboot, and services that still run what was replaced. */
  readonly restartNeeds: (
    signal: AbortSignal,
  ) => Promise<{ readonly requiresReboot: boolean; readonly units: readonly string[] }>;
}

/** The configuration of a package's new version, which lies beside a file that was changed on this host and kept as it is. */
export interface OfferedConfig {
  readonly file: string;
  /** `/etc/app.conf.dpkg-dist`. */
  readonly offered: string;
  /** When it was laid there, epoch milliseconds. */
  readonly changedAt: number;
}

/** The configuration files of packages. */
export interface ConfigFiles {
  readonly offered: (signal: AbortSignal) => Promise<readonly OfferedConfig[]>;
}

/**
 * A package of which something is on the host: only the configuration that its removal left (`configuration`), or what an
 * interrupted transaction left of it (`unfinished`).
 */
export interface PresentPackage extends InstalledPackage {
  readonly state: "installed" | "configuration" | "unfinished";
}

/** One version of one package, whatever is left of it. */
export type PackageVersion = Pick<PresentPackage, "name" | "architecture" | "version">;

export const isSameVersion = (one: PackageVersion, other: PackageVersion): boolean =>
  one.name === other.name && one.architecture === other.architecture && one.version === other.version;

/** The file of a package in a folder, and where it came from: `installed` was put together from what is on the host. */
export interface PackageFile {
  readonly name: string;
  readonly origin: "cache" | "repository" | "installed";
}

/** The file of a package is nowhere to be had. */
export class PackageFileMissing extends Error {
  override readonly name = "PackageFileMissing";
}

/** Package files by exact version, from which a snapshot returns. */
export interface PackageFiles {
  /** All packages of which something is on the host. */
  readonly present: (signal: AbortSignal) => Promise<readonly PresentPackage[]>;
  /** What the file of a package is called in a folder. By another name it may not be taken for a package file at all. */
  readonly fileName: (wanted: PackageVersion) => string;
  /**
   * Brings the file of a package into the folder, under that name: from the package manager's cache, from a repository, or else put together
   * from what is installed. For a package of which only configuration is left it is a file with that alone.
   * @throws PackageFileMissing
   */
  readonly fetch: (
    wanted: PackageVersion & Pick<PresentPackage, "state">,
    folder: string,
    signal: AbortSignal,
  ) => Promise<PackageFile>;
  /** What the file says it is, for a check before it is used. @throws Error when it is not a package file. */
  readonly identify: (path: string, signal: AbortSignal) => Promise<PackageVersion>;
  /**
   * Brings the host to exactly these packages: `files` are installed, older versions included, of `configuration` only the
   * configuration stays, and the names of `remove` go with their configuration; marks and holds are set as given. In a unit
   * of its own, as `commit`. What is there already is left alone, so that it can be called again.
   * @throws PackagesLocked
   */
  readonly restore: (
    target: {
      readonly files: readonly string[];
      readonly configuration: readonly string[];
      readonly remove: readonly Pick<InstalledPackage, "name" | "architecture">[];
      readonly marks: readonly InstalledPackage[];
    },
    transaction: { readonly id: string; readonly progress: Progress },
    signal: AbortSignal,
  ) => Promise<TransactionResult>;
}

/** How far something is: what is called while it runs. A type and not an interface, since it is no port. */
export type Progress = {
  /** 0 to 100, and what is being done. */
  readonly step: (percent: number, what: string) => void;
  /** A line of a program's output. */
  readonly line: (text: string) => void;
};

/** Progress that nobody follows. */
export const noProgress: Progress = { step: () => undefined, line: () => undefined };

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
  readonly manager: PackageManagerName | undefined;
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
