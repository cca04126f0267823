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

/** Files in one folder that can go without loss. */
export interface CleanupCandidate {
  /** `packages`: downloads of the package manager, which can be had again. */
  readonly kind: "packages" | "temporary" | "core-dumps" | "crash-reports";
  readonly folder: string;
  /** Their names in the folder, sorted. */
  readonly files: readonly string[];
  readonly bytes: number;
  /** What lies among them and is somebody else's: while it is there, none of them can be removed. */
  readonly foreign?: string;
}

/** What was removed, and what took its place on the disk. */
export interface CleanedUp {
  readonly files: number;
  readonly bytes: number;
}

/** Files that nobody misses: what counts as such is a closed list, which the adapter holds. */
export interface DiskCleanup {
  /** Folders in which there is something, be it that it cannot be removed for what lies beside it. */
  readonly find: (signal: AbortSignal) => Promise<readonly CleanupCandidate[]>;
  /**
   * Removes the files of a candidate, but for those that have come into use or have changed since.
   * @throws Error when some could not be removed: the message says how many, and why the first one.
   */
  readonly remove: (candidate: CleanupCandidate, signal: AbortSignal) => Promise<CleanedUp>;
}
