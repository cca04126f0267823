import { isSnapshotId, snapshotIdAt } from "#domain/updates/snapshot.ts";
import type { SnapperEntry } from "./parse.ts";
import type { GivenIds } from "./records.ts";

export const keys = {
  id: "steward_id",
  kind: "steward_kind",
  isProtected: "steward_protected",
  packages: "steward_packages",
  transaction: "steward_transaction",
  copyOf: "steward_copy_of",
} as const;

export interface NamedEntry {
  readonly entry: SnapperEntry;
  readonly id: string;
  /** Whether the id follows from nothing that stays: it has to be written down, or it would change with its neighbours. */
  readonly isFresh: boolean;
}

const secondMs = 1_000;

export const snapshotKey = ({ number, createdAt }: SnapperEntry): string => `${number} ${createdAt}`;

/** Ids stay: from user data, or given earlier. Others are named after their second, or the next free one. */
export function nameEntries(entries: readonly SnapperEntry[], given: GivenIds): readonly NamedEntry[] {
  const inOrder = entries.toSorted((one, other) => one.number - other.number);
  const owners = new Map<string, SnapperEntry>();
  const own = (entry: SnapperEntry, id: string | undefined): boolean => {
    if (id === undefined || !isSnapshotId(id) || owners.has(id)) return false;
    owners.set(id, entry);
    return true;
  };
  const unnamed = inOrder.filter((entry) => !own(entry, entry.userdata[keys.id]));
  for (const entry of unnamed) own(entry, given.get(snapshotKey(entry)));
  const idOf = new Map([...owners].map(([id, entry]) => [entry, id]));
  return inOrder.map((entry) => {
    const known = idOf.get(entry);
    if (known !== undefined) return { entry, id: known, isFresh: false };
    let atMs = entry.createdAt;
    while (owners.has(snapshotIdAt(atMs))) atMs += secondMs;
    const id = snapshotIdAt(atMs);
    owners.set(id, entry);
    return { entry, id, isFresh: atMs !== entry.createdAt };
  });
}
