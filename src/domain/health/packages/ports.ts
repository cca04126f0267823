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
  readonly manager: "apt" | "dnf" | "zypper" | "pacman" | undefined;
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
