import type { MountedFileSystem } from "./storage.ts";

/** What a file system keeps of the errors that it has met, until somebody resets it. Times are epoch milliseconds. */
export interface FileSystemRecord {
  /** By kind, such as `corruption_errs`; kinds without errors are left out. Null where the host does not say. */
  readonly errors: Readonly<Record<string, number>> | null;
  readonly lastErrorAt: number | null;
  /** Devices of it that are not there; null where the host does not say. */
  readonly missingDevices: number | null;
  /** The end of the last scrub, and what that could not repair; null where none is on record, undefined where the host does not say. */
  readonly scrub: { readonly endedAt: number; readonly unrepaired: number } | null | undefined;
  /** Why nothing of it is known, where reading it failed. */
  readonly unreadable?: string;
}

/** A pool of ZFS. */
export interface ZfsPool extends FileSystemRecord {
  readonly name: string;
  /** ZFS's word: `ONLINE` while all of it is there. */
  readonly state: string;
}

export interface FileSystemHealth {
  /** Undefined for a kind that keeps no record, as long as its device is there. */
  readonly of: (
    mounted: Pick<MountedFileSystem, "number" | "device" | "type">,
  ) => Promise<FileSystemRecord | undefined>;
  /** None without ZFS. Without an answer of `zpool` a pool has its state alone. */
  readonly pools: (signal: AbortSignal) => Promise<readonly ZfsPool[]>;
}
