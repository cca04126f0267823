import { createHash, randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { link, mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { syncDirectory, writeFileAtomic, writeFileSynced } from "#adapters/files/index.ts";
import { addPath } from "#domain/common/host-unavailable.ts";
import type {
  PackageFiles,
  PackageVersion,
  PresentPackage,
  RollbackOutcome,
  SnapshotBackend,
  StoredSnapshot,
} from "#domain/updates/ports.ts";
import { PackageFileMissing, PackagesLocked, SnapshotUnusable } from "#domain/updates/ports.ts";
import { requireReboot } from "#domain/updates/reboot.ts";
import type { Clock } from "#kernel/clock.ts";
import { errorMessage } from "#kernel/errors.ts";
import { isRecord } from "#kernel/values.ts";
import { openFile } from "./files.ts";
import type { Manifest } from "./manifest.ts";
import { isSnapshotId, parseManifest, serialiseManifest } from "./manifest.ts";
import { diffPackages, planPackages } from "./plan.ts";
import { restoreTree } from "./restore-tree.ts";
import type { Store } from "./store.ts";
import { createStore, packageKey, rollbackPrefix, unreadable } from "./store.ts";
import { compareTrees, readTree } from "./tree.ts";

/** What the host was when a rollback began, kept until it is done: called again, it still knows what it has changed. */
interface Beginning {
  readonly packages: readonly PresentPackage[];
  readonly files: readonly string[];
}

const sha256Of = (text: string): string => createHash("sha256").update(text).digest("hex");
const fileOf = ({ name, version }: PackageVersion): string => `the package file of ${name} ${version}`;
const fileEntries = ({ etc }: Manifest) => etc.filter((entry) => entry.type === "file");

/**
 * Snapshots of packages and /etc: every version, the package files that lead back to it, and every file of /etc, by hash.
 * They need nothing of the file system.
 *
 * The file of a package version serves all snapshots that have this version. It is kept from the moment when a change of the
 * package is about to be made, and for as long as one of these snapshots is there. For a version without a kept file a
 * rollback asks the cache and the repositories, and says before it touches anything which files are not to be had.
 */
export function createPackageSnapshots(ports: {
  /** The folder of the snapshots, made when the first is taken. */
  readonly folder: string;
  readonly files: PackageFiles;
  readonly clock: Pick<Clock, "now">;
  /** Lets the host take up changed files; says what did not go well. */
  readonly refresh: (paths: readonly string[], signal: AbortSignal) => Promise<readonly string[]>;
  readonly etc?: string;
  /** There when a package has asked for a reboot. */
  readonly rebootFlag?: string;
}): SnapshotBackend {
  const { files, clock, refresh, etc = "/etc", rebootFlag = "/run/reboot-required" } = ports;
  const store = createStore(ports.folder);
  const folderOf = (id: string): string => join(ports.folder, id);

  /** The manifest, after all that can be told without reading the contents. */
  const readManifest = async (id: string): Promise<Manifest> => {
    if (!isSnapshotId(id)) throw new SnapshotUnusable("a snapshot's id looks like 20260131-235959");
    const folder = folderOf(id);
    const read = async <T>(work: Promise<T>, what: string): Promise<T> => {
      try {
        return await work;
      } catch (error) {
        throw unreadable(error, what);
      }
    };
    const manifest = `the manifest of the snapshot ${id}`;
    const hashOf = `the hash of the snapshot ${id}`;
    await store.check();
    await read(store.checkFolder(folder, `the snapshot ${id}`), `the snapshot ${id}`);
    const text = await read(store.readOwn(join(folder, "manifest.json"), manifest), manifest);
    const hash = await read(store.readOwn(join(folder, "manifest.sha256"), hashOf), hashOf);
    if (hash !== `${sha256Of(text)}  manifest.json\n`)
      throw new SnapshotUnusable(`${manifest} is damaged: its hash is another one`);
    return parseManifest(text, id);
  };

  /** The size is of all that it refers to, which it may share with others. */
  const describe = (manifest: Manifest, keptSizes: ReadonlyMap<string, number>): StoredSnapshot => {
    const { id, description, createdAt, kind, isProtected, packages } = manifest;
    const sizes = [
      ...fileEntries(manifest).map(({ size }) => size),
      ...packages.map((each) => keptSizes.get(packageKey(each)) ?? 0),
    ];
    const packagesCount = packages.filter(({ state }) => state !== "configuration").length;
    const sizeBytes = sizes.reduce((sum, size) => sum + size, 0);
    return { id, description, createdAt, sizeBytes, kind, backend: "packages", isProtected, packagesCount };
  };

  /** One that cannot be read is shown all the same, so that it can be removed. */
  const describeDamaged = (id: string, error: unknown): StoredSnapshot => {
    const [, date = "", time = ""] = /^(\d{8})-(\d{6})$/.exec(id) ?? [];
    const dashed = date.replace(/^(....)(..)(..)$/, "$1-$2-$3");
    const createdAt = Date.parse(`${dashed}T${time.replace(/^(..)(..)(..)$/, "$1:$2:$3")}Z`);
    return {
      id,
      description: `unusable: ${errorMessage(unreadable(error, `what the snapshot ${id} needs`))}`,
      createdAt: Number.isNaN(createdAt) ? 0 : createdAt,
      sizeBytes: 0,
      kind: "manual",
      backend: "packages",
      isProtected: false,
      packagesCount: 0,
    };
  };

  const ids = async (): Promise<readonly string[]> =>
    existsSync(ports.folder) ? (await readdir(ports.folder)).filter(isSnapshotId).sort() : [];

  /** Removes what nobody refers to. While one cannot be read, nobody knows what it refers to. */
  const sweep = async (): Promise<void> => {
    const all = await Promise.all((await ids()).map((id) => readManifest(id).catch(asUnusable)));
    const manifests = all.filter((each) => each !== undefined);
    if (manifests.length < all.length) return;
    const objects = new Set(manifests.flatMap((each) => fileEntries(each).map(({ sha256 }) => sha256)));
    await store.sweep({ objects, packages: new Set(manifests.flatMap((each) => each.packages.map(packageKey))) });
  };

  const verifyAll = async (manifest: Manifest, signal: AbortSignal): Promise<void> => {
    const of = `of the snapshot ${manifest.id}`;
    for (const entry of fileEntries(manifest)) {
      await store.checkObject(entry, `${join(etc, entry.path)} ${of}`, signal);
    }
    for (const each of manifest.packages) {
      const what = `${fileOf(each)} ${of}`;
      const kept = await store.kept(each, what);
      if (kept !== undefined) await store.checkObject(kept, what, signal);
    }
  };

  return {
    name: "packages",
    needsReboot: false,

    async list() {
      const all = await ids();
      let sizes: Promise<ReadonlyMap<string, number>> | undefined;
      const described = async (id: string): Promise<StoredSnapshot> => {
        const manifest = await readManifest(id);
        sizes ??= store.keptSizes();
        return describe(manifest, await sizes);
      };
      return Promise.all(all.map((id) => described(id).catch((error: unknown) => describeDamaged(id, error))));
    },

    async create({ id, description, kind, changes, isProtected = false, progress }, signal) {
      if (!isSnapshotId(id)) throw new Error("a snapshot's id looks like 20260131-235959");
      if (existsSync(folderOf(id))) throw new Error(`there is a snapshot ${id} already`);
      await store.prepare();
      const work = join(store.work, id);
      await mkdir(work, { mode: 0o700 });
      try {
        const packages = await files.present(signal);
        await keepFiles({ store, files, wanted: aboutToChange(packages, changes), work, progress }, signal);
        progress.step(80, "keeping /etc");
        const entries = await readTree(etc, signal, store.put);
        const manifest = { id, description, kind, isProtected, createdAt: clock.now(), packages, etc: entries };
        const text = serialiseManifest(manifest);
        const made = join(work, "snapshot");
        await mkdir(made, { mode: 0o700 });
        writeFileSynced(join(made, "manifest.json"), text);
        writeFileSynced(join(made, "manifest.sha256"), `${sha256Of(text)}  manifest.json\n`);
        syncDirectory(join(ports.folder, "objects"));
        syncDirectory(made);
        signal.throwIfAborted();
        await rename(made, folderOf(id));
        syncDirectory(ports.folder);
        return describe(manifest, await store.keptSizes());
      } catch (error) {
        await sweep();
        throw addPath(error, work);
      } finally {
        await rm(work, { recursive: true, force: true });
      }
    },

    async remove(id) {
      if (!isSnapshotId(id) || !existsSync(folderOf(id))) throw new SnapshotUnusable(`there is no snapshot ${id}`);
      await store.prepare();
      // Gone with one step, so that nobody finds half of it.
      const gone = join(store.work, `gone-${randomBytes(6).toString("hex")}`);
      await rename(folderOf(id), gone);
      syncDirectory(ports.folder);
      await rm(gone, { recursive: true, force: true });
      await sweep();
    },

    async diff(id, signal) {
      const manifest = await readManifest(id);
      const [packages, entries] = [await files.present(signal), await readTree(etc, signal)];
      const changed = compareTrees(manifest.etc, entries).map(({ path, change }) => ({
        path: join(etc, path),
        change,
      }));
      return { packages: diffPackages(manifest.packages, packages), files: changed };
    },

    async verify(id, signal) {
      await verifyAll(await readManifest(id), signal);
    },

    async rollback(id, { id: transactionId, progress }, signal) {
      if (!/^[0-9A-Za-z-]+$/.test(transactionId)) throw new Error("a transaction's id has letters, digits and dashes");
      const manifest = await readManifest(id);
      progress.step(0, "comparing the hashes of the snapshot");
      await verifyAll(manifest, signal);
      const work = join(store.work, `${rollbackPrefix}${transactionId}`);
      await mkdir(work, { recursive: true, mode: 0o700 });

      const isResumed = existsSync(join(work, "beginning.json"));
      const beginning = await readBeginning(store, join(work, "beginning.json"), async () => ({
        packages: await files.present(signal),
        files: compareTrees(manifest.etc, await readTree(etc, signal)).map(({ path }) => path),
      }));

      const restorePackages = async (): Promise<string> => {
        const { put, remove } = planPackages(manifest.packages, await files.present(signal));
        // Those that an earlier call has put back are looked at again: it may have been stopped before it was through.
        const keys = new Set(put.map(packageKey));
        const earlier = planPackages(manifest.packages, beginning.packages).put;
        const again = earlier.filter((each) => !keys.has(packageKey(each)));
        const folder = await mkdtemp(join(work, "files-"));
        const found = await gatherFiles({ store, files, wanted: put, again, folder }, signal);
        const marks = manifest.packages.filter(({ state }) => state !== "configuration");
        const target = { ...found, remove, marks };
        const { isDone, reason } = await files.restore(target, { id: transactionId, progress }, signal);
        return isDone ? "" : reason;
      };
      const restoreEtc = async (): Promise<readonly string[]> => {
        const now = await readTree(etc, signal);
        const trees = { earlier: manifest.etc, now };
        const faults = await restoreTree(etc, trees, ({ sha256 }) =>
          openFile(store.objectPath(sha256)).catch((error: unknown) => {
            throw unreadable(error, `what the snapshot ${id} holds of it`);
          }),
        );
        const changed = compareTrees(manifest.etc, now).map(({ path }) => path);
        // An earlier call may have been stopped between the files and this.
        return [...faults, ...(await refresh([...new Set([...beginning.files, ...changed])], signal))];
      };
      const outcome = async (reasons: readonly string[]): Promise<RollbackOutcome> => {
        const now = await files.present(signal);
        const differing = new Set(compareTrees(manifest.etc, await readTree(etc, signal)).map(({ path }) => path));
        const packages = diffPackages(beginning.packages, now);
        // The beginning stays until this was written down: who is killed before asks again, and is to be told the same.
        return {
          isDone: reasons.length === 0,
          reason: reasons.join("; "),
          packages,
          filesRestored: beginning.files.filter((path) => !differing.has(path)).length,
          requiresReboot: requireReboot(packages) || existsSync(rebootFlag),
        };
      };

      const untouched = async (): Promise<boolean> =>
        diffPackages(beginning.packages, await files.present(signal)).length === 0;
      /** Once something was touched, a lock that somebody else takes is told with what was done, not instead of it. */
      const orLocked = async (error: unknown): Promise<string> => {
        if (!(error instanceof PackagesLocked) || (await untouched())) throw error;
        return error.message;
      };
      let reason = await restorePackages().catch(async (error: unknown) => {
        // Nothing was touched, so that the next call is a beginning again.
        if (!isResumed && error instanceof SnapshotUnusable) await store.endRollback(transactionId);
        return orLocked(error);
      });
      const isUntouched = await untouched();
      // Settings of then for packages of now would be worse than what there is.
      if (reason !== "" && isUntouched) return outcome([`nothing was changed: ${reason}`]);
      progress.step(90, "bringing back /etc");
      let faults = await restoreEtc();
      if (reason !== "") {
        // A package that could not be set up with the settings of now may be with those of then.
        reason = await restorePackages().catch(orLocked);
        faults = await restoreEtc();
      }
      return outcome([...(reason === "" ? [] : [reason]), ...faults]);
    },

    async tidy(settle, signal) {
      for (const transaction of await store.rollbacks()) {
        await settle(transaction);
        signal.throwIfAborted();
        await store.endRollback(transaction);
      }
    },
  };
}

function asUnusable(error: unknown): undefined {
  if (error instanceof SnapshotUnusable) return undefined;
  throw error;
}

/** The packages whose files are needed to undo the changes; of those that are only configuration, all. */
function aboutToChange(
  present: readonly PresentPackage[],
  changes: readonly { readonly name: string; readonly architecture: string; readonly from: string | null }[],
): readonly PresentPackage[] {
  const changing = changes.flatMap(({ name, architecture, from }) => {
    if (from === null) return [];
    const named = present.filter((each) => each.name === name && each.version === from);
    // The new version may be for another architecture than the one that is there.
    const found = named.find((each) => each.architecture === architecture) ?? named[0];
    if (found === undefined) throw new Error(`cannot keep ${name} ${from}: it is not what is installed`);
    return [found];
  });
  const left = present.filter(({ state }) => state === "configuration");
  return [...new Map([...changing, ...left].map((each) => [packageKey(each), each])).values()];
}

interface Keeping {
  readonly store: Store;
  readonly files: PackageFiles;
  readonly wanted: readonly PresentPackage[];
}

/** Whether the file of a package version is there, undamaged; otherwise it is kept anew, for the older snapshots too. */
async function isKept(store: Store, version: PresentPackage, signal: AbortSignal): Promise<boolean> {
  try {
    const kept = await store.kept(version, fileOf(version));
    if (kept === undefined) return false;
    await store.checkObject(kept, fileOf(version), signal);
    return true;
  } catch (error) {
    if (error instanceof SnapshotUnusable) return false;
    throw error;
  }
}

async function keepFiles(
  {
    store,
    files,
    wanted,
    work,
    progress,
  }: Keeping & { readonly work: string; readonly progress: Parameters<SnapshotBackend["create"]>[0]["progress"] },
  signal: AbortSignal,
): Promise<void> {
  for (const [at, each] of wanted.entries()) {
    signal.throwIfAborted();
    progress.step(Math.floor((80 * at) / wanted.length), `keeping the file of ${each.name} ${each.version}`);
    if (await isKept(store, each, signal)) continue;
    const { name, origin } = await files.fetch(each, work, signal);
    const path = join(work, name);
    await store.keep(each, path, origin);
    await rm(path);
  }
}

const isSame = (one: PackageVersion, other: PackageVersion): boolean =>
  one.name === other.name && one.architecture === other.architecture && one.version === other.version;

/** Brings the package files together, each known for what it should be. @throws SnapshotUnusable when one is not to be had. */
async function gatherFiles(
  {
    store,
    files,
    wanted,
    again,
    folder,
  }: Keeping & { readonly again: readonly PresentPackage[]; readonly folder: string },
  signal: AbortSignal,
): Promise<{ readonly files: readonly string[]; readonly configuration: readonly string[] }> {
  const found: { readonly path: string; readonly state: PresentPackage["state"] }[] = [];
  const missing: string[] = [];
  for (const each of [...wanted, ...again]) {
    signal.throwIfAborted();
    const kept = await store.kept(each, fileOf(each));
    if (kept === undefined && again.includes(each)) continue;
    const path = join(folder, files.fileName(each));
    if (kept !== undefined) await link(store.objectPath(kept.sha256), path);
    else {
      const fetched = await files.fetch(each, folder, signal).catch((error: unknown) => {
        if (!(error instanceof PackageFileMissing)) throw error;
        missing.push(`${each.name} ${each.version}`);
        return undefined;
      });
      if (fetched === undefined) continue;
    }
    if (!isSame(await files.identify(path, signal), each)) {
      throw new SnapshotUnusable(`the file that is kept for ${each.name} ${each.version} is of another package`);
    }
    found.push({ path, state: each.state });
  }
  if (missing.length > 0) {
    throw new SnapshotUnusable(`the files of these packages are nowhere to be had: ${missing.join(", ")}`);
  }
  const paths = (isBare: boolean): readonly string[] =>
    found.filter(({ state }) => (state === "configuration") === isBare).map(({ path }) => path);
  return { files: paths(false), configuration: paths(true) };
}

const isBeginning = (value: unknown): value is Beginning => isRecord(value) && "packages" in value && "files" in value;

async function readBeginning(store: Store, path: string, look: () => Promise<Beginning>): Promise<Beginning> {
  if (existsSync(path)) {
    const what = "what was noted when the rollback began";
    const found: unknown = JSON.parse(await store.readOwn(path, what));
    if (!isBeginning(found)) throw new Error(`cannot go on with the rollback: ${what} is damaged`);
    return found;
  }
  const beginning = await look();
  writeFileAtomic(path, JSON.stringify(beginning));
  return beginning;
}
