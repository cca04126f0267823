import type { SnapshotKind } from "#contract/updates.ts";
import type { PackageChange, PackageManager, Progress } from "./packages.ts";

/** A snapshot that can be returned to. Times are epoch milliseconds. */
export interface StoredSnapshot {
  /** `YYYYMMDD-HHMMSS`, in UTC. */
  readonly id: string;
  readonly description: string;
  readonly createdAt: number;
  readonly sizeBytes: number;
  readonly kind: SnapshotKind;
  readonly backend: "snapper" | "packages";
  /** Whether retention leaves it alone. */
  readonly isProtected: boolean;
  readonly packagesCount: number;
}

/** What has changed since a snapshot. */
export interface SnapshotDiff {
  /** `from` is the version then, `to` the version now. */
  readonly packages: readonly Pick<PackageChange, "name" | "architecture" | "from" | "to">[];
  /** By whole path. */
  readonly files: readonly { readonly path: string; readonly change: "added" | "removed" | "modified" }[];
}

/** What a rollback did, or found. */
export interface RollbackOutcome {
  readonly isDone: boolean;
  readonly reason: string;
  readonly packages: readonly Pick<PackageChange, "name" | "architecture" | "from" | "to">[];
  readonly filesRestored: number;
  readonly requiresReboot: boolean;
}

/** A snapshot is damaged, or is not what it says: nothing was touched. */
export class SnapshotUnusable extends Error {
  override readonly name = "SnapshotUnusable";
}

/** One way of keeping snapshots. */
export interface SnapshotBackend {
  readonly name: StoredSnapshot["backend"];
  /** Whether a rollback takes effect only when the host is started anew. */
  readonly needsReboot: boolean;
  readonly list: (signal: AbortSignal) => Promise<readonly StoredSnapshot[]>;
  /**
   * Takes one. `changes` are those that are about to be made: what is needed to undo them is kept.
   * @throws Error when it could not be taken whole; then nothing is left of it.
   */
  readonly create: (
    options: {
      readonly id: string;
      readonly description: string;
      readonly kind: StoredSnapshot["kind"];
      readonly changes: readonly PackageChange[];
      /** Whether retention leaves it alone; false unless given. */
      readonly isProtected?: boolean;
      readonly progress: Progress;
    },
    signal: AbortSignal,
  ) => Promise<StoredSnapshot>;
  readonly remove: (id: string, signal: AbortSignal) => Promise<void>;
  readonly diff: (id: string, signal: AbortSignal) => Promise<SnapshotDiff>;
  /** Reads all of it and compares every hash. @throws SnapshotUnusable */
  readonly verify: (id: string, signal: AbortSignal) => Promise<void>;
  /**
   * Returns to it, after all hashes were compared. Interrupted, refused for a lock, or done, it can be called again with the
   * same transaction until {@link tidy}, and then still knows what it has changed.
   * @throws SnapshotUnusable when nothing was touched; PackagesLocked.
   */
  readonly rollback: (
    id: string,
    transaction: { readonly id: string; readonly progress: Progress },
    signal: AbortSignal,
  ) => Promise<RollbackOutcome>;
  /**
   * Takes away what rollbacks have left that are done, or were interrupted and that nobody goes on with: to be called while no
   * other one is under way. `settle` is waited for before each, since what it changed packages with may outlive it.
   */
  readonly tidy: (settle: (transactionId: string) => Promise<void>, signal: AbortSignal) => Promise<void>;
}

/** What changes the packages of a host, and what leads back. */
export interface HostUpdates {
  /** Undefined where the host has none that is supported. */
  readonly manager: PackageManager | undefined;
  /** In the order of preference: new snapshots go to the first, those of all can be returned to. */
  readonly backends: readonly SnapshotBackend[];
}
