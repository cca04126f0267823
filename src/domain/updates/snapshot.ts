import type { Snapshot } from "#contract/updates.ts";
import type { SnapshotBackend, StoredSnapshot } from "#domain/ports/snapshots.ts";
import { type Clock, toTimestamp } from "#kernel/clock.ts";

export const wayBack = (lacks: readonly string[]) => ({
  rollback: lacks.length === 0 ? ("full" as const) : ("partial" as const),
  rollback_lacks: [...lacks],
});

export const toSnapshot = (stored: StoredSnapshot): Snapshot => ({
  id: stored.id,
  description: stored.description,
  created_at: toTimestamp(stored.createdAt),
  size_bytes: stored.sizeBytes,
  kind: stored.kind,
  backend: "packages",
  protected: stored.isProtected,
  packages_count: stored.packagesCount,
  ...wayBack(stored.lacks),
});

const secondMs = 1_000;

/** `YYYYMMDD-HHMMSS`, in UTC. */
const snapshotIdAt = (epochMs: number): string =>
  new Date(epochMs).toISOString().slice(0, 19).replaceAll(/[-:]/g, "").replace("T", "-");

/** The id for a new snapshot; of two in one second, the later one gets a later second. */
export async function freeSnapshotId(
  backend: Pick<SnapshotBackend, "list">,
  clock: Pick<Clock, "now">,
  signal: AbortSignal,
): Promise<string> {
  const taken = new Set((await backend.list(signal)).map(({ id }) => id));
  let atMs = clock.now();
  while (taken.has(snapshotIdAt(atMs))) atMs += secondMs;
  return snapshotIdAt(atMs);
}

export interface Retention {
  readonly count: number;
  readonly ageMs: number;
  readonly nowMs: number;
}

/** Snapshots to delete, oldest first: those beyond the count or too old, but never the newest or protected ones. */
export function expired(
  snapshots: readonly StoredSnapshot[],
  { count, ageMs, nowMs }: Retention,
): readonly StoredSnapshot[] {
  // Of two with one time, the ids decide, which sort by time.
  const newestFirst = snapshots.toSorted(
    (one, other) => other.createdAt - one.createdAt || (one.id < other.id ? 1 : -1),
  );
  const [newest] = newestFirst;
  const ordinary = newestFirst.filter(({ isProtected }) => !isProtected);
  return ordinary.filter((each, at) => each !== newest && (at >= count || nowMs - each.createdAt > ageMs)).toReversed();
}
