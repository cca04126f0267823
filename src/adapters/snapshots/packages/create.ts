import { existsSync } from "node:fs";
import { mkdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { syncDirectory, writeFileSynced } from "#adapters/files/index.ts";
import {
  PackageFileMissing,
  type PackageFiles,
  type PackageVersion,
  type PresentPackage,
} from "#domain/ports/packages.ts";
import { isSnapshotId, type SnapshotBackend, SnapshotUnusable, type StoredSnapshot } from "#domain/ports/snapshots.ts";
import type { Clock } from "#kernel/clock.ts";
import { addPath } from "#kernel/errors.ts";
import { counted } from "#kernel/text.ts";
import type { KeptAttributes } from "./attributes.ts";
import { type Catalogue, describeSnapshot, manifestHash, packageFileName, sweep } from "./catalogue.ts";
import { parseManifest, serialiseManifest } from "./manifest.ts";
import { packageKey, type Store } from "./store.ts";
import { readTree } from "./tree.ts";

type Request = Parameters<SnapshotBackend["create"]>[0];

function aboutToChange(
  present: readonly PresentPackage[],
  changes: readonly { readonly name: string; readonly architecture: string; readonly from: string | null }[],
): readonly PresentPackage[] {
  const changing = changes.flatMap(({ name, architecture, from }) => {
    if (from === null) return [];
    const named = present.filter((each) => each.name === name && each.version === from);
    const found = named.find((each) => each.architecture === architecture) ?? named[0];
    if (found === undefined) throw new Error(`cannot keep ${name} ${from}: it is not what is installed`);
    return [found];
  });
  const left = present.filter(({ state }) => state === "configuration");
  return [...new Map([...changing, ...left].map((each) => [packageKey(each), each])).values()];
}

/** Whether the file of a package version is there, undamaged; otherwise it is kept again, for the older snapshots too. */
async function hasIntactFile(store: Store, version: PresentPackage, signal: AbortSignal): Promise<boolean> {
  try {
    const kept = await store.kept(version, packageFileName(version));
    if (kept === undefined) return false;
    await store.checkObject(kept, packageFileName(version), signal);
    return true;
  } catch (error) {
    if (error instanceof SnapshotUnusable) return false;
    throw error;
  }
}

/** @returns those of which no file can be had, with the reason. */
async function keepFiles(
  { store, files }: Pick<Host, "store" | "files">,
  wanted: readonly PresentPackage[],
  { work, progress }: { readonly work: string; readonly progress: Request["progress"] },
  signal: AbortSignal,
): Promise<ReadonlyMap<PresentPackage, string>> {
  const lacking = new Map<PresentPackage, string>();
  const missing: PresentPackage[] = [];
  for (const each of wanted) if (!(await hasIntactFile(store, each, signal))) missing.push(each);
  const { length } = missing;
  if (length > 0) progress.step(0, `getting the files of ${counted(length, "package")}`);
  await files.prefetch?.(
    missing.filter(({ state }) => state !== "configuration"),
    work,
    signal,
  );
  for (const [at, each] of missing.entries()) {
    signal.throwIfAborted();
    progress.step(Math.floor((80 * at) / length), `keeping the file of ${each.name} ${each.version}`);
    const found = await files.fetch(each, work, signal).catch((error: unknown) => {
      if (!(error instanceof PackageFileMissing)) throw error;
      lacking.set(each, error.message);
      progress.line(error.message);
    });
    if (found === undefined) continue;
    const path = join(work, found.name);
    await store.keep(each, path, found.origin);
    await rm(path);
  }
  return lacking;
}

interface Host extends Catalogue {
  readonly files: PackageFiles;
  readonly clock: Pick<Clock, "now">;
  readonly etc: string;
  readonly attributes: KeptAttributes;
}

/** In a directory for drafts that is gone afterwards. */
async function drafting<T>({ store }: Pick<Host, "store">, id: string, make: (work: string) => Promise<T>): Promise<T> {
  await store.prepare();
  const work = join(store.work, id);
  await mkdir(work, { mode: 0o700 });
  try {
    return await make(work);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** Keeps files of versions that are about to be installed. */
export const keepAhead = (
  host: Pick<Host, "store" | "files">,
  wanted: readonly PackageVersion[],
  { id, progress }: { readonly id: string; readonly progress: Request["progress"] },
  signal: AbortSignal,
): Promise<unknown> =>
  drafting(host, `keep-${id}`, (work) => {
    const versions = wanted.map((each) => ({ ...each, state: "installed", isManual: false, isHeld: false }) as const);
    return keepFiles(host, versions, { work, progress }, signal);
  });

export async function createSnapshot(host: Host, request: Request, signal: AbortSignal): Promise<StoredSnapshot> {
  const { directory, store, files, clock, etc, attributes } = host;
  const { id, description, kind, changes, isProtected = false, mustBeFull = false, progress } = request;
  if (!isSnapshotId(id)) throw new Error("a snapshot's id looks like 20260131-235959");
  if (existsSync(join(directory, id))) throw new Error(`there is a snapshot ${id} already`);
  const make = async (work: string): Promise<StoredSnapshot> => {
    const packages = await files.present(signal);
    const lacking = await keepFiles(host, aboutToChange(packages, changes), { work, progress }, signal);
    if (mustBeFull && lacking.size > 0) throw new PackageFileMissing([...lacking.values()].join("; "));
    for (const each of lacking.keys()) await store.keepNowhere(each);
    progress.step(80, "keeping /etc");
    if (!attributes.isAvailable()) progress.line("without tar, extended attributes and ACLs are not kept");
    const owners = await files.configFiles(signal);
    const entries = (await readTree(etc, signal, attributes, store.put)).map((entry) => {
      const owner = entry.type === "file" ? owners.get(entry.path) : undefined;
      return owner === undefined ? entry : { ...entry, package: owner };
    });
    const manifest = { id, description, kind, isProtected, createdAt: clock.now(), packages, etc: entries };
    const text = serialiseManifest(manifest);
    const made = join(work, "snapshot");
    await mkdir(made, { mode: 0o700 });
    writeFileSynced(join(made, "manifest.json"), text);
    writeFileSynced(join(made, "manifest.sha256"), manifestHash(text));
    syncDirectory(join(directory, "objects"));
    syncDirectory(made);
    signal.throwIfAborted();
    // What cannot be read back is no way back.
    parseManifest(await readFile(join(made, "manifest.json"), "utf8"), id);
    await rename(made, join(directory, id));
    syncDirectory(directory);
    return describeSnapshot(manifest, await store.notes());
  };
  return drafting(host, id, (work) =>
    make(work).catch(async (error: unknown) => {
      await sweep(host, signal);
      throw addPath(error, work);
    }),
  );
}
