import { existsSync } from "node:fs";
import { link, mkdir, mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import { writeFileAtomic } from "#adapters/files/index.ts";
import {
  isSameVersion,
  PackageFileMissing,
  type PackageFiles,
  PackagesLocked,
  type PresentPackage,
} from "#domain/ports/packages.ts";
import { type RollbackOutcome, type SnapshotBackend, SnapshotUnusable } from "#domain/ports/snapshots.ts";
import { requireReboot } from "#domain/updates/kernel-packages.ts";
import { isRecord } from "#kernel/values.ts";
import type { KeptAttributes } from "./attributes.ts";
import { type Catalogue, packageFileName } from "./catalogue.ts";
import { openFile } from "./files.ts";
import type { Manifest } from "./manifest.ts";
import { diffPackages, planPackages } from "./plan.ts";
import { restoreTree } from "./restore-tree.ts";
import { packageKey, rollbackPrefix, type Store, toUnusable } from "./store.ts";
import { foreignPaths, touchedSince } from "./touched.ts";
import { compareTrees, readTree, type TreeEntry } from "./tree.ts";

export interface RollbackHost extends Catalogue {
  readonly files: PackageFiles;
  readonly refresh: (paths: readonly string[], signal: AbortSignal) => Promise<readonly string[]>;
  readonly etc: string;
  readonly attributes: KeptAttributes;
  readonly rebootFlag: string;
}

interface Before {
  readonly packages: readonly PresentPackage[];
  /** What is to be as it was. */
  readonly files: readonly string[];
  /** What is left alone. */
  readonly foreign?: readonly string[];
  readonly isUnrecorded?: boolean;
}

/** Whose a configuration file is, in the snapshot or now: of packages that have changed since, or of others alone. */
export async function configurationSince(
  { files }: Pick<RollbackHost, "files">,
  manifest: Manifest,
  packages: readonly PresentPackage[],
  signal: AbortSignal,
) {
  const changed = new Set(diffPackages(manifest.packages, packages).map(({ name }) => name));
  const then = new Map(manifest.etc.map((entry) => [entry.path, entry.type === "file" ? entry.package : undefined]));
  const owners = await files.configFiles(signal);
  const ownersOf = (path: string): readonly string[] =>
    [then.get(path), owners.get(path)].filter((owner) => owner !== undefined);
  return {
    isOfChanged: (path: string): boolean => ownersOf(path).some((owner) => changed.has(owner)),
    isOfOthers: (path: string): boolean =>
      ownersOf(path).length > 0 && ownersOf(path).every((owner) => !changed.has(owner)),
  };
}

/** What differs of the files because of something else than transactions and their packages. */
export async function findForeign(
  host: RollbackHost,
  manifest: Manifest,
  now: { readonly packages: readonly PresentPackage[]; readonly entries: readonly TreeEntry[] },
  signal: AbortSignal,
): Promise<{ readonly foreign: ReadonlySet<string>; readonly isUnrecorded: boolean }> {
  const touched = await touchedSince(host, manifest);
  const { isOfChanged } = await configurationSince(host, manifest, now.packages, signal);
  const foreign = foreignPaths({ was: manifest.etc, now: now.entries }, touched ?? new Map(), isOfChanged);
  return { foreign, isUnrecorded: touched === undefined };
}

interface Rollback {
  readonly host: RollbackHost;
  readonly manifest: Manifest;
  readonly transaction: Parameters<SnapshotBackend["rollback"]>[1];
  readonly work: string;
  readonly before: Before;
  readonly signal: AbortSignal;
}

async function provideFile(
  { host: { store, files }, signal }: Rollback,
  wanted: PresentPackage,
  { directory, isOnlyKept }: { readonly directory: string; readonly isOnlyKept: boolean },
): Promise<string | undefined> {
  const kept = await store.kept(wanted, packageFileName(wanted));
  const path = join(directory, files.fileName(wanted));
  if (kept !== undefined) await link(store.objectPath(kept.sha256), path);
  else if (isOnlyKept) return undefined;
  else {
    const fetched = await files.fetch(wanted, directory, signal).catch((error: unknown) => {
      if (error instanceof PackageFileMissing) return undefined;
      throw error;
    });
    if (fetched === undefined) return undefined;
  }
  if (!isSameVersion(await files.identify(path, signal), wanted)) {
    throw new SnapshotUnusable(`the file that is kept for ${wanted.name} ${wanted.version} is of another package`);
  }
  return path;
}

/** @param again packages that an earlier call has restored: only stored files are used for them. */
async function gatherFiles(
  rollback: Rollback,
  wanted: readonly PresentPackage[],
  again: readonly PresentPackage[],
): Promise<{ readonly files: readonly string[]; readonly configuration: readonly string[] }> {
  const directory = await mkdtemp(join(rollback.work, "files-"));
  const found: { readonly path: string; readonly state: PresentPackage["state"] }[] = [];
  const missing: string[] = [];
  for (const each of [...wanted, ...again]) {
    rollback.signal.throwIfAborted();
    const isOnlyKept = again.includes(each);
    const path = await provideFile(rollback, each, { directory, isOnlyKept });
    if (path !== undefined) found.push({ path, state: each.state });
    else if (!isOnlyKept) missing.push(`${each.name} ${each.version}`);
  }
  if (missing.length > 0 && rollback.transaction.isPartial !== true) {
    throw new SnapshotUnusable(
      `the files of these packages are not available: ${missing.join(", ")} (\`partial\` leaves them as they are)`,
    );
  }
  const paths = (isBare: boolean): readonly string[] =>
    found.filter(({ state }) => (state === "configuration") === isBare).map(({ path }) => path);
  return { files: paths(false), configuration: paths(true) };
}

const isBefore = (value: unknown): value is Before => isRecord(value) && "packages" in value && "files" in value;

async function readBefore(store: Store, path: string, inspect: () => Promise<Before>): Promise<Before> {
  if (existsSync(path)) {
    const what = "what was noted when the rollback began";
    const found: unknown = JSON.parse(await store.readOwn(path, what));
    if (!isBefore(found)) throw new Error(`cannot resume the rollback: ${what} is damaged`);
    return found;
  }
  const before = await inspect();
  writeFileAtomic(path, JSON.stringify(before));
  return before;
}

async function restorePackages(rollback: Rollback): Promise<string> {
  const { host, manifest, transaction, before, signal } = rollback;
  const { put, remove } = planPackages(manifest.packages, await host.files.present(signal));
  const keys = new Set(put.map(packageKey));
  const earlier = planPackages(manifest.packages, before.packages).put;
  const again = earlier.filter((each) => !keys.has(packageKey(each)));
  const found = await gatherFiles(rollback, put, again);
  const marks = manifest.packages.filter(({ state }) => state !== "configuration");
  const { isDone, reason } = await host.files.restore({ ...found, remove, marks }, transaction, signal);
  return isDone ? "" : reason;
}

/** What a partial rollback leaves at another version. */
const leftAlone = (
  { manifest, transaction }: Pick<Rollback, "manifest" | "transaction">,
  now: readonly PresentPackage[],
): readonly PresentPackage[] => (transaction.isPartial === true ? planPackages(manifest.packages, now).put : []);

const without = (entries: readonly TreeEntry[], { foreign = [] }: Before): readonly TreeEntry[] => {
  const paths = new Set(foreign);
  return entries.filter(({ path }) => !paths.has(path));
};

async function restoreEtc(rollback: Rollback): Promise<readonly string[]> {
  const { host, manifest, before, signal } = rollback;
  const { store, etc, refresh } = host;
  const left = new Set(leftAlone(rollback, await host.files.present(signal)).map(({ name }) => name));
  const ofLeft = manifest.etc.flatMap((each) =>
    each.type === "file" && each.package !== undefined && left.has(each.package) ? [each.path] : [],
  );
  const kept = { ...before, foreign: [...(before.foreign ?? []), ...ofLeft] };
  const now = without(await readTree(etc, signal, host.attributes), kept);
  const earlier = without(manifest.etc, kept);
  const faults = await restoreTree(etc, { earlier, now, attributes: host.attributes }, ({ sha256 }) =>
    openFile(store.objectPath(sha256)).catch((error: unknown) => {
      throw toUnusable(error, `what the snapshot ${manifest.id} holds of it`);
    }),
  );
  const changed = compareTrees(earlier, now).map(({ path }) => path);
  return [...faults, ...(await refresh([...new Set([...before.files, ...changed])], signal))];
}

const unrecorded =
  "no update is recorded for this snapshot, so of /etc only configuration files of the changed packages were restored";

async function rollbackOutcome(rollback: Rollback, reasons: readonly string[]): Promise<RollbackOutcome> {
  const { host, manifest, before, signal } = rollback;
  const now = await host.files.present(signal);
  const differing = new Set(
    compareTrees(manifest.etc, await readTree(host.etc, signal, host.attributes)).map(({ path }) => path),
  );
  const packages = diffPackages(before.packages, now);
  const left = leftAlone(rollback, now).map(({ name, version }) => `${name} ${version}`);
  const note = [
    ...(before.isUnrecorded === true && (before.foreign ?? []).length > 0 ? [unrecorded] : []),
    ...(left.length > 0 ? [`not returned to, since their files are not available: ${left.join(", ")}`] : []),
  ];
  return {
    isDone: reasons.length === 0,
    reason: [...reasons, ...note].join("; "),
    filesLeft: (before.foreign ?? []).filter((path) => differing.has(path)).map((path) => join(host.etc, path)),
    packages,
    filesRestored: before.files.filter((path) => !differing.has(path)).length,
    requiresReboot: requireReboot(packages) || existsSync(host.rebootFlag),
  };
}

const isUntouched = async ({ host, before, signal }: Rollback): Promise<boolean> =>
  diffPackages(before.packages, await host.files.present(signal)).length === 0;

/** Resumes when called again with the same transaction. Its files in `work/` stay until `store.endRollback`. */
export async function rollBack(
  host: RollbackHost,
  manifest: Manifest,
  transaction: Rollback["transaction"],
  signal: AbortSignal,
): Promise<RollbackOutcome> {
  const { store, files, etc } = host;
  const work = join(store.work, `${rollbackPrefix}${transaction.id}`);
  await mkdir(work, { recursive: true, mode: 0o700 });
  const noted = join(work, "beginning.json");
  const isResumed = existsSync(noted);
  const before = await readBefore(store, noted, async () => {
    const [packages, entries] = [await files.present(signal), await readTree(etc, signal, host.attributes)];
    const differing = compareTrees(manifest.etc, entries).map(({ path }) => path);
    if (transaction.etc === "all") return { packages, files: differing };
    const { foreign, isUnrecorded } = await findForeign(host, manifest, { packages, entries }, signal);
    return { packages, files: differing.filter((path) => !foreign.has(path)), foreign: [...foreign], isUnrecorded };
  });
  const rollback: Rollback = { host, manifest, transaction, work, before, signal };

  /** Once something was changed, a lock that another program takes is reported with what was done, not instead of it. */
  const orLocked = async (error: unknown): Promise<string> => {
    if (!(error instanceof PackagesLocked) || (await isUntouched(rollback))) throw error;
    return error.message;
  };
  let reason = await restorePackages(rollback).catch(async (error: unknown) => {
    if (!isResumed && error instanceof SnapshotUnusable) await store.endRollback(transaction.id);
    return orLocked(error);
  });
  // The old settings with the new packages would be worse than what there is.
  if (reason !== "" && (await isUntouched(rollback)))
    return rollbackOutcome(rollback, [`nothing was changed: ${reason}`]);
  transaction.progress.step(90, "bringing back /etc");
  let faults = await restoreEtc(rollback);
  if (reason !== "") {
    // A package that could not be set up with the new settings may be with the old ones.
    reason = await restorePackages(rollback).catch(orLocked);
    faults = await restoreEtc(rollback);
  }
  return rollbackOutcome(rollback, [...(reason === "" ? [] : [reason]), ...faults]);
}
