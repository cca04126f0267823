import type { PackageManagerName } from "#contract/check-meanings.ts";
import { HostUnavailable } from "#domain/common/host-unavailable.ts";
import type { PackageCatalog } from "./package-catalog.ts";

/** An installed package. Versions have epoch and revision, as the package manager writes them. */
export interface InstalledPackage {
  readonly name: string;
  readonly architecture: string;
  readonly version: string;
  /** Whether it was requested, not installed as a dependency. */
  readonly isManual: boolean;
  readonly isHeld: boolean;
  /** Whether it is unpacked, but not configured. */
  readonly isUnfinished?: true;
}

/** Packages of several architectures may have one name. */
export const qualifiedName = ({ name, architecture }: Pick<InstalledPackage, "name" | "architecture">): string =>
  `${name}:${architecture}`;

/** The change of a package: `from` is null for an installation, `to` for a removal. */
export interface PackageChange {
  readonly name: string;
  readonly architecture: string;
  readonly from: string | null;
  readonly to: string | null;
  readonly isSecurity: boolean;
  /** Whether it was named to be installed, and is not marked as a dependency then. */
  readonly isRequested?: true;
  /** Whether it was removed before, and its configuration goes as well. */
  readonly isLeftover?: true;
}

export interface AvailableUpdates {
  readonly updates: readonly PackageChange[];
  /** Names of packages. */
  readonly held: readonly string[];
  /** Last refresh of the lists in epoch milliseconds; null without lists. */
  readonly listsAt: number | null;
}

/** A newer release within the installed one, such as a point release of Debian. */
export interface SystemRelease {
  readonly version: string;
  /** YYYY-MM-DD, or empty. */
  readonly releaseDate: string;
  readonly isSecurity: boolean;
  readonly changelog: string;
}

export interface UpdateRequest {
  /** `packages` removes nothing but old kernels; `system` and `all` may, as the upgrade of the distribution. */
  readonly type: "packages" | "system" | "all";
  readonly isSecurityOnly: boolean;
  /** Undefined for all. */
  readonly names: readonly string[] | undefined;
}

/** What is to be done with packages of these names. */
export interface ChangeRequest {
  readonly change: "install" | "remove" | "purge";
  readonly names: readonly string[];
  /** Whether nothing else may be removed: neither what depends on them nor what they conflict with. */
  readonly removesOnlyNamed: boolean;
}

/** Which installed packages are to be kept at their version, or no longer. */
export interface HoldRequest {
  readonly isHeld: boolean;
  readonly packages: readonly Pick<InstalledPackage, "name" | "architecture">[];
}

export const isChange = (request: UpdateRequest | ChangeRequest): request is ChangeRequest => "change" in request;

/** The simulation of the package manager; nothing else is ever done. */
export interface TransactionPlan {
  readonly changes: readonly PackageChange[];
  readonly downloadBytes: number;
  /** Growth of the installed packages. */
  readonly diskBytes: number;
  /** Whether the configuration of what is removed goes as well. */
  readonly isPurge?: true;
}

export const noChanges = { changes: [], downloadBytes: 0, diskBytes: 0 } as const satisfies TransactionPlan;

export interface TransactionResult {
  readonly isDone: boolean;
  /** On a failure the last lines of the package manager's output, else empty. */
  readonly reason: string;
}

/** Another process has the lock of the package manager. */
export class PackagesLocked extends Error {
  override readonly name = "PackagesLocked";
  readonly holder: PackageFaults["writer"];

  constructor(message: string, holder?: PackageFaults["writer"]) {
    super(message);
    this.holder = holder;
  }
}

/** The end of a transaction was not seen: nobody can say whether it was carried out, or is at work still. */
export class TransactionUnseen extends Error {
  override readonly name = "TransactionUnseen";
}

/** A request that the package manager cannot fulfil. */
export class UpdateRefused extends Error {
  override readonly name = "UpdateRefused";
}

/** The packages of the host come in an image and are not changed one by one. */
export class ImageBased extends HostUnavailable {
  override readonly name = "ImageBased";

  constructor(tools: string, upgrades: string) {
    super(`this host gets its packages as an image (${tools}): run ${upgrades}, then reboot`, {
      missing: "packages that can be changed",
      retryable: false,
    });
  }
}

export interface UnfinishedPackage {
  readonly name: string;
  readonly version: string;
  /** In the manager's terms: `unpacked`, `half-configured`. */
  readonly state: string;
  readonly mustBeReinstalled: boolean;
}

export interface PackageFaults {
  /** Number of packages. */
  readonly installed: number;
  readonly unfinished: readonly UnfinishedPackage[];
  /** Whether recorded changes are incomplete. */
  readonly isInterrupted: boolean;
  /** Missing dependencies, in the manager's words. Not checked while packages change. */
  readonly unmet: readonly { readonly name: string; readonly needs: string }[];
  readonly held: readonly { readonly name: string; readonly version: string }[];
  /** The process that changes packages now. */
  readonly writer: { readonly pid: number; readonly program: string } | undefined;
}

/** An update of an installed package with a security fix. */
export interface SecurityUpdate {
  readonly name: string;
  readonly architecture: string;
  readonly installed: string;
  readonly candidate: string;
  readonly suites: readonly string[];
  readonly isHeld: boolean;
}

export interface MissingPlan {
  /** Packages to install again. */
  readonly reinstalled: readonly string[];
  /** All changes; `from` is null for a new package. */
  readonly changes: readonly (Omit<PackageChange, "isSecurity"> & { readonly to: string })[];
  readonly configured: readonly string[];
  readonly downloadBytes: number;
  /** Why it is impossible, if so. */
  readonly obstacle: string | null;
}

/** How administrators do it; empty where no command does. */
export interface ManagerCommands {
  /** The program that finishes what was interrupted. */
  readonly finisher: string;
  readonly finish: string;
  readonly installMissing: string;
  readonly refreshLists: string;
  readonly hold: string;
  readonly unhold: string;
}

/**
 * Kernels that nothing needs any more: neither the running one, nor the newest, nor the newest beside these. None where the manager
 * removes them itself, or knows of none.
 */
export interface OldKernels {
  /** Their removal, with what came along with them; part of each update of everything. `diskBytes` is negative. */
  readonly plan: (signal: AbortSignal) => Promise<TransactionPlan>;
  /** @throws UpdateRefused when something else would be done; Error when it failed, or with who holds the lock. */
  readonly remove: (plan: TransactionPlan, signal: AbortSignal) => Promise<void>;
}

export const noOldKernels: OldKernels = {
  plan: () => Promise.resolve(noChanges),
  remove: () => Promise.reject(new UpdateRefused("there are no old kernels")),
};

/** What keeps packages at their version. */
export interface Holds {
  /** Why {@link set} is not possible on this host; undefined where it is. */
  readonly lack: () => Promise<string | undefined>;
  /** @throws PackagesLocked; UpdateRefused for what is not installed. */
  readonly set: (holds: HoldRequest, signal: AbortSignal) => Promise<TransactionResult>;
}

/** What package lists say, which are on the disk. */
export interface PackageLists {
  readonly updates: (signal: AbortSignal) => Promise<AvailableUpdates>;
  /** Pending security updates by the lists on disk, of held packages too; undefined where the lists do not say. */
  readonly security: (signal: AbortSignal) => Promise<readonly SecurityUpdate[] | undefined>;
  /**
   * When the lists were last known to be fresh, epoch milliseconds, by the oldest of them; undefined where there are none.
   * @param of only those of security archives, where these have lists of their own; undefined then where one never answered.
   */
  readonly refreshedAt: (of?: "security") => Promise<number | undefined>;
  readonly release: (signal: AbortSignal) => Promise<SystemRelease | undefined>;
  /** @throws PackagesLocked; Error when a list cannot be loaded. */
  readonly refresh: (progress: Progress, signal: AbortSignal) => Promise<void>;
}

/** Changes packages, in units that outlive who began them. */
export interface Transactions {
  /**
   * Makes exactly the changes of the plan, in its own systemd unit named after the transaction, independently of the caller.
   * @throws PackagesLocked before any change; UpdateRefused when the plan has become obsolete.
   */
  readonly commit: (
    plan: TransactionPlan,
    transaction: {
      readonly id: string;
      readonly progress: Progress;
      /** Called when everything is downloaded, right before packages change; again when a lock then delays the change. */
      readonly ready?: () => Promise<void>;
    },
    signal: AbortSignal,
  ) => Promise<TransactionResult>;
  /** Waits for the end of an earlier process' transaction; resolves at once when it does not run. */
  readonly settle: (transactionId: string, signal: AbortSignal) => Promise<void>;
  /** Completes an interrupted transaction without further changes. */
  readonly repair: (
    transaction: { readonly id: string; readonly progress: Progress },
    signal: AbortSignal,
  ) => Promise<TransactionResult>;
  readonly audit: (signal: AbortSignal) => Promise<readonly string[]>;
}

/** What fixes do. */
export interface PackageRepairs {
  /**
   * Finishes what was interrupted, no matter who began it. This and {@link installMissing} wait a while for locks.
   * @throws when it did not succeed: in the words of the manager and of the package, or with who holds the lock.
   */
  readonly finish: (signal: AbortSignal) => Promise<void>;
  /** Changes nothing. */
  readonly planMissing: (reinstalled: readonly string[], signal: AbortSignal) => Promise<MissingPlan>;
  /** @throws as {@link finish}, and when it would no longer do what the plan says. */
  readonly installMissing: (plan: MissingPlan, signal: AbortSignal) => Promise<void>;
}

/** In what managers differ. Each has all of the rest. */
export interface Capabilities {
  /** Whether it distinguishes security updates from others. */
  readonly knowsSecurity: boolean;
  /** Whether only root can {@link PackageManager.plan}, although nothing is changed. */
  readonly isPlannedByRoot: boolean;
  /** Whether packages come in an image: what would change them throws {@link ImageBased}, and only root can ask for the next release. */
  readonly isImageBased: boolean;
}

/** The package manager of the host. It asks no questions and keeps configuration files. */
export interface PackageManager {
  readonly name: PackageManagerName;
  readonly capabilities: Capabilities;
  readonly commands: ManagerCommands;
  readonly lists: PackageLists;
  readonly transactions: Transactions;
  readonly repairs: PackageRepairs;
  readonly files: PackageFiles;
  readonly holds: Holds;
  readonly oldKernels: OldKernels;
  readonly catalog: PackageCatalog;
  readonly installed: (signal: AbortSignal) => Promise<readonly InstalledPackage[]>;
  /** @throws when it does not answer. */
  readonly faults: (signal: AbortSignal) => Promise<PackageFaults>;
  /** @throws UpdateRefused for names that are not installed or are held, or without a solution. */
  readonly plan: (request: UpdateRequest | ChangeRequest, signal: AbortSignal) => Promise<TransactionPlan>;
  /** By name of an installed package, why it is never removed. */
  readonly unremovable: (signal: AbortSignal) => Promise<ReadonlyMap<string, string>>;
  /** Timers that install updates by themselves as this host is set up, whether or not they are active. */
  readonly otherUpdaters: (signal: AbortSignal) => Promise<readonly string[]>;
  readonly restartNeeds: (
    signal: AbortSignal,
  ) => Promise<{ readonly requiresReboot: boolean; readonly units: readonly string[] }>;
}

/** The configuration of a package's new version, next to the file that was changed on this host and kept. */
export interface OfferedConfig {
  readonly file: string;
  readonly offered: string;
  /** Epoch milliseconds. */
  readonly changedAt: number;
}

export interface ConfigFiles {
  readonly offered: (signal: AbortSignal) => Promise<readonly OfferedConfig[]>;
}

/** A package on the host, of which a removal may have left the configuration, or an interrupted transaction some part. */
export interface PresentPackage extends InstalledPackage {
  readonly state: "installed" | "configuration" | "unfinished";
}

export type PackageVersion = Pick<PresentPackage, "name" | "architecture" | "version">;

export const isSameVersion = (one: PackageVersion, other: PackageVersion): boolean =>
  one.name === other.name && one.architecture === other.architecture && one.version === other.version;

/** The file of a package in a directory; `installed`: built from the files on the host. */
export interface PackageFile {
  readonly name: string;
  readonly origin: "cache" | "repository" | "installed";
}

/** The file of a package is not available. */
export class PackageFileMissing extends Error {
  override readonly name = "PackageFileMissing";
}

export interface PackageFiles {
  readonly present: (signal: AbortSignal) => Promise<readonly PresentPackage[]>;
  /** By path below /etc the name of the package whose configuration file it is. */
  readonly configFiles: (signal: AbortSignal) => Promise<ReadonlyMap<string, string>>;
  /** The name of a package's file. With another name it may not be accepted as a package. */
  readonly fileName: (wanted: PackageVersion) => string;
  /**
   * Versions of which no file can be had, asked without downloading. Where this is undefined, files of installed packages can be built
   * and need not be kept.
   */
  readonly missing?: (wanted: readonly PackageVersion[], signal: AbortSignal) => Promise<readonly PackageVersion[]>;
  /** Downloads the files of packages that are not in the cache with one command, so that {@link fetch} finds them in the directory. */
  readonly prefetch?: (wanted: readonly PackageVersion[], directory: string, signal: AbortSignal) => Promise<void>;
  /**
   * Gets the file of a package into the directory: from the cache, from a repository, or built from the installed files. For a package of
   * which only configuration is left it contains that alone.
   * @throws PackageFileMissing
   */
  readonly fetch: (
    wanted: PackageVersion & Pick<PresentPackage, "state">,
    directory: string,
    signal: AbortSignal,
  ) => Promise<PackageFile>;
  /** Reads the identity from the file, to check it. @throws Error when it is not a package file. */
  readonly identify: (path: string, signal: AbortSignal) => Promise<PackageVersion>;
  /**
   * Brings the host to exactly these packages: `files` are installed, also older versions, of `configuration` only the configuration
   * remains, and `remove` are purged; marks and holds are set. In its own unit, as `commit`. Repeatable.
   * @throws PackagesLocked
   */
  readonly restore: (
    target: {
      readonly files: readonly string[];
      readonly configuration: readonly string[];
      readonly remove: readonly PackageVersion[];
      readonly marks: readonly InstalledPackage[];
    },
    transaction: { readonly id: string; readonly progress: Progress },
    signal: AbortSignal,
  ) => Promise<TransactionResult>;
}

/** Callbacks for progress. A type and not an interface, since it is not a port. */
export type Progress = {
  /** @param percent 0 to 100. */
  readonly step: (percent: number, what: string, endsAt?: number) => void;
  /** A line of a program's output. */
  readonly line: (text: string) => void;
};

export const noProgress: Progress = { step: () => undefined, line: () => undefined };

/** Maps the progress of a part to that of the whole. */
export const within = (progress: Progress, from: number, to: number): Progress => ({
  line: progress.line,
  step: (percent, what, endsAt) => progress.step(from + ((to - from) * percent) / 100, what, endsAt),
});
