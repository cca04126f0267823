import { realpathSync } from "node:fs";
import type { PackageCatalog } from "#domain/ports/package-catalog.ts";
import type { PackageManager } from "#domain/ports/packages.ts";
import { orUndefinedSync } from "#kernel/errors.ts";
import { marksOf } from "../common/marks.ts";
import type { Asks, Backend, ManagerPorts } from "../common/ports.ts";
import { createRpmManager } from "../common/rpm/manager.ts";
import { databaseMark, listsAt, listsMark, rpmDatabases } from "../common/rpm/marks.ts";
import { createOffers, type Offers, releaseOf } from "../common/rpm/offers.ts";
import { createRpmCatalog } from "../common/rpm/present.ts";
import { availableFormat, parseOffered } from "../common/rpm/queries.ts";
import { createRepoqueryLists, namesInFolders } from "../common/rpm/repoquery.ts";
import { createRowPlans } from "../common/rpm/row-plans.ts";
import { asResult, unitFor } from "../common/transactions.ts";
import { asksReboot, parseAdvisories, parseCheckUpgrade } from "./answers.ts";
import { createHistory } from "./history.ts";
import {
  type Dnf5,
  openDnf5,
  probe,
  program,
  type RpmDatabase,
  toInstalled,
  withoutHolds,
  withoutRepositories,
} from "./host.ts";
import { isUnresolved, scriptFailures } from "./output.ts";
import { createDnf5PackageFiles } from "./package-files.ts";
import { createRepairs, findingsOf, refresh, restoreReasons } from "./repairs.ts";
import { replay, telling } from "./replay.ts";
import { askOffered, createSimulate } from "./simulation.ts";
import { createUpdaters } from "./updaters.ts";
import { setVersionLocks } from "./version-locks.ts";

/** Whether the host's `dnf` is this one, and not dnf 4 or none. */
const isTheDnf = (): boolean => orUndefinedSync(() => realpathSync("/usr/bin/dnf")) === realpathSync(program);

const markOf = async ({ places }: Dnf5): Promise<string> =>
  `${await listsMark(places.lists)}\n${await marksOf(places.settings)}`;

function offersOf(dnf5: Dnf5): Asks<Offers<RpmDatabase>> {
  const { ask, database } = dnf5;
  return createOffers({
    database,
    mark: () => markOf(dnf5),
    updates: async (signal) => parseCheckUpgrade(await ask(["check-upgrade", "--json"], signal)),
    // Those that are held have holes as well.
    advisories: async (signal) =>
      parseAdvisories(await ask([withoutHolds, "advisory", "list", "--json", "--security", "--updates"], signal)),
  });
}

function catalogOf(dnf5: Dnf5, { exec }: ManagerPorts): PackageCatalog {
  const { ask, database, places } = dnf5;
  return createRpmCatalog({
    exec,
    rpm: places.rpm,
    installed: async (signal) => toInstalled(await database(signal)),
    mark: async () => `${await databaseMark(places.databases, places.history)}\n${await markOf(dnf5)}`,
    lists: createRepoqueryLists({ ask, withHeld: withoutHolds }),
    protectedNames: async () => new Set(["dnf5", ...(await namesInFolders(places.protectedFolders))]),
    history: createHistory(dnf5),
    historyLog: places.history,
  });
}

function createDnf5(ports: ManagerPorts): PackageManager {
  const dnf5 = openDnf5(ports);
  const { ask, tryAsking, database, places } = dnf5;
  const offers = offersOf(dnf5);
  const name = isTheDnf() ? "dnf" : "dnf5";

  const manager = createRpmManager(
    {
      name: "dnf",
      commands: {
        finisher: name,
        finish: "",
        installMissing: `${name} install`,
        refreshLists: `${name} makecache`,
        hold: `${name} versionlock add`,
        unhold: `${name} versionlock delete, or its line in excludepkgs,`,
      },
      database,
      toInstalled,
      offers,
      listsAt: () => listsAt(places.lists),
      repairs: createRepairs(dnf5),
      files: createDnf5PackageFiles(dnf5, ports),
      writer: dnf5.writer,
      findings: (signal) => findingsOf(dnf5, signal),

      ...createRowPlans({ simulate: createSimulate(dnf5), ask: askOffered(dnf5), withoutRepositories }),
      rpm: dnf5.places.rpm,
      ownPackages: ["dnf5"],
      protectedNames: () => namesInFolders(dnf5.places.protectedFolders),

      change: (unit, changes, options, signal) => replay(dnf5, { unit, changes, ...options }, signal),
      isRefusal: isUnresolved,
      scriptFailures,
      telling,
      hold: (names, isHeld, signal) => setVersionLocks(dnf5, { names, isHeld }, signal),
      refresh: (onLine, signal) => refresh(dnf5, onLine, signal),

      async release(signal) {
        const query = ["repoquery", "--upgrades", "--latest-limit=1", "--whatprovides=system-release"];
        const [next] = parseOffered(await ask([...query, `--queryformat=${availableFormat}\\n`], signal));
        return next && releaseOf(next, await offers(signal));
      },

      updaters: createUpdaters({ exec: ports.exec, settings: places.automatic }),
      // Where its plugin is there, dnf5 knows by what was installed since the start.
      asksReboot: async (signal) =>
        asksReboot((await tryAsking([withoutRepositories, "needs-restarting", "--json"], signal)).stdout),
    },
    ports,
  );

  return {
    ...manager,
    catalog: catalogOf(dnf5, ports),
    async repair(transaction, signal) {
      const repaired = await manager.repair(transaction, signal);
      if (!repaired.isDone) return repaired;
      return asResult(
        () => restoreReasons(dnf5, unitFor(transaction.id), signal),
        () => "",
      );
    },
  };
}

export const dnf5: Backend = { program, probe, databases: rpmDatabases, open: createDnf5 };
