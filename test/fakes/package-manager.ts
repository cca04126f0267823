import type {
  ChangeRequest,
  InstalledPackage,
  MissingPlan,
  PackageChange,
  PackageFaults,
  PackageManager,
  SecurityUpdate,
  SystemRelease,
  TransactionPlan,
  Transactions,
  UpdateRequest,
} from "#domain/ports/packages.ts";
import { isChange, PackagesLocked, UpdateRefused } from "#domain/ports/packages.ts";
import { createFakeOldKernels, type FakeOldKernels } from "./old-kernels.ts";
import { createFakePackageCatalog, type FakePackageCatalog } from "./package-catalog.ts";
import { createFakePackageFiles, type FakePackageFiles } from "./package-files.ts";

/** Packages in memory, and a repository that has newer ones. */
export interface FakePackageManager extends PackageManager {
  readonly files: FakePackageFiles;
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
  /** Timers that install updates. */
  updaters: readonly string[];
  readonly oldKernels: FakeOldKernels;
  readonly catalog: FakePackageCatalog;
  /** Transactions never end. */
  hangs: boolean;
  listsAt: number | null;
  /** What is wrong with the packages, besides nothing. */
  faulty: Partial<PackageFaults>;
  securityUpdates: readonly SecurityUpdate[] | undefined;
  /** What {@link planMissing} gives. */
  missing: MissingPlan;
  /** Why every repair, and the download of lists, fails; null when they succeed. */
  trouble: string | null;
  /** Repairs that were called, in order. */
  readonly calls: string[];
  /** What changes with packages that come or go. */
  comesAlong: readonly PackageChange[];
  protectedPackages: ReadonlyMap<string, string>;
  readonly refreshes: () => number;
  /** Ids of transactions that were started, in order. */
  readonly started: string[];
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

/** An update of a package that is not held, but for what is said. */
export const fakeSecurityUpdate = (changes: Partial<SecurityUpdate> = {}): SecurityUpdate => ({
  name: "openssl",
  architecture: "amd64",
  installed: "3.0.1",
  candidate: "3.0.2",
  suites: ["stable-security"],
  isHeld: false,
  ...changes,
});

/** A plan to install one package, but for what is said. */
export const fakeMissingPlan = (changes: Partial<MissingPlan> = {}): MissingPlan => ({
  reinstalled: [],
  changes: [{ name: "needed", architecture: "all", from: null, to: "1.0" }],
  configured: ["needed", "needy"],
  downloadBytes: 0,
  obstacle: null,
  ...changes,
});

/** The same manager with another way to carry out a plan. */
export const committing = (manager: FakePackageManager, commit: Transactions["commit"]): FakePackageManager => ({
  ...manager,
  transactions: { ...manager.transactions, commit },
});

/** A package manager that does at once what it is asked. */
export function createFakePackageManager(installed: readonly InstalledPackage[] = []): FakePackageManager {
  const packages = new Map(installed.map((each) => [each.name, each]));
  const repository: FakePackageManager["repository"] = new Map();
  const started: string[] = [];
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

  const does = (call: string): Promise<void> => {
    fake.calls.push(call);
    return fake.trouble === null ? Promise.resolve() : Promise.reject(new Error(fake.trouble));
  };

  const oldKernels = createFakeOldKernels(
    () => [...packages.values()],
    (plan) => {
      unlocked();
      plan.changes.forEach(carryOut);
      return does("remove old kernels");
    },
  );

  const planUpdate = async (
    { isSecurityOnly, names }: UpdateRequest,
    signal: AbortSignal,
  ): Promise<TransactionPlan> => {
    for (const name of names ?? []) {
      if (!packages.has(name)) throw new UpdateRefused(`${name} is not installed`);
      if (packages.get(name)?.isHeld) throw new UpdateRefused(`${name} is held`);
    }
    const { updates } = await fake.lists.updates(signal);
    const changes = updates.filter(
      ({ name, isSecurity }) => (names?.includes(name) ?? true) && (!isSecurityOnly || isSecurity),
    );
    const old = names === undefined ? (await oldKernels.plan(signal)).changes : [];
    return { changes: [...changes, ...old], downloadBytes: changes.length * 1000, diskBytes: 0 };
  };

  const planChange = ({ change, names }: ChangeRequest): TransactionPlan => {
    const requested = names.flatMap((name): PackageChange[] => {
      const present = packages.get(name);
      const offered = repository.get(name) ?? fake.catalog.listed.get(name);
      if (change !== "install" && present === undefined) throw new UpdateRefused(`${name} is not installed`);
      if (change !== "install")
        return [{ name, architecture, from: present?.version ?? null, to: null, isSecurity: false }];
      if (present === undefined && offered === undefined) throw new UpdateRefused(`${name} is not a package`);
      if (offered === undefined || present?.version === offered.version) return [];
      const isRequested = true as const;
      return [
        { name, architecture, from: present?.version ?? null, to: offered.version, isSecurity: false, isRequested },
      ];
    });
    const along = fake.comesAlong.filter(({ name, to }) => (to === null) === packages.has(name));
    const all = requested.length > 0 ? [...requested, ...along] : [];
    return {
      changes: all,
      downloadBytes: all.length * 1000,
      diskBytes: 0,
      ...(change === "purge" && { isPurge: true }),
    };
  };

  const fake: FakePackageManager = {
    oldKernels,
    catalog: createFakePackageCatalog(() => [...packages.values()]),
    name: "apt",
    capabilities: { knowsSecurity: true, isPlannedByRoot: false, isImageBased: false },
    commands: {
      finisher: "dpkg",
      finish: "dpkg --configure -a",
      installMissing: "apt-get --fix-broken install",
      refreshLists: "apt-get update",
      hold: "apt-mark hold",
      unhold: "apt-mark unhold",
    },
    files: createFakePackageFiles(),
    packages,
    repository,
    newRelease: undefined,
    lockedBy: undefined,
    broken: new Set(),
    halfDone: new Set(),
    requiresReboot: false,
    hangs: false,
    listsAt: Date.parse("2026-01-01T00:00:00Z"),
    faulty: {},
    securityUpdates: [],
    missing: fakeMissingPlan(),
    trouble: null,
    calls: [],
    started,
    refreshes: () => refreshes,
    updaters: [],
    comesAlong: [],
    protectedPackages: new Map(),
    otherUpdaters: () => Promise.resolve(fake.updaters),
    installed: () => Promise.resolve([...packages.values()]),
    faults: () =>
      Promise.resolve({
        installed: packages.size,
        unfinished: [],
        isInterrupted: false,
        unmet: [],
        held: [],
        writer: undefined,
        ...fake.faulty,
      }),
    lists: {
      security: () => Promise.resolve(fake.securityUpdates),
      refreshedAt: () => Promise.resolve(fake.listsAt ?? undefined),
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
        return does("refresh");
      },
    },
    plan: async (request, signal) => (isChange(request) ? planChange(request) : planUpdate(request, signal)),
    holds: {
      lack: () => Promise.resolve(undefined),
      async set({ isHeld, packages: named }) {
        unlocked();
        for (const { name } of named) {
          const present = packages.get(name);
          if (present === undefined) throw new UpdateRefused(`${name} is not installed`);
          packages.set(name, { ...present, isHeld });
        }
        return Promise.resolve({ isDone: true, reason: "" });
      },
    },
    unremovable: () => Promise.resolve(fake.protectedPackages),
    transactions: {
      async commit(plan: TransactionPlan, { id, progress, ready }) {
        unlocked();
        await ready?.();
        started.push(id);
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
    },
    restartNeeds: () => Promise.resolve({ requiresReboot: fake.requiresReboot, units: [] }),
    repairs: {
      finish: () => does("finish"),
      planMissing: (reinstalled) => Promise.resolve({ ...fake.missing, reinstalled }),
      installMissing(plan) {
        if (plan.obstacle !== null) return Promise.reject(new Error(plan.obstacle));
        const isSame = JSON.stringify(plan.changes) === JSON.stringify(fake.missing.changes);
        return isSame ? does("install") : Promise.reject(new Error("what must be installed has changed meanwhile"));
      },
    },
  };
  return fake;
}
