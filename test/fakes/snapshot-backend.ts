import { createTwoFilesPatch } from "diff";
import type { InstalledPackage } from "#domain/ports/packages.ts";
import { PackageFileMissing } from "#domain/ports/packages.ts";
import type { RollbackOutcome, SnapshotBackend, SnapshotDiff, StoredSnapshot } from "#domain/ports/snapshots.ts";
import { SnapshotUnusable } from "#domain/ports/snapshots.ts";
import type { FakePackageManager } from "./package-manager.ts";

/** What a snapshot is of. */
export interface FakeSnapshotHost {
  packages: readonly InstalledPackage[];
  /** Contents below /etc by path. */
  files: Readonly<Record<string, string>>;
}

/** Snapshots in memory, of a host in memory. */
export interface FakeSnapshotBackend extends SnapshotBackend {
  readonly host: FakeSnapshotHost;
  /** Ids of snapshots that are damaged. */
  readonly damaged: Set<string>;
  /** Transactions of rollbacks that were interrupted, or are done, and of which something is left. */
  readonly interrupted: Set<string>;
  /** Names of packages of which no old file can be had. */
  readonly nowhere: Set<string>;
  /** What was asked to be kept for the next update, as `name version`. */
  readonly kept: string[];
}

function diffPackages(
  earlier: readonly InstalledPackage[],
  later: readonly InstalledPackage[],
): SnapshotDiff["packages"] {
  const was = new Map(earlier.map((each) => [each.name, each]));
  const is = new Map(later.map((each) => [each.name, each]));
  return [...new Map([...was, ...is]).values()]
    .map(({ name, architecture }) => {
      return { name, architecture, from: was.get(name)?.version ?? null, to: is.get(name)?.version ?? null };
    })
    .filter(({ from, to }) => from !== to)
    .toSorted((one, other) => (one.name < other.name ? -1 : 1));
}

function diffFiles(earlier: FakeSnapshotHost["files"], later: FakeSnapshotHost["files"]): SnapshotDiff["files"] {
  const paths = [...new Set([...Object.keys(earlier), ...Object.keys(later)])].sort();
  const changeOf = (path: string): SnapshotDiff["files"][number]["change"] => {
    if (earlier[path] === undefined) return "added";
    return later[path] === undefined ? "removed" : "modified";
  };
  return paths
    .filter((path) => earlier[path] !== later[path])
    .map((path) => ({ path: `/etc/${path}`, change: changeOf(path) }));
}

const bytes = ({ files }: FakeSnapshotHost): number =>
  Object.values(files).reduce((sum, content) => sum + content.length, 0);

/** A backend that keeps what the host was, and makes it that again. */
export function createFakeSnapshotBackend(
  given: Partial<FakeSnapshotHost> = {},
  clock: { readonly now: () => number } = { now: () => Date.parse("2026-01-01T00:00:00Z") },
): FakeSnapshotBackend {
  const taken = new Map<string, { readonly snapshot: StoredSnapshot; readonly host: FakeSnapshotHost }>();
  const host: FakeSnapshotHost = { packages: [], files: {}, ...given };
  const prefixes = new Map<string, FakeSnapshotHost>();
  const usable = (id: string): FakeSnapshotHost => {
    const found = taken.get(id);
    if (found === undefined) throw new SnapshotUnusable(`there is no snapshot ${id}`);
    if (fake.damaged.has(id)) throw new SnapshotUnusable(`the snapshot ${id} is damaged`);
    return found.host;
  };
  const fake: FakeSnapshotBackend = {
    host,
    damaged: new Set(),
    interrupted: new Set(),
    nowhere: new Set(),
    kept: [],
    directory: () => Promise.resolve("/var/lib/steward/snapshots"),
    list: () => Promise.resolve([...taken.values()].map(({ snapshot }) => snapshot)),
    lacking: (wanted) => Promise.resolve(wanted.filter(({ name }) => fake.nowhere.has(name))),
    keep(wanted) {
      fake.kept.push(...wanted.map(({ name, version }) => `${name} ${version}`));
      return Promise.resolve();
    },
    async create({ id, description, kind, changes, isProtected = false, mustBeFull = false }) {
      if (!/^\d{8}-\d{6}$/.test(id)) throw new Error(`cannot take a snapshot with the id ${id}`);
      if (taken.has(id)) throw new Error(`there is a snapshot ${id} already`);
      const missing = changes.find(({ name, from }) => from !== null && fake.nowhere.has(name));
      if (mustBeFull && missing !== undefined)
        throw new PackageFileMissing(`${missing.name} ${missing.from} is nowhere`);
      const snapshot: StoredSnapshot = {
        id,
        description,
        createdAt: clock.now(),
        sizeBytes: bytes(host),
        kind,
        isProtected,
        packagesCount: host.packages.length,
        lacks: changes.flatMap(({ name, from }) => (from !== null && fake.nowhere.has(name) ? [name] : [])),
      };
      taken.set(id, { snapshot, host: { ...host } });
      return Promise.resolve(snapshot);
    },
    async remove(id) {
      if (!taken.delete(id)) throw new SnapshotUnusable(`there is no snapshot ${id}`);
      return Promise.resolve();
    },
    recordChanges: () => Promise.resolve(),
    async diff(id) {
      const was = usable(id);
      const files = diffFiles(was.files, host.files);
      return Promise.resolve({ packages: diffPackages(was.packages, host.packages), files });
    },
    async compareFile(id, path) {
      const inner = path.replace("/etc/", "");
      const [before, after] = [usable(id).files[inner], host.files[inner]];
      if (before === undefined && after === undefined) return Promise.resolve(undefined);
      const state = { type: "file", mode: "0644", uid: 0, gid: 0 } as const;
      return Promise.resolve({
        ...(before !== undefined && { before: state }),
        ...(after !== undefined && { after: state }),
        text: before === after ? "" : createTwoFilesPatch(`a/${inner}`, `b/${inner}`, before ?? "", after ?? ""),
      });
    },
    async verify(id) {
      usable(id);
      return Promise.resolve();
    },
    async tidy(settle) {
      for (const transaction of [...fake.interrupted].sort()) {
        await settle(transaction);
        fake.interrupted.delete(transaction);
        prefixes.delete(transaction);
      }
    },
    async rollback(id, { id: transaction }) {
      const was = usable(id);
      const before = prefixes.get(transaction) ?? { ...host };
      prefixes.set(transaction, before);
      fake.interrupted.add(transaction);
      const packages = diffPackages(before.packages, was.packages);
      const filesRestored = diffFiles(was.files, before.files).length;
      const requiresReboot = packages.some(({ name }) => name === "libc6");
      Object.assign(host, was);
      const outcome: RollbackOutcome = {
        isDone: true,
        reason: "",
        packages,
        filesRestored,
        filesLeft: [],
        requiresReboot,
      };
      return Promise.resolve(outcome);
    },
  };
  return fake;
}

/** A backend of the host that a fake package manager looks after: what it keeps, and brings back, are those packages. */
export function createSnapshotsOf(
  manager: FakePackageManager,
  clock?: { readonly now: () => number },
): FakeSnapshotBackend {
  const backend = createFakeSnapshotBackend({}, clock);
  Object.defineProperty(backend.host, "packages", {
    get: () => [...manager.packages.values()],
    set(list: readonly InstalledPackage[]) {
      manager.packages.clear();
      manager.halfDone.clear();
      for (const each of list) manager.packages.set(each.name, each);
    },
  });
  return backend;
}
