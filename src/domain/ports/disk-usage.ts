import type { diskUsageOrders } from "#contract/disk-usage.ts";
import { HostUnavailable } from "#domain/common/host-unavailable.ts";

export interface UsageEntry {
  readonly path: string;
  readonly isFolder: boolean;
  readonly bytes: number;
  readonly entries: number;
  readonly isComplete: boolean;
}

/** A file and when it was last written, in epoch milliseconds. */
export interface WrittenFile {
  readonly path: string;
  readonly bytes: number;
  readonly modifiedAt: number;
}

export interface FolderOptions {
  readonly depth: number;
  readonly limit: number;
  /** What counts as large. */
  readonly sort: (typeof diskUsageOrders)[number];
  /** Epoch milliseconds: files written since are told apart. */
  readonly writtenSince: number;
}

export interface NamedPaths {
  readonly total: number;
  readonly paths: readonly string[];
}

export interface MeasuredFolder {
  readonly path: string;
  readonly bytes: number;
  readonly entries: number;
  /** The largest first. */
  readonly largest: readonly UsageEntry[];
  /** Files that were written since a time, at any level; those that take most first. */
  readonly written: readonly WrittenFile[];
  readonly unreadable: NamedPaths;
  /** Folders that give no answer, which are among the unreadable ones. */
  readonly silent: readonly string[];
  readonly otherFileSystems: NamedPaths;
  readonly truncated: "time" | "entries" | null;
}

export interface FolderSizes {
  /** @param signal ends it. @throws NoFolder; FolderUnavailable for one that cannot be read, or gives no answer. */
  readonly measure: (path: string, options: FolderOptions, signal: AbortSignal) => Promise<MeasuredFolder>;
}

/** There is nothing at the path, or it is no folder. */
export class NoFolder extends Error {
  override readonly name = "NoFolder";
}

export class FolderUnavailable extends HostUnavailable {
  override readonly name = "FolderUnavailable";
}
