import { HostUnavailable } from "#domain/common/host-unavailable.ts";

export interface BlockDevice {
  /** The kernel's name. */
  readonly name: string;
  readonly path: string;
  /** `MAJOR:MINOR` */
  readonly number: string;
  readonly type: string;
  readonly sizeBytes: number;
  /** Names of the devices that it is part of or made of. */
  readonly parents: readonly string[];
  readonly isReadOnly: boolean;
  readonly isRemovable: boolean;
  readonly isRotational: boolean | null;
  readonly model: string | null;
  readonly transport: string | null;
  readonly content: { readonly type: string; readonly label: string | null; readonly uuid: string | null } | null;
}

/** Block devices of the host, each once, parents before children. */
export interface BlockDevices {
  /** @throws DisksUnavailable. */
  readonly list: (signal: AbortSignal) => Promise<readonly BlockDevice[]>;
}

export class DisksUnavailable extends HostUnavailable {
  override readonly name = "DisksUnavailable";

  constructor(message: string, missing: string, options: { readonly retryable: boolean; readonly cause?: unknown }) {
    super(message, { missing, retryable: options.retryable }, options.cause);
  }
}

/** Sizes are bytes; `availableBytes` is free for unprivileged users. */
export interface FileSystemSizes {
  readonly totalBytes: number;
  readonly freeBytes: number;
  readonly availableBytes: number;
  /** 0 without a fixed number of inodes. */
  readonly totalInodes: number;
  readonly freeInodes: number;
}

export interface MountPoint {
  readonly path: string;
  /** What of the file system is mounted; null for all of it. */
  readonly root: string | null;
  /** Separated by commas; of the mount, then of the file system. */
  readonly options: string;
}

export interface MountedVolume {
  /** `MAJOR:MINOR` of the device, or a number of the kernel's for what is on none or on several. */
  readonly number: string;
  readonly source: string;
  readonly type: string;
  readonly isRemote: boolean;
  /** In the order in which they were mounted. */
  readonly mounts: readonly MountPoint[];
  /** Or why they are not known. */
  readonly sizes: FileSystemSizes | string;
}

export interface Swap {
  readonly path: string;
  readonly type: string;
  readonly sizeBytes: number;
  readonly usedBytes: number;
  readonly priority: number;
}

/** What is mounted, without the kernel's own file systems and those of containers. */
export interface MountTable {
  /** @param signal ends the wait for file systems that do not answer. */
  readonly read: (signal: AbortSignal) => Promise<{
    readonly volumes: readonly MountedVolume[];
    readonly swaps: readonly Swap[];
    /** Whether these are the mounts of this process, which may not see those of the host. */
    readonly isOwnView: boolean;
    /** Volumes left out since there are too many. */
    readonly leftOut: number;
  }>;
}
