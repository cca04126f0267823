import type { Exec } from "#adapters/exec/index.ts";
import type {
  InstalledPackage,
  PackageChange,
  PackageManager,
  PresentPackage,
  Progress,
} from "#domain/ports/packages.ts";
import type { Clock } from "#kernel/clock.ts";
import { hostPlaces } from "../places.ts";
import { createDatabase } from "./database.ts";
import { readPresent } from "./dpkg-state.ts";
import { createLockTable } from "./locks.ts";
import { createCommit, orLocked, progressReporter, unitFor } from "./manager-commit.ts";
import { createMarks } from "./manager-marks.ts";
import { createRelease, type ReleaseFiles } from "./manager-release.ts";
import { createRepair } from "./manager-repair.ts";
import { createStaleUnits } from "./manager-restarts.ts";
import { createSimulate } from "./manager-simulate.ts";
import { createOffers } from "./offers.ts";
import { type AptPaths, aptPaths } from "./paths.ts";
import { createRepairs } from "./repairs.ts";
import { createSnapperHooks } from "./snapper-hooks.ts";
import { createFaults } from "./states.ts";
import { createSettle, createTransactions, type Transaction } from "./transactions.ts";
import { createUpdates } from "./updates.ts";

const hostPreferences = "/etc/apt/preferences";

const toInstalled = ({ name, architecture, version, isManual, isHeld, state }: PresentPackage): InstalledPackage => ({
  name,
  architecture,
  version,
  isManual,
  isHeld,
  ...(state === "unfinished" && { isUnfinished: true }),
});

/** Apt and dpkg as the package manager of updates. */
export function createAptManager(ports: {
  readonly exec: Exec;
  readonly clock: Pick<Clock, "monotonicMs" | "sleep">;
  /** Whether the host has to be started anew for what is installed to run. */
  readonly needsReboot: (signal: AbortSignal) => Promise<boolean>;
  readonly lockWaitMs?: number;
  readonly paths?: AptPaths;
  /** Where answers are kept for the next process; without it they are not. */
  readonly stateDir?: string | undefined;
  readonly files?: {
    readonly extendedStates: string;
    readonly preferences: string;
    readonly release: ReleaseFiles;
    readonly proc: string;
  };
  readonly places?: { readonly booted: string; readonly output: string };
}): PackageManager {
  const { exec, clock, needsReboot, paths = aptPaths, files, stateDir } = ports;
  const database = createDatabase(paths);
  const locks = createLockTable();
  const transact = createTransactions({ ...ports, locks });
  const settle = createSettle({ exec, clock, ...(ports.places && { places: ports.places }) });
  const { output: folder } = ports.places ?? hostPlaces;
  const marks = createMarks(folder);
  const hooks = createSnapperHooks({ exec, folder });
  const offers = createOffers({ exec, database, paths, stateDir });
  const faults = createFaults({ exec, database, locks, paths, clock });
  const { refreshedAt } = createUpdates({ offers, paths });
  const simulate = createSimulate({ exec, database, offers, preferences: files?.preferences ?? hostPreferences });
  const release = createRelease(files?.release);
  const staleUnits = createStaleUnits(files?.proc);

  const present = (): Promise<readonly PresentPackage[]> =>
    files === undefined ? readPresent(database) : readPresent(database, files.extendedStates);

  const isAutomatic = async (): Promise<(change: PackageChange) => boolean> => {
    const automatic = (await present()).filter(({ isManual }) => !isManual);
    const keys = new Set(automatic.map(({ name, architecture }) => `${name}:${architecture}`));
    return ({ name, architecture }) => keys.has(`${name}:${architecture}`);
  };

  /** Repairs whose output is reported as progress, and that run in the unit of a transaction where there is one. */
  const repairsFor = (progress: Progress, unit: string | undefined) => {
    const told = (transaction: Transaction, signal: AbortSignal): Promise<string> =>
      transact({ ...transaction, ...(unit !== undefined && { unit }), onLine: progressReporter(progress) }, signal);
    return createRepairs({ exec, transact: told, paths });
  };

  const { audit, repair } = createRepair({ transact, faults, marks, repairsFor, present });

  return {
    name: "apt",
    knowsSecurity: true,
    installed: async () => (await present()).filter(({ state }) => state !== "configuration").map(toInstalled),

    async updates(signal) {
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
    },

    release,
    refresh: (progress, signal) => orLocked(() => repairsFor(progress, undefined).refreshLists(signal)),
    simulate: (request, signal) => simulate.plan(request, signal),
    commit: createCommit({ simulate, transact, paths, isAutomatic, marks, hooks }),
    settle: (id, signal) => settle(unitFor(id), signal),
    repair,
    audit,
    restartNeeds: async (signal) => ({
      requiresReboot: await needsReboot(signal),
      units: await staleUnits(signal),
    }),
  };
}
