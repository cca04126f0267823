/** A package of the lists, or one that is installed and in no list. Of several versions it is the candidate. */
export interface FoundPackage {
  readonly name: string;
  readonly architecture: string;
  readonly version: string;
  readonly section: string;
  readonly summary: string;
  /** Undefined where the lists do not say. */
  readonly installedBytes: number | undefined;
  readonly downloadBytes: number | undefined;
}

/** What a search has found: there may be tens of thousands. A type and not an interface, since it is not a port. */
export type FoundPackages = {
  /** In no order. */
  readonly names: readonly string[];
  /** @param at the place of its name. */
  readonly read: (at: number) => FoundPackage;
  /** Another one where lists or installed packages have changed; undefined where that is not known. */
  readonly version?: string;
};

export interface PackageOrigin {
  /** The words of the manager: `https://deb.debian.org/debian bookworm/main amd64 Packages`. */
  readonly location: string;
  /** What its release file says; empty where it does not. */
  readonly origin: string;
  readonly suite: string;
  readonly component: string;
}

export interface PackageDetails extends Omit<FoundPackage, "version"> {
  readonly installed:
    | {
        readonly version: string;
        readonly isManual: boolean;
        readonly isHeld: boolean;
        /** `installed`, or what is left of it in the manager's words. */
        readonly state: string;
      }
    | undefined;
  /** The version that would be installed. */
  readonly candidate: string | undefined;
  /** Newest first. Without origins: only installed. */
  readonly versions: readonly { readonly version: string; readonly origins: readonly PackageOrigin[] }[];
  readonly priority: string;
  readonly maintainer: string;
  readonly homepage: string;
  readonly description: string;
  readonly depends: readonly string[];
  readonly provides: readonly string[];
  readonly isEssential: boolean;
}

/** An installed package that refers to another one. */
export interface RequiringPackage {
  readonly name: string;
  readonly relation: "pre_depends" | "depends" | "recommends";
  /** Whether another package would do as well. */
  readonly isAlternative: boolean;
}

export const packageActions = ["install", "reinstall", "upgrade", "downgrade", "remove", "purge"] as const;
export type PackageAction = (typeof packageActions)[number];

export interface LoggedPackage {
  readonly name: string;
  readonly architecture: string;
  readonly action: PackageAction;
  readonly from: string | undefined;
  readonly to: string | undefined;
  /** Whether it came along with others. */
  readonly isAutomatic: boolean;
}

/** What the manager's own log says of one of its transactions, no matter who began it. */
export interface LoggedTransaction {
  /** Epoch milliseconds. */
  readonly startedAt: number;
  /** Undefined where it did not end, or not yet. */
  readonly endedAt: number | undefined;
  readonly commandLine: string;
  /** Who is behind it, as far as the manager knows: a user who became root. */
  readonly requestedBy: string | undefined;
  readonly error: string | undefined;
  readonly packages: readonly LoggedPackage[];
}

/** What a package manager knows of packages, installed or not. It is only asked. */
export interface PackageCatalog {
  /**
   * Packages of which name, provided names or description hold each word, whatever the case; all of them without words.
   * @throws HostUnavailable where the lists cannot be read.
   */
  readonly search: (words: readonly string[], signal: AbortSignal) => Promise<FoundPackages>;
  /** @param name with `:` and an architecture for one that is not the host's own; undefined where there is no such package. */
  readonly show: (name: string, signal: AbortSignal) => Promise<PackageDetails | undefined>;
  /** Installed packages that need this installed one, or what it provides, by name. */
  readonly requiring: (name: string, signal: AbortSignal) => Promise<readonly RequiringPackage[]>;
  /** Files of an installed package as they are recorded; undefined where it is not installed. */
  readonly filesOf: (name: string, signal: AbortSignal) => Promise<readonly string[] | undefined>;
  /** Newest first, as long as the caller takes more; what was rotated away is read as well. */
  readonly history: (signal: AbortSignal) => AsyncIterable<LoggedTransaction>;
  /** Why there is no history at all: nothing logs it here, or not yet; undefined where there is a log. */
  readonly historyMissing: () => Promise<string | undefined>;
}
