import type {
  InstalledPackage,
  PackageChange,
  PackageManager,
  SystemRelease,
  TransactionPlan,
} from "#domain/ports/packages.ts";
import { PackagesLocked, UpdateRefused } from "#domain/ports/packages.ts";

/** Packages in memory, and a repository that has newer ones. */
export interface FakePackageManager extends PackageManager {
  /** What is installed, by name; every package is of one architecture. */
  readonly packages: Map<string, InstalledPackage>;
  /** What the repository has. */
  readonly repository: Map<string, { readonly version: string; readonly isSecurity: boolean }>;
  newRelease: SystemRelease | undefined;
  /** Who has the lock. */
  lockedBy: { readonly pid: number; readonly program: string } | undefined;
  /** Packages that cannot be configured: they, and what comes after them, stay as they are. */
  readonly broken: Set<string>;
  /** What a transaction left half-done. */
  readonly halfDone: Set<string>;
  requiresReboot: boolean;
  /** Transactions never end. */
  hangs: boolean;
  listsAt: number | null;
  readonly refreshes: () => number;
  /** Ids of transactions that were begun, in order. */
  readonly transactions: string[];
}

const architecture = "amd64";

export const fakePackage = (name: string, version: string, rest: Partial<InstalledPackage> = {}): InstalledPackage => ({
  name,
  architecture,
  version,
  isManual: true,
  isHeld: false,
  ...rest,
});

/** A package manager that does at once what it is told. */
export function createFakePackageManager(installed: readonly InstalledPackage[] = []): FakePackageManager {
  const packages = new Map(installed.map((each) => [each.name, each]));
  const repository: FakePackageManager["repository"] = new Map();
  const transactions: string[] = [];
  let refreshes = 0;

  const change = (name: string): PackageChange | undefined => {
    const present = packages.get(name);
    const offered = repository.get(name);
    if (present === undefined || offered === undefined || offered.version === present.version) return undefined;
    return { name, architecture, from: present.version, to: offered.version, isSecurity: offered.isSecurity };
  };
  const unlocked = (): void => {
    if (fake.lockedBy !== undefined)
      throw new PackagesLocked(`the lock is held by ${fake.lockedBy.program}`, fake.lockedBy);
  };
  const carryOut = ({ name, to }: PackageChange): void => {
    if (to === null) packages.delete(name);
    else packages.set(name, { ...(packages.get(name) ?? fakePackage(name, to)), version: to });
  };

  const fake: FakePackageManager = {
    name: "apt",
    knowsSecurity: true,
    packages,
    repository,
    newRelease: undefined,
    lockedBy: undefined,
    broken: new Set(),
    halfDone: new Set(),
    requiresReboot: false,
    hangs: false,
    listsAt: Date.parse("2026-01-01T00:00:00Z"),
    transactions,
    refreshes: () => refreshes,
    installed: () => Promise.resolve([...packages.values()]),
    updates: () =>
      Promise.resolve({
        updates: [...packages.keys()].flatMap((name) => (packages.get(name)?.isHeld ? [] : (change(name) ?? []))),
        held: [...packages.values()].filter(({ isHeld }) => isHeld).map(({ name }) => name),
        listsAt: fake.listsAt,
      }),
    release: () => Promise.resolve(fake.newRelease),
    async refresh() {
      unlocked();
      refreshes += 1;
      return Promise.resolve();
    },
    async simulate({ isSecurityOnly, names }) {
      for (const name of names ?? []) {
        if (!packages.has(name)) throw new UpdateRefused(`${name} is not installed`);
        if (packages.get(name)?.isHeld) throw new UpdateRefused(`${name} is held`);
      }
      const { updates } = await fake.updates(new AbortController().signal);
      const changes = updates.filter(
        ({ name, isSecurity }) => (names?.includes(name) ?? true) && (!isSecurityOnly || isSecurity),
      );
      return { changes, downloadBytes: changes.length * 1000, diskBytes: 0 };
    },
    async commit(plan: TransactionPlan, { id, progress }) {
      unlocked();
      transactions.push(id);
      if (fake.hangs) await new Promise(() => undefined);
      for (const each of plan.changes) {
        await Promise.resolve();
        if (fake.broken.has(each.name)) {
          fake.halfDone.add(each.name);
          return { isDone: false, reason: `cannot configure ${each.name}` };
        }
        carryOut(each);
        progress.line(`changed ${each.name}`);
      }
      return { isDone: true, reason: "" };
    },
    settle: () => Promise.resolve(),
    async repair() {
      unlocked();
      const left = [...fake.halfDone].find((name) => fake.broken.has(name));
      if (left !== undefined) return { isDone: false, reason: `cannot configure ${left}` };
      fake.halfDone.clear();
      return Promise.resolve({ isDone: true, reason: "" });
    },
    audit: () => Promise.resolve([...fake.halfDone].map((name) => `${name} is half configured`)),
    restartNeeds: () => Promise.resolve({ requiresReboot: fake.requiresReboot, units: [] }),
  };
  return fake;
}
