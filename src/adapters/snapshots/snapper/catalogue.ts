import { join } from "node:path";
import type { Exec } from "#adapters/exec/index.ts";
import type { InstalledPackage } from "#domain/ports/packages.ts";
import { SnapshotUnusable, type StoredSnapshot } from "#domain/ports/snapshots.ts";
import { isSnapshotId } from "#domain/updates/snapshot.ts";
import type { Clock } from "#kernel/clock.ts";
import { errorMessage } from "#kernel/errors.ts";
import { type RootLayout, snapshotsFolder } from "./layout.ts";
import { keys, type NamedEntry, nameEntries, snapshotKey } from "./names.ts";
import type { SnapperEntry } from "./parse.ts";
import type { Programs } from "./programs.ts";
import { readGivenIds, writeGivenIds } from "./records.ts";
import type { createSizes } from "./sizes.ts";

export type InstalledIn = (root: string, signal: AbortSignal) => Promise<readonly InstalledPackage[]>;

export interface SnapperPorts {
  readonly exec: Exec;
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly installed: InstalledIn;
  readonly config: string;
  readonly layout: RootLayout;
  readonly stateDir: string;
  readonly carried?: readonly string[];
}

export interface Snapper extends Pick<SnapperPorts, "installed" | "layout" | "stateDir"> {
  readonly carried: readonly string[];
  readonly programs: Programs;
  readonly sizes: ReturnType<typeof createSizes>;
  counts: ReadonlyMap<string, number>;
}

const ownKinds: readonly StoredSnapshot["kind"][] = ["manual", "before_update", "before_rollback"];

export const rootOf = (number: number): string => join(snapshotsFolder, String(number), "snapshot");

const snapshotNumber = (path: string): number => Number(/(?:^|\/)(\d+)\/snapshot$/.exec(path)?.[1] ?? Number.NaN);

export async function numbersById(
  programs: Programs,
  { snapshotsId }: RootLayout,
  which: "all" | "read-only",
  signal: AbortSignal,
): Promise<ReadonlyMap<number, number>> {
  const found = await programs.subvolumes(which, signal);
  const pairs = found
    .filter(({ parentId }) => parentId === snapshotsId)
    .map(({ id, path }) => [id, snapshotNumber(path)] as const);
  return new Map(pairs.filter(([, number]) => !Number.isNaN(number)));
}

/** Snapper deletes without a word what it then still has, so it is looked for. */
export async function removeNumber(programs: Programs, number: number, signal: AbortSignal): Promise<void> {
  await programs.remove(number, signal);
  if ((await programs.list(signal)).some((each) => each.number === number)) {
    throw new Error(`snapper does not delete its snapshot ${number}`);
  }
}

/** Snapshots that cannot be written to; the others are roots that are, were or will be booted. */
export async function namedEntries(
  { programs, layout, stateDir }: Snapper,
  signal: AbortSignal,
): Promise<readonly NamedEntry[]> {
  const readOnly = new Set((await numbersById(programs, layout, "read-only", signal)).values());
  const given = await readGivenIds(stateDir);
  const entries = nameEntries(
    (await programs.list(signal)).filter(({ number }) => readOnly.has(number)),
    given,
  );
  if (entries.some(({ isFresh }) => isFresh)) {
    const kept = entries.filter(({ entry, isFresh }) => isFresh || given.has(snapshotKey(entry)));
    writeGivenIds(stateDir, new Map(kept.map(({ entry, id }) => [snapshotKey(entry), id])));
  }
  return entries;
}

export async function findEntry(snapper: Snapper, id: string, signal: AbortSignal): Promise<NamedEntry> {
  if (!isSnapshotId(id)) throw new SnapshotUnusable("a snapshot's id looks like 20260131-235959");
  const found = (await namedEntries(snapper, signal)).find((each) => each.id === id);
  if (found === undefined) throw new SnapshotUnusable(`there is no snapshot ${id}`);
  return found;
}

async function countPackages({ counts, installed }: Snapper, entry: SnapperEntry, signal: AbortSignal) {
  const recorded = entry.userdata[keys.packages];
  if (recorded !== undefined && /^\d+$/.test(recorded)) return Number(recorded);
  return counts.get(snapshotKey(entry)) ?? (await installed(rootOf(entry.number), signal)).length;
}

async function describeEntry(
  snapper: Snapper,
  { entry, id }: NamedEntry,
  sizeBytes: number,
  signal: AbortSignal,
): Promise<StoredSnapshot> {
  const { number, type, userdata, createdAt } = entry;
  const kind = ownKinds.find((each) => each === userdata[keys.kind]);
  const isOurs = kind !== undefined;
  const origin = `${entry.description || "no description"} (snapper ${number}, ${type})`;
  const common = { id, createdAt, sizeBytes, kind: kind ?? "external", backend: "snapper" as const };
  const isProtected = !isOurs || userdata[keys.isProtected] === "yes";
  try {
    const packagesCount = await countPackages(snapper, entry, signal);
    snapper.counts = new Map([...snapper.counts, [snapshotKey(entry), packagesCount]]);
    return { ...common, description: isOurs ? entry.description : origin, isProtected, packagesCount };
  } catch (error) {
    signal.throwIfAborted();
    return { ...common, description: `unusable: ${errorMessage(error)}`, isProtected, packagesCount: 0 };
  }
}

export async function listSnapshots(snapper: Snapper, signal: AbortSignal): Promise<readonly StoredSnapshot[]> {
  const entries = await namedEntries(snapper, signal);
  const sizeable = entries.map(({ entry }) => {
    return { key: snapshotKey(entry), path: rootOf(entry.number), usedSpace: entry.usedSpace };
  });
  const present = new Set(sizeable.map(({ key }) => key));
  snapper.counts = new Map([...snapper.counts].filter(([key]) => present.has(key)));
  const measured = await snapper.sizes(sizeable, signal);
  return Promise.all(
    entries.map((each) => describeEntry(snapper, each, measured.get(snapshotKey(each.entry)) ?? 0, signal)),
  );
}
