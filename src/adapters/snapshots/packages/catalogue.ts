import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { PackageFiles, PackageVersion } from "#domain/ports/packages.ts";
import { isSnapshotId, SnapshotUnusable, type StoredSnapshot } from "#domain/ports/snapshots.ts";
import { errorMessage } from "#kernel/errors.ts";
import { type Manifest, parseManifest } from "./manifest.ts";
import { nowhere, packageKey, type Store, toUnusable } from "./store.ts";

export interface Catalogue {
  readonly directory: string;
  readonly store: Store;
  readonly files: Pick<PackageFiles, "present" | "missing">;
}

/** The file beside a manifest that has its hash, as `sha256sum` writes it. */
export const manifestHash = (text: string): string =>
  `${createHash("sha256").update(text).digest("hex")}  manifest.json\n`;

export const packageFileName = ({ name, version }: PackageVersion): string => `the package file of ${name} ${version}`;
export const fileEntries = ({ etc }: Manifest) => etc.filter((entry) => entry.type === "file");

export async function snapshotIds({ directory }: Catalogue): Promise<readonly string[]> {
  return existsSync(directory) ? (await readdir(directory)).filter(isSnapshotId).sort() : [];
}

export async function readManifest({ directory, store }: Catalogue, id: string): Promise<Manifest> {
  if (!isSnapshotId(id)) throw new SnapshotUnusable("a snapshot's id looks like 20260131-235959");
  const own = join(directory, id);
  const read = async <T>(work: Promise<T>, what: string): Promise<T> => {
    try {
      return await work;
    } catch (error) {
      throw toUnusable(error, what);
    }
  };
  const manifest = `the manifest of the snapshot ${id}`;
  const hashOf = `the hash of the snapshot ${id}`;
  await store.check();
  await read(store.checkDirectory(own, `the snapshot ${id}`), `the snapshot ${id}`);
  const text = await read(store.readOwn(join(own, "manifest.json"), manifest), manifest);
  const hash = await read(store.readOwn(join(own, "manifest.sha256"), hashOf), hashOf);
  if (hash !== manifestHash(text)) throw new SnapshotUnusable(`${manifest} is damaged: its hash is another one`);
  return parseManifest(text, id);
}

export function describeSnapshot(manifest: Manifest, notes: Awaited<ReturnType<Store["notes"]>>): StoredSnapshot {
  const { id, description, createdAt, kind, isProtected, packages } = manifest;
  const kept = packages.map((each) => ({ name: each.name, note: notes.get(packageKey(each)) }));
  const sizes = [...fileEntries(manifest), ...kept.flatMap(({ note }) => (note === nowhere ? [] : (note ?? [])))].map(
    ({ size }) => size,
  );
  const lacks = [...new Set(kept.flatMap(({ name, note }) => (note === nowhere ? [name] : [])))].sort();
  const packagesCount = packages.filter(({ state }) => state !== "configuration").length;
  const sizeBytes = sizes.reduce((sum, size) => sum + size, 0);
  return { id, description, createdAt, sizeBytes, kind, isProtected, packagesCount, lacks };
}

/** One that cannot be read is listed all the same, so that it can be removed. */
function describeDamaged(id: string, error: unknown): StoredSnapshot {
  const [, date = "", time = ""] = /^(\d{8})-(\d{6})$/.exec(id) ?? [];
  const dashed = date.replace(/^(....)(..)(..)$/, "$1-$2-$3");
  const createdAt = Date.parse(`${dashed}T${time.replace(/^(..)(..)(..)$/, "$1:$2:$3")}Z`);
  return {
    id,
    description: `unusable: ${errorMessage(toUnusable(error, `what the snapshot ${id} needs`))}`,
    createdAt: Number.isNaN(createdAt) ? 0 : createdAt,
    sizeBytes: 0,
    kind: "manual",
    isProtected: false,
    packagesCount: 0,
    lacks: [],
  };
}

export async function listSnapshots(catalogue: Catalogue): Promise<readonly StoredSnapshot[]> {
  let notes: ReturnType<Store["notes"]> | undefined;
  const described = async (id: string): Promise<StoredSnapshot> => {
    const manifest = await readManifest(catalogue, id);
    notes ??= catalogue.store.notes();
    return describeSnapshot(manifest, await notes);
  };
  const ids = await snapshotIds(catalogue);
  return Promise.all(ids.map((id) => described(id).catch((error: unknown) => describeDamaged(id, error))));
}

export function orUnusable(error: unknown): undefined {
  if (error instanceof SnapshotUnusable) return undefined;
  throw error;
}

/** Removes what no snapshot refers to, but for files of installed packages that cannot be built. While one cannot be read, nobody knows what it refers to: then nothing is removed. */
export async function sweep(catalogue: Catalogue, signal: AbortSignal): Promise<void> {
  const ids = await snapshotIds(catalogue);
  const all = await Promise.all(ids.map((id) => readManifest(catalogue, id).catch(orUnusable)));
  const manifests = all.filter((each) => each !== undefined);
  if (manifests.length < all.length) return;
  const objects = new Set(manifests.flatMap((each) => fileEntries(each).map(({ sha256 }) => sha256)));
  const packages = new Set(manifests.flatMap((each) => each.packages.map(packageKey)));
  const { present, missing } = catalogue.files;
  // Nothing is lost because the package manager does not answer.
  const unknown = (): undefined => {
    signal.throwIfAborted();
    return undefined;
  };
  const installed = missing === undefined ? [] : await present(signal).catch(unknown);
  await catalogue.store.sweep({ objects, packages, installed: installed && new Set(installed.map(packageKey)) });
}
