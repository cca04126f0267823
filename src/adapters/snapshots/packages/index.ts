import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { syncDirectory } from "#adapters/files/index.ts";
import type { PackageFiles, PackageVersion } from "#domain/ports/packages.ts";
import { isSnapshotId, type SnapshotBackend, SnapshotUnusable } from "#domain/ports/snapshots.ts";
import type { Clock } from "#kernel/clock.ts";
import { isRecord } from "#kernel/values.ts";
import type { KeptAttributes } from "./attributes.ts";
import { fileEntries, listSnapshots, packageFileName, readManifest, sweep } from "./catalogue.ts";
import { compareFile } from "./compare-file.ts";
import { createSnapshot, keepAhead } from "./create.ts";
import type { Manifest } from "./manifest.ts";
import { diffPackages } from "./plan.ts";
import { configurationSince, findForeign, rollBack } from "./rollback.ts";
import { createStore, packageKey } from "./store.ts";
import { recordChanges } from "./touched.ts";
import { compareTrees, readTree } from "./tree.ts";

/** Where snapshots use space: the first one makes their directory. */
const snapshotDirectory = (directory: string): string => (existsSync(directory) ? directory : dirname(directory));

/** Snapshots of packages and /etc, by hash, on any file system. A package file is stored from its first change on. */
export function createPackageSnapshots(ports: {
  readonly directory: string;
  readonly files: PackageFiles;
  readonly clock: Pick<Clock, "now">;
  readonly refresh: (paths: readonly string[], signal: AbortSignal) => Promise<readonly string[]>;
  readonly attributes: KeptAttributes;
  readonly etc?: string;
  readonly rebootFlag?: string;
  readonly aheadBytes?: number;
}): SnapshotBackend {
  const { directory, files, clock, refresh, attributes, etc = "/etc", rebootFlag = "/run/reboot-required" } = ports;
  const store = createStore(directory, ports.aheadBytes);
  const host = { directory, store, files, clock, refresh, attributes, etc, rebootFlag };

  const verifyAll = async (manifest: Manifest, signal: AbortSignal): Promise<void> => {
    const of = `of the snapshot ${manifest.id}`;
    for (const entry of fileEntries(manifest)) {
      await store.checkObject(entry, `${join(etc, entry.path)} ${of}`, signal);
    }
    for (const each of manifest.packages) {
      const what = `${packageFileName(each)} ${of}`;
      const kept = await store.kept(each, what);
      if (kept !== undefined) await store.checkObject(kept, what, signal);
    }
  };

  return {
    directory: () => Promise.resolve(snapshotDirectory(directory)),
    list: () => listSnapshots(host),
    create: (request, signal) => createSnapshot(host, request, signal),

    async lacking(wanted, signal) {
      if (files.missing === undefined) return [];
      const kept = existsSync(directory) ? await store.notes() : new Map<string, unknown>();
      const isKept = (each: PackageVersion): boolean => isRecord(kept.get(packageKey({ ...each, state: "installed" })));
      return files.missing(
        wanted.filter((each) => !isKept(each)),
        signal,
      );
    },

    async keep(wanted, options, signal) {
      if (files.missing !== undefined && wanted.length > 0) await keepAhead(host, wanted, options, signal);
    },

    async recordChanges(id, signal) {
      const manifest = await readManifest(host, id);
      const now = await readTree(etc, signal, attributes);
      // A rollback restores whatever it is asked to; an update changes no configuration of packages that it leaves alone.
      const { isOfOthers } =
        manifest.kind === "before_update"
          ? await configurationSince(host, manifest, await files.present(signal), signal)
          : { isOfOthers: () => false };
      recordChanges(host, manifest, now, isOfOthers);
    },

    async remove(id, signal) {
      const own = join(directory, id);
      if (!isSnapshotId(id) || !existsSync(own)) throw new SnapshotUnusable(`there is no snapshot ${id}`);
      await store.prepare();
      // Gone with one step, so that nobody finds half of it.
      const gone = join(store.work, `gone-${randomBytes(6).toString("hex")}`);
      await rename(own, gone);
      syncDirectory(directory);
      await rm(gone, { recursive: true, force: true });
      await sweep(host, signal);
    },

    async diff(id, signal) {
      const manifest = await readManifest(host, id);
      const [packages, entries] = [await files.present(signal), await readTree(etc, signal, attributes)];
      const { foreign } = await findForeign(host, manifest, { packages, entries }, signal);
      const changed = compareTrees(manifest.etc, entries).map(({ path, change }) => ({
        path: join(etc, path),
        change,
        isForeign: foreign.has(path),
      }));
      return { packages: diffPackages(manifest.packages, packages), files: changed };
    },

    compareFile: async (id, path, signal) => compareFile(host, await readManifest(host, id), path, signal),

    async verify(id, signal) {
      await verifyAll(await readManifest(host, id), signal);
    },

    async rollback(id, transaction, signal) {
      if (!/^[0-9A-Za-z-]+$/.test(transaction.id)) throw new Error("a transaction's id has letters, digits and dashes");
      const manifest = await readManifest(host, id);
      transaction.progress.step(0, "comparing the hashes of the snapshot");
      await verifyAll(manifest, signal);
      return rollBack(host, manifest, transaction, signal);
    },

    async tidy(settle, signal) {
      for (const transaction of await store.rollbacks()) {
        await settle(transaction);
        signal.throwIfAborted();
        await store.endRollback(transaction);
      }
      if (existsSync(directory)) await sweep(host, signal);
    },
  };
}
