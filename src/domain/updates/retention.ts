import type { StoredSnapshot } from "./ports.ts";

/** How many snapshots are kept, and for how long. */
export interface Retention {
  readonly count: number;
  readonly ageMs: number;
  readonly nowMs: number;
}

/**
 * The snapshots that are kept no longer, oldest first: those beyond the count and those that are too old. The newest stays
 * whatever its age, and protected ones stay and are not counted.
 */
export function expired(
  snapshots: readonly StoredSnapshot[],
  { count, ageMs, nowMs }: Retention,
): readonly StoredSnapshot[] {
  // Two of one moment are told apart by their ids, which sort by time.
  const newestFirst = snapshots.toSorted(
    (one, other) => other.createdAt - one.createdAt || (one.id < other.id ? 1 : -1),
  );
  const [newest] = newestFirst;
  const ordinary = newestFirst.filter(({ isProtected }) => !isProtected);
  return ordinary.filter((each, at) => each !== newest && (at >= count || nowMs - each.createdAt > ageMs)).toReversed();
}
