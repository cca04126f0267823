import type { CommandOptions, CommandResult, Exec } from "#adapters/exec/index.ts";
import type { PackageCatalog } from "#domain/ports/package-catalog.ts";
import type { InstalledPackage, ManagerCommands, PackageVersion } from "#domain/ports/packages.ts";
import type { PlainChange } from "../common/changes.ts";
import type { LockHolder, LockTable } from "../common/locks.ts";
import type { Missing } from "../common/package-files.ts";
import type { Argv, Asks, PackagePorts } from "../common/ports.ts";
import type { Findings } from "../common/rpm/findings.ts";
import type { AdvisedRpm } from "../common/rpm/offers.ts";
import type { OutputReader, Transact } from "../common/transactions.ts";

export interface DnfPlaces {
  readonly dnf: Argv;
  readonly rpm: Argv;
  readonly databases: readonly string[];
  /** The file of its own database, and where it keeps apart from that who asked for a package. */
  readonly history: string;
  readonly reasons: readonly string[];
  /** A directory with one of each repository. */
  readonly lists: string;
  /** Held while packages change. */
  readonly transactionLock: string;
  /** Waited for before packages change, and before lists are downloaded. */
  readonly changeLocks: readonly string[];
  readonly listsLocks: readonly string[];
  readonly mainSettings: string;
  readonly settings: readonly string[];
  /** Settings of the timer that installs updates, from the weakest to the strongest. */
  readonly automatic: readonly string[];
  readonly protectedDirectories: readonly string[];
  readonly users: string;
}

export interface InstalledRpm extends PackageVersion {
  readonly reason: string;
  readonly bytes: number;
}

export interface RpmDatabase {
  readonly packages: readonly InstalledRpm[];
  /** Whether a package is kept from being changed, by versionlock or as excluded. */
  readonly isHeld: (found: PackageVersion) => boolean;
  readonly mark: string;
}

/** A line of the table in which dnf says what it would do. */
export interface TableRow {
  readonly kind: "install" | "upgrade" | "downgrade" | "reinstall" | "remove";
  readonly name: string;
  readonly architecture: string;
  readonly version: string;
  readonly repository: string;
  readonly replaces: readonly string[];
}

/** A part of a stored transaction. Dnf refuses what is not in there, and what no longer fits. */
export interface StoredAction {
  readonly nevra: string;
  readonly action: string;
  readonly reason: string;
  readonly repo_id: string;
  /** Where it comes from no repository. */
  readonly package_path?: string;
}

/** What the last transaction was to do, if it was started and has no end. Which of it was done is not written down. */
export interface Unfinished {
  readonly brought: readonly PackageVersion[];
  readonly removed: readonly PackageVersion[];
}

export type Listening = Pick<CommandOptions, "onOutput">;
export type Run = (words: readonly string[], signal: AbortSignal, options?: Listening) => Promise<CommandResult>;
/** What a question needs. */
export interface Asking {
  readonly exec: Exec;
  readonly places: DnfPlaces;
  readonly tryAsking: Run;
  readonly ask: (...given: Parameters<Run>) => Promise<string>;
}

/** What one generation of dnf says and does otherwise than the other one: its arguments, its answers, its places. */
export interface Dialect {
  readonly name: "dnf" | "dnf5";
  /** A question that is answered wherever it works, no matter who asks. */
  readonly probe: Argv;
  readonly commands: () => ManagerCommands;
  /** Whether only root can plan. */
  readonly isPlannedByRoot: boolean;
  readonly places: (root?: string) => DnfPlaces;
  readonly locks: () => LockTable;
  /** Runs dnf for a question: it changes nothing, and downloads nothing. */
  readonly createRun: (ports: PackagePorts, places: DnfPlaces) => Run;

  /** Questions about what is installed: no list is needed. */
  readonly withoutRepositories: string;
  /** What is excluded is in the answer all the same. */
  readonly withExcluded: string;
  /** Without anything that keeps packages back: versionlock too. */
  readonly withoutHolds: readonly string[];
  /** Of each change: no question. */
  readonly changing: readonly string[];
  /** Of a plan that is only shown. */
  readonly planning: readonly string[];
  /** What ends a record of `repoquery`. */
  readonly recordEnd: string;

  readonly output: OutputReader;
  readonly scriptFailures: (output: string) => string;
  /** What says in an answer why there is none. */
  readonly toldIn: (result: CommandResult) => string;
  /** A step of a transaction, as dnf prints it, and how much of all of it that is. */
  readonly parseStep: (line: string) => { readonly percent: number; readonly what: string } | undefined;
  /** Reads what it would do; undefined where that is nothing. @throws CommandFailed when it cannot be read. */
  readonly parsePlan: (text: string) => readonly TableRow[] | undefined;
  /** Whether a failure says that the stored transaction cannot be done as it is. */
  readonly isRefusal: (reason: string) => boolean;

  /** Reasons of packages that nobody asked for. */
  readonly automatic: ReadonlySet<string>;
  /** Reasons of others than root, as far as they can be known. */
  readonly withReasons: (packages: readonly InstalledRpm[], places: DnfPlaces) => readonly InstalledRpm[];
  /** Patterns of packages that versionlock or a setting keeps at their versions. */
  readonly createHolds: (dnf: Asking) => Asks<readonly string[]>;
  readonly updates: (dnf: Asking, signal: AbortSignal) => Promise<readonly PackageVersion[]>;
  readonly advisories: (dnf: Asking, signal: AbortSignal) => Promise<readonly AdvisedRpm[]>;
  readonly history: (dnf: Asking) => PackageCatalog["history"];
  readonly asksReboot: (dnf: Asking, signal: AbortSignal) => Promise<boolean>;
  /** Timers that install updates. */
  readonly updaters: (dnf: Asking, signal: AbortSignal) => Promise<readonly string[]>;
  readonly unfinished: (dnf: Asking, signal: AbortSignal) => Promise<Unfinished | undefined>;
  readonly checking: readonly string[];
  readonly parseCheck: (text: string) => Pick<Findings, "unmet" | "duplicates">;

  readonly refreshing: readonly string[];
  readonly marking: (isManual: boolean) => readonly string[];
  /** Why packages cannot be held; undefined where they can. */
  readonly holdsLack: () => string | undefined;
  /** What `versionlock delete` is reported for packages of these names. */
  readonly lockWords: (dnf: Dnf, names: readonly string[], signal: AbortSignal) => Promise<readonly string[]>;

  readonly storedVersion: string;
  readonly reasons: { readonly user: string; readonly dependency: string };
  /** @param isBeside whether several versions of it are there. @returns actions with a version each. */
  readonly actionsOf: (
    change: Pick<PlainChange, "from" | "to">,
    isBeside: boolean,
  ) => readonly (readonly [action: string, version: string])[];
  /** @param path of a stored transaction. @param brings what it installs. */
  readonly downloading: (path: string, brings: readonly string[], removes: boolean) => readonly string[];
  readonly replaying: (path: string, removes: boolean) => readonly string[];
  /** What brings packages back from files: what is written down for it, and the words that carry it out. */
  readonly returning: (
    dnf: Dnf,
    left: Missing,
    signal: AbortSignal,
  ) => Promise<{ readonly text: string; readonly words: (path: string) => readonly string[] }>;
  /** Does the rest of an interrupted transaction, and removes what it left. */
  readonly finish: (dnf: Dnf, signal: AbortSignal) => Promise<void>;
  /** Marks packages again as dependencies that an interrupted transaction has brought. */
  readonly restoreReasons: (dnf: Dnf, unit: string, signal: AbortSignal) => Promise<void>;
}

/** A dnf of one generation, opened on the host or a tree. */
export interface Dnf extends Asking {
  readonly dialect: Dialect;
  /** Where transactions are written down. */
  readonly directory: string;
  readonly cannotAsk: (result: CommandResult) => Error;
  /** The word of `repoquery` for a format of its records. */
  readonly formatted: (format: string) => string;
  readonly changingArgv: (...words: readonly string[]) => Argv;
  readonly database: Asks<RpmDatabase>;
  readonly isAutomatic: (found: Pick<InstalledRpm, "reason">) => boolean;
  readonly toInstalled: (state: RpmDatabase) => readonly InstalledPackage[];
  readonly writer: () => Promise<LockHolder | undefined>;
  readonly transact: Transact;
}
