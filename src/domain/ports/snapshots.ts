import type { EtcScope, SnapshotKind } from "#contract/updates.ts";
import type { PackageChange, PackageManager, PackageVersion, Progress } from "./packages.ts";

/** Times are epoch milliseconds. */
export interface StoredSnapshot {
  /** `YYYYMMDD-HHMMSS`, in UTC. */
  readonly id: string;
  readonly description: string;
  readonly createdAt: number;
  readonly sizeBytes: number;
  readonly kind: SnapshotKind;
  /** Exempt from retention. */
  readonly isProtected: boolean;
  readonly packagesCount: number;
  /** Names of packages that a rollback cannot return, since no file of their version could be had; sorted. */
  readonly lacks: readonly string[];
}

/** The only form that an id has, so that it is never a path. */
export const isSnapshotId = (text: string): boolean => /^\d{8}-\d{6}$/.test(text);

export interface SnapshotDiff {
  /** `from` is the version in the snapshot, `to` the current one. */
  readonly packages: readonly Omit<PackageChange, "isSecurity">[];
  /** Absolute paths. `isForeign`: something else than a recorded transaction changed it; only a rollback of all of /etc undoes that. */
  readonly files: readonly {
    readonly path: string;
    readonly change: "added" | "removed" | "modified";
    readonly isForeign?: boolean;
  }[];
}

export interface FileState {
  readonly type: "file" | "folder" | "link";
  readonly mode?: string;
  readonly uid: number;
  readonly gid: number;
}

export interface FileComparison {
  /** Undefined where it was not, or is not, there. */
  readonly before?: FileState;
  readonly after?: FileState;
  /** A unified difference without secrets, empty where the content is the same; undefined where `reason` says why it is not shown. */
  readonly text?: string;
  readonly reason?: string;
}

export interface RollbackOutcome {
  readonly isDone: boolean;
  readonly reason: string;
  readonly packages: readonly Pick<PackageChange, "name" | "architecture" | "from" | "to">[];
  readonly filesRestored: number;
  /** Absolute paths that something else has changed, and that were left alone. */
  readonly filesLeft: readonly string[];
  readonly requiresReboot: boolean;
}

/** A snapshot is damaged; nothing was changed. */
export class SnapshotUnusable extends Error {
  override readonly name = "SnapshotUnusable";
}

export interface SnapshotBackend {
  /** An existing directory on the file system that snapshots use space of. */
  readonly directory: () => Promise<string>;
  readonly list: (signal: AbortSignal) => Promise<readonly StoredSnapshot[]>;
  /**
   * Takes a snapshot, with what is needed to undo the planned changes. What no file can be had of is noted, and the snapshot partial.
   * @throws Error when it failed; then nothing is left of it. PackageFileMissing where `mustBeFull` and it would be partial.
   */
  readonly create: (
    options: {
      readonly id: string;
      readonly description: string;
      readonly kind: StoredSnapshot["kind"];
      readonly changes: readonly PackageChange[];
      readonly isProtected?: boolean;
      readonly mustBeFull?: boolean;
      readonly progress: Progress;
    },
    signal: AbortSignal,
  ) => Promise<StoredSnapshot>;
  /** Which of these versions a rollback could not return to, asked without downloading anything. */
  readonly lacking: (wanted: readonly PackageVersion[], signal: AbortSignal) => Promise<readonly PackageVersion[]>;
  /** Keeps the files of versions that are about to be installed, where nothing else does: the next update can be undone then. */
  readonly keep: (
    wanted: readonly PackageVersion[],
    options: { readonly id: string; readonly progress: Progress },
    signal: AbortSignal,
  ) => Promise<void>;
  /**
   * After the transaction that the snapshot was taken for: records what it changed of the files. After an update that is not what
   * belongs to packages that it left alone.
   */
  readonly recordChanges: (id: string, signal: AbortSignal) => Promise<void>;
  readonly remove: (id: string, signal: AbortSignal) => Promise<void>;
  readonly diff: (id: string, signal: AbortSignal) => Promise<SnapshotDiff>;
  /**
   * One file of /etc, by its absolute path.
   * @returns undefined where neither the snapshot nor the host has it.
   * @throws SnapshotUnusable
   */
  readonly compareFile: (id: string, path: string, signal: AbortSignal) => Promise<FileComparison | undefined>;
  /** Checks all hashes. @throws SnapshotUnusable */
  readonly verify: (id: string, signal: AbortSignal) => Promise<void>;
  /**
   * Returns to it, after checking all hashes. Can be repeated with the same transaction until {@link tidy}, and then still knows what
   * it has changed.
   * @throws SnapshotUnusable when nothing was changed; PackagesLocked.
   */
  readonly rollback: (
    id: string,
    transaction: {
      readonly id: string;
      readonly progress: Progress;
      readonly etc: EtcScope;
      /** Packages of which no file can be had stay as they are, and all else is returned. */
      readonly isPartial?: boolean;
    },
    signal: AbortSignal,
  ) => Promise<RollbackOutcome>;
  /**
   * Removes what finished and abandoned rollbacks have left, and kept files that nobody needs; only while no other one runs. `settle` is awaited before each, since its
   * package transaction may outlive it.
   */
  readonly tidy: (settle: (transactionId: string) => Promise<void>, signal: AbortSignal) => Promise<void>;
}

/** What changes no snapshot: all that is done outside of operations. */
export type SnapshotReader = Pick<
  SnapshotBackend,
  "directory" | "list" | "lacking" | "diff" | "compareFile" | "verify"
>;

export interface HostUpdates<Backend = SnapshotReader> {
  readonly manager: PackageManager;
  readonly backend: Backend;
}
