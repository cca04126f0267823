import type { SnapshotKind } from "#contract/updates.ts";

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
  readonly name: "apt" | "dnf" | "zypper" | "pacman";
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
      readonly snapshot?: SnapshotBackend["name"];
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

/** A snapshot that can be returned to. Times are epoch milliseconds. */
export interface StoredSnapshot {
  /** `YYYYMMDD-HHMMSS`, in UTC. */
  readonly id: string;
  readonly description: string;
  readonly createdAt: number;
  readonly sizeBytes: number;
  readonly kind: SnapshotKind;
  readonly backend: "snapper" | "packages";
  /** Whether retention leaves it alone. */
  readonly isProtected: boolean;
  readonly packagesCount: number;
}

/** What has changed since a snapshot. */
export interface SnapshotDiff {
  /** `from` is the version then, `to` the version now. */
  readonly packages: readonly Pick<PackageChange, "name" | "architecture" | "from" | "to">[];
  /** By whole path. */
  readonly files: readonly { readonly path: string; readonly change: "added" | "removed" | "modified" }[];
}

/** What a rollback did, or found. */
export interface RollbackOutcome {
  readonly isDone: boolean;
  readonly reason: string;
  readonly packages: readonly Pick<PackageChange, "name" | "architecture" | "from" | "to">[];
  readonly filesRestored: number;
  readonly requiresReboot: boolean;
}

/** A snapshot is damaged, or is not what it says: nothing was touched. */
export class SnapshotUnusable extends Error {
  override readonly name = "SnapshotUnusable";
}

/** One way of keeping snapshots. */
export interface SnapshotBackend {
  readonly name: StoredSnapshot["backend"];
  /** Whether a rollback takes effect only when the host is started anew. */
  readonly needsReboot: boolean;
  readonly list: (signal: AbortSignal) => Promise<readonly StoredSnapshot[]>;
  /**
   * Takes one. `changes` are those that are about to be made: what is needed to undo them is kept.
   * @throws Error when it could not be taken whole; then nothing is left of it.
   */
  readonly create: (
    options: {
      readonly id: string;
      readonly description: string;
      readonly kind: StoredSnapshot["kind"];
      readonly changes: readonly PackageChange[];
      /** Whether retention leaves it alone; false unless given. */
      readonly isProtected?: boolean;
      readonly progress: Progress;
    },
    signal: AbortSignal,
  ) => Promise<StoredSnapshot>;
  readonly remove: (id: string, signal: AbortSignal) => Promise<void>;
  readonly diff: (id: string, signal: AbortSignal) => Promise<SnapshotDiff>;
  /** Reads all of it and compares every hash. @throws SnapshotUnusable */
  readonly verify: (id: string, signal: AbortSignal) => Promise<void>;
  /**
   * Returns to it, after all hashes were compared. Interrupted, refused for a lock, or done, it can be called again with the
   * same transaction until {@link tidy}, and then still knows what it has changed.
   * @throws SnapshotUnusable when nothing was touched; PackagesLocked.
   */
  readonly rollback: (
    id: string,
    transaction: { readonly id: string; readonly progress: Progress },
    signal: AbortSignal,
  ) => Promise<RollbackOutcome>;
  /**
   * Takes away what rollbacks have left that are done, or were interrupted and that nobody goes on with: to be called while no
   * other one is under way. `settle` is waited for before each, since what it changed packages with may outlive it.
   */
  readonly tidy: (settle: (transactionId: string) => Promise<void>, signal: AbortSignal) => Promise<void>;
}

/** What changes the packages of a host, and what leads back. */
export interface HostUpdates {
  /** Undefined where the host has none that is supported. */
  readonly manager: PackageManager | undefined;
  /** In the order of preference: new snapshots go to the first, those of all can be returned to. */
  readonly backends: readonly SnapshotBackend[];
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
