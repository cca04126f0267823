interface Mounted {
  readonly path: string;
  /** `MAJOR:MINOR` of the device, or a number of the kernel's for what is on none or on several. */
  readonly number: string;
  readonly device: string;
  readonly type: string;
  /** Also of one that has shut itself down after an error. */
  readonly isReadOnly: boolean;
  /** Whether read-only is intended: by fstab, or by the type. */
  readonly isMeantReadOnly: boolean;
}

/** Sizes are bytes; `availableBytes` is free for unprivileged users. */
export interface MountedFileSystem extends Mounted {
  readonly totalBytes: number;
  readonly freeBytes: number;
  readonly availableBytes: number;
  /** 0 without a fixed number of inodes. */
  readonly totalInodes: number;
  readonly freeInodes: number;
}

/** One that answers with an error, or not at all. */
export interface UnreadableFileSystem extends Mounted {
  /** Why: the code of the error, such as `EIO`. */
  readonly unreadable: string;
}

/** There are file systems that this process cannot look at. */
export class FileSystemsUnseen extends Error {
  override readonly name = "FileSystemsUnseen";
}

/** File systems with data: no pseudo file systems, each device once, at its shortest path. */
export interface FileSystems {
  /** @throws FileSystemsUnseen where what cannot be inspected is not to be left out. */
  readonly list: (signal: AbortSignal) => Promise<readonly (MountedFileSystem | UnreadableFileSystem)[]>;
  /** The `path` of the listed file system that contains a path, if any. @throws HostUnavailable where the path gives no answer. */
  readonly holding: (path: string) => Promise<string | undefined>;
}

/** A software RAID array (md) of /proc/mdstat. */
export interface RaidArray {
  readonly name: string;
  readonly level: string;
  readonly isActive: boolean;
  readonly devices: number;
  readonly workingDevices: number;
  /** Of a recovery, resync or reshape in progress. */
  readonly rebuildPercent: number | null;
}

export interface RaidArrays {
  /** Undefined without software RAID in the kernel. */
  readonly list: () => Promise<readonly RaidArray[] | undefined>;
}

/** Files in one directory that can be removed without loss. */
export interface CleanupCandidate {
  readonly kind: "packages" | "temporary" | "core-dumps" | "crash-reports";
  readonly directory: string;
  /** Sorted names. */
  readonly files: readonly string[];
  readonly bytes: number;
  readonly foreign?: string;
}

export interface CleanedUp {
  readonly files: number;
  readonly bytes: number;
}

/** Removable files, by a closed list of the adapter. */
export interface DiskCleanup {
  /** Directories with such files, also those where a foreign file prevents the removal, and what was not read, with the reason. */
  readonly find: (
    signal: AbortSignal,
  ) => Promise<{ readonly candidates: readonly CleanupCandidate[]; readonly unread: readonly string[] }>;
  /**
   * Removes the files of a candidate, except those in use or changed since.
   * @throws Error with their number and the first reason when some could not be removed.
   */
  readonly remove: (candidate: CleanupCandidate, signal: AbortSignal) => Promise<CleanedUp>;
}
