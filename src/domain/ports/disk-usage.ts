import type { diskUsageOrders } from "#contract/disk-usage.ts";
import { HostUnavailable } from "#domain/common/host-unavailable.ts";

export interface UsageEntry {
  readonly path: string;
  readonly isDirectory: boolean;
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

export interface DirectoryOptions {
  readonly depth: number;
  readonly limit: number;
  /** What counts as large. */
  readonly sort: (typeof diskUsageOrders)[number];
  /** Epoch milliseconds: files written since are listed separately. */
  readonly writtenSince: number;
}

export interface NamedPaths {
  readonly total: number;
  readonly paths: readonly string[];
}

export interface MeasuredDirectory {
  readonly path: string;
  readonly bytes: number;
  readonly entries: number;
  /** The largest first. */
  readonly largest: readonly UsageEntry[];
  /** Files that were written since a time, at any level; those that take most first. */
  readonly written: readonly WrittenFile[];
  readonly unreadable: NamedPaths;
  /** Directories that give no answer, which are among the unreadable ones. */
  readonly silent: readonly string[];
  readonly otherFileSystems: NamedPaths;
  readonly truncated: "time" | "entries" | null;
}

export interface DirectorySizes {
  /** @param signal ends it. @throws NoDirectory; DirectoryUnavailable for one that cannot be read, or gives no answer. */
  readonly measure: (path: string, options: DirectoryOptions, signal: AbortSignal) => Promise<MeasuredDirectory>;
}

/** There is nothing at the path, or it is not a directory. */
export class NoDirectory extends Error {
  override readonly name = "NoDirectory";
}

export class DirectoryUnavailable extends HostUnavailable {
  override readonly name = "DirectoryUnavailable";
}
