import { release as runningKernel } from "node:os";
import type { PackageCatalog } from "#domain/ports/package-catalog.ts";
import {
  type InstalledPackage,
  isChange,
  type PackageChange,
  type PackageLists,
  type PackageManager,
  type PresentPackage,
  type Progress,
  qualifiedName,
  type TransactionResult,
  type Transactions,
} from "#domain/ports/packages.ts";
import { createLockTable } from "../common/locks.ts";
import { type Backend, keptDirectory, type ManagerPorts } from "../common/ports.ts";
import { missingLog } from "../common/rotated-logs.ts";
import { createStaleUnits } from "../common/stale-code.ts";
import { asResult, createTransactions, orLocked, settle, type Transaction, unitFor } from "../common/transactions.ts";
import { type AptPaths, aptPaths } from "./arguments.ts";
import { createCommit, createHolds, createMarks, markCommands, progressReporter } from "./commit.ts";
import { createDatabase, nativeArchitecture, readPresent, readUnremovable } from "./database.ts";
import { createDetails } from "./details.ts";
import { historyLog, readHistory } from "./history.ts";
import { createOldKernels } from "./kernels.ts";
import { createLists, type Lists } from "./lists.ts";
import { createOffers, createSecurity, markOfSources } from "./offers.ts";
import { aptOutput } from "./output.ts";
import { createAptPackageFiles } from "./package-files.ts";
import { createSimulate } from "./plan.ts";
import { createRelease, type ReleaseFiles } from "./release.ts";
import { createRepairs, refreshLists } from "./repairs.ts";
import { createSearchIndex } from "./search-index.ts";
import { createFaults, createUpdaters } from "./states.ts";

function createRepair(ports: {
  readonly transact: ReturnType<typeof createTransactions>;
  readonly faults: ReturnType<typeof createFaults>;
  readonly marks: ReturnType<typeof createMarks>;
  readonly repairsFor: (progress: Progress, unit: string) => ReturnType<typeof createRepairs>;
  readonly present: () => Promise<readonly PresentPackage[]>;
}): Pick<Transactions, "audit" | "repair"> {
  const { transact, faults, marks, repairsFor, present } = ports;

  const audit: Transactions["audit"] = async (signal) => {
    const { writer, isInterrupted, unfinished, unmet } = await faults(signal);
    if (writer !== undefined) return [];
    return [
      ...unfinished.map(({ name, version, state }) => `${name} ${version} is ${state}`),
      ...unmet.map(({ name, needs }) => `${name} lacks what it needs (${needs})`),
      ...(isInterrupted && unfinished.length === 0 ? ["dpkg was stopped in the middle of its work"] : []),
    ];
  };

  /** Packages that a transaction has brought along, or found marked so, are automatic, however it ended. */
  const markAgain = async (unit: string, signal: AbortSignal): Promise<void> => {
    const installed = (await present()).flatMap(({ name, architecture }) => [name, `${name}:${architecture}`]);
    const words = (await marks.read(unit)).filter((word) => installed.includes(word));
    for (const argv of markCommands(words))
      await transact({ unit, description: "Steward marks packages (apt-mark auto)", argv, locks: [] }, signal);
    await marks.forget(unit);
  };

  const repair: Transactions["repair"] = async ({ id, progress }, signal) => {
    const unit = unitFor(id);
    const repairs = repairsFor(progress, unit);
    const { writer, isInterrupted, unfinished } = await faults(signal);
    const results: TransactionResult[] = [];
    if (writer !== undefined || isInterrupted || unfinished.length > 0) {
      progress.step(0, "finish the interrupted installation");
      results.push(await asResult(() => repairs.finish(signal)));
    }
    const left = await faults(signal);
    const again = left.unfinished.filter(({ mustBeReinstalled }) => mustBeReinstalled).map(({ name }) => name);
    if (left.unmet.length > 0 || again.length > 0) {
      progress.step(50, "install missing dependencies");
      const plan = await repairs.planMissing(again, signal);
      results.push(
        plan.obstacle === null
          ? await asResult(() => repairs.installMissing(plan, signal))
          : { isDone: false, reason: plan.obstacle },
      );
    }
    await markAgain(unit, signal);
    const wrong = await audit(signal);
    if (wrong.length === 0) return { isDone: true, reason: "" };
    const reasons = results.filter(({ isDone }) => !isDone).map(({ reason }) => reason);
    return { isDone: false, reason: (reasons.length > 0 ? reasons : wrong).join("; ") };
  };

  return { audit, repair };
}

const hostPreferences = "/etc/apt/preferences";

const toInstalled = ({ name, architecture, version, isManual, isHeld, state }: PresentPackage): InstalledPackage => ({
  name,
  architecture,
  version,
  isManual,
  isHeld,
  ...(state === "unfinished" && { isUnfinished: true }),
});

interface AptPorts extends ManagerPorts {
  readonly paths?: AptPaths;
  readonly files?: {
    readonly extendedStates: string;
    readonly preferences: string;
    readonly release: ReleaseFiles;
    readonly proc: string;
    readonly history: string;
  };
}

function createCatalog(ports: {
  readonly exec: AptPorts["exec"];
  readonly database: ReturnType<typeof createDatabase>;
  readonly present: () => Promise<readonly PresentPackage[]>;
  readonly paths: AptPaths;
  readonly lists: Lists;
  readonly history?: string;
}): PackageCatalog {
  const { exec, database, paths, lists, history = historyLog } = ports;
  return {
    search: createSearchIndex({
      exec,
      paths,
      lists,
      native: async () => nativeArchitecture((await database()).entries),
      mark: async () => `${(await database()).mark}\n${await markOfSources(paths, lists)}`,
    }),
    ...createDetails(ports),
    history: (signal) => readHistory(history, exec, signal),
    historyMissing: () => missingLog(history),
  };
}

function createAvailable(
  ports: Pick<PackageLists, "refreshedAt"> & {
    readonly offers: ReturnType<typeof createOffers>;
    readonly database: ReturnType<typeof createDatabase>;
  },
): PackageLists["updates"] {
  const { offers, database, refreshedAt } = ports;
  return async (signal) => {
    const all = await offers(signal);
    const { entries } = await database();
    const listsAt = await refreshedAt();
    return {
      updates: all
        .filter(({ entry }) => entry.want !== "hold")
        .map(({ entry: { name, architecture, version }, candidate, suites }) => {
          return { name, architecture, from: version, to: candidate, isSecurity: suites.length > 0 };
        }),
      held: entries.filter(({ want, state }) => want === "hold" && state === "installed").map(({ name }) => name),
      listsAt: listsAt === undefined ? null : Math.floor(listsAt),
    };
  };
}

function createApt(ports: AptPorts): PackageManager {
  const { exec, clock, needsReboot, paths = aptPaths, files, stateDir } = ports;
  const database = createDatabase(paths);
  const locks = createLockTable();
  const transact = createTransactions({ ...ports, locks, reader: aptOutput });
  const marks = createMarks(keptDirectory(ports));
  const lists = createLists({ exec, paths });
  const { refreshedAt } = lists;
  const offers = createOffers({ exec, database, paths, lists, stateDir });
  const faults = createFaults({ exec, database, locks, paths, clock });
  const simulate = createSimulate({ exec, database, offers, preferences: files?.preferences ?? hostPreferences });
  const release = createRelease(lists.directory, files?.release);
  const staleUnits = createStaleUnits(files?.proc);

  const present = (): Promise<readonly PresentPackage[]> =>
    files === undefined ? readPresent(database) : readPresent(database, files.extendedStates);

  const installed = async (): Promise<readonly InstalledPackage[]> =>
    (await present()).filter(({ state }) => state !== "configuration").map(toInstalled);

  const isAutomatic = async (): Promise<(change: PackageChange) => boolean> => {
    const automatic = (await present()).filter(({ isManual }) => !isManual);
    const keys = new Set(automatic.map(qualifiedName));
    return (change) => keys.has(qualifiedName(change));
  };

  const reporting =
    (progress: Progress, unit?: string) =>
    (transaction: Transaction, signal: AbortSignal): Promise<string> =>
      transact({ ...transaction, ...(unit !== undefined && { unit }), onLine: progressReporter(progress) }, signal);
  const repairsFor = (progress: Progress, unit: string) =>
    createRepairs({ exec, transact: reporting(progress, unit), paths });

  const kernels = createOldKernels({ simulate, transact, paths, installed, running: runningKernel() });

  const { audit, repair } = createRepair({ transact, faults, marks, repairsFor, present });

  return {
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
    files: createAptPackageFiles({ ...ports, transact, present }),
    installed,
    oldKernels: kernels,
    catalog: createCatalog({ exec, database, present, paths, lists, ...(files && { history: files.history }) }),

    faults,
    lists: {
      updates: createAvailable({ offers, database, refreshedAt }),
      security: createSecurity(offers),
      release,
      refreshedAt,
      refresh: (progress, signal) =>
        orLocked(() => refreshLists({ transact: reporting(progress), paths, lists }, signal)),
    },
    repairs: createRepairs({ exec, transact, paths }),
    async plan(request, signal) {
      if (isChange(request)) return simulate.change(request, signal);
      const plan = await simulate.plan(request, signal);
      return request.names === undefined ? kernels.addTo(plan, signal) : plan;
    },
    holds: { lack: () => Promise.resolve(undefined), set: createHolds({ transact, paths, present }) },
    unremovable: () => readUnremovable(paths.status, runningKernel()),
    transactions: {
      commit: createCommit({ simulate, transact, paths, isAutomatic, marks }),
      settle: (id, signal) => settle(ports, unitFor(id), signal),
      repair,
      audit,
    },
    otherUpdaters: createUpdaters({ exec }),
    restartNeeds: async (signal) => ({
      requiresReboot: await needsReboot(signal),
      units: await staleUnits(signal),
    }),
  };
}

export const apt = {
  program: "/usr/bin/apt-get",
  probe: ["/usr/bin/dpkg-query", "--show", "dpkg"],
  databases: [aptPaths.status],
  open: createApt,
} as const satisfies Backend;
