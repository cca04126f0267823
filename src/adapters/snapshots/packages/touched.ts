import { existsSync } from "node:fs";
import { join } from "node:path";
import { writeFileAtomic } from "#adapters/files/index.ts";
import { type Catalogue, orUnusable, readManifest, snapshotIds } from "./catalogue.ts";
import { parentPart } from "./files.ts";
import { type Changes, type Manifest, parseChanges } from "./manifest.ts";
import { compareTrees, isSameEntry, type TreeEntry } from "./tree.ts";

const recordOf = ({ directory }: Catalogue, id: string): string => join(directory, id, "changes.json");

/**
 * @param now the files when the transaction was over.
 * @param isOfOthers whether a file is none that the transaction may have changed.
 */
export function recordChanges(
  catalogue: Catalogue,
  { id, etc }: Pick<Manifest, "id" | "etc">,
  now: readonly TreeEntry[],
  isOfOthers: (path: string) => boolean,
): void {
  const differing = compareTrees(etc, now).map(({ path }) => path);
  const changed = new Set(differing.filter((path) => !isOfOthers(path)));
  const entries = now.filter(({ path }) => changed.has(path));
  const there = new Set(entries.map(({ path }) => path));
  const changes: Changes = { entries, removed: [...changed].filter((path) => !there.has(path)) };
  writeFileAtomic(recordOf(catalogue, id), JSON.stringify(changes));
}

async function readChanges(catalogue: Catalogue, id: string): Promise<Changes | undefined> {
  if (!existsSync(recordOf(catalogue, id))) return undefined;
  const what = `what is noted of the transaction after the snapshot ${id}`;
  return parseChanges(await catalogue.store.readOwn(recordOf(catalogue, id), what));
}

/** How a transaction left a file; null: it removed it. */
export type Touched = ReadonlyMap<string, TreeEntry | null>;

const isSameOrBothGone = (one: TreeEntry | null, other: TreeEntry | null): boolean =>
  one === null || other === null ? one === other : isSameEntry(one, other);

/**
 * Files that the recorded transactions since a snapshot have changed, each as the last of them left it, but for those that something
 * else changed in between.
 * @returns undefined where its own transaction is not recorded.
 */
export async function touchedSince(catalogue: Catalogue, manifest: Manifest): Promise<Touched | undefined> {
  if ((await readChanges(catalogue, manifest.id)) === undefined) return undefined;
  const original = new Map(manifest.etc.map((entry) => [entry.path, entry]));
  const touched = new Map<string, TreeEntry | null>();
  const foreign = new Set<string>();
  for (const id of (await snapshotIds(catalogue)).filter((each) => each >= manifest.id)) {
    const changes = await readChanges(catalogue, id).catch(orUnusable);
    const snapshot = id === manifest.id ? manifest : await readManifest(catalogue, id).catch(orUnusable);
    if (changes === undefined || snapshot === undefined) continue;
    const before = new Map(snapshot.etc.map((entry) => [entry.path, entry]));
    const left = [
      ...changes.entries.map((entry) => [entry.path, entry] as const),
      ...changes.removed.map((path) => [path, null] as const),
    ];
    for (const [path, entry] of left) {
      const known = touched.get(path);
      const expected = known === undefined ? (original.get(path) ?? null) : known;
      if (!isSameOrBothGone(expected, before.get(path) ?? null)) foreign.add(path);
      touched.set(path, entry);
    }
  }
  for (const path of foreign) touched.delete(path);
  return touched;
}

function* ancestorsOf(path: string): Generator<string> {
  for (let at = path; at !== ""; ) {
    at = parentPart(at);
    yield at;
  }
}

/** Paths that differ from the snapshot, and that a rollback leaves alone, since something else than a transaction changed them. */
export function foreignPaths(
  { was, now }: { readonly was: readonly TreeEntry[]; readonly now: readonly TreeEntry[] },
  touched: Touched,
  isConfig: (path: string) => boolean,
): ReadonlySet<string> {
  const earlier = new Map(was.map((entry) => [entry.path, entry]));
  const is = new Map(now.map((entry) => [entry.path, entry]));
  const differing = compareTrees(was, now).map(({ path }) => path);
  const isDirectory = (path: string): boolean => is.get(path)?.type === "folder";
  const foreign = new Set<string>();
  // Sorted by path, so a directory comes before what is in it.
  for (const path of differing) {
    const left = touched.get(path);
    const isOurs = isConfig(path) || (left !== undefined && isSameOrBothGone(left, is.get(path) ?? null));
    const isBehindOther = [...ancestorsOf(path)].some(
      (each) => foreign.has(each) && is.has(each) && !isDirectory(each),
    );
    if (!isOurs || isBehindOther) foreign.add(path);
  }
  for (const path of foreign) {
    // A directory goes only when nothing of others is in it.
    if (!is.has(path)) continue;
    for (const each of ancestorsOf(path)) if (earlier.get(each)?.type !== "folder") foreign.add(each);
  }
  for (const path of differing) {
    // What comes back needs its directory.
    if (foreign.has(path) || !earlier.has(path)) continue;
    for (const each of ancestorsOf(path)) if (!is.has(each)) foreign.delete(each);
  }
  return foreign;
}
