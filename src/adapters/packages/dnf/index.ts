import type { PackageCatalog } from "#domain/ports/package-catalog.ts";
import type { PackageManager } from "#domain/ports/packages.ts";
import { marksOf } from "../common/marks.ts";
import type { Asks, Backend, ManagerPorts } from "../common/ports.ts";
import { createRpmManager } from "../common/rpm/manager.ts";
import { databaseMark, listsAt, listsMark, rpmDatabases } from "../common/rpm/marks.ts";
import { createOffers, type Offers, releaseOf } from "../common/rpm/offers.ts";
import { createRpmCatalog } from "../common/rpm/present.ts";
import { availableFormat, parseOffered } from "../common/rpm/queries.ts";
import { createRepoqueryLists, namesInFolders } from "../common/rpm/repoquery.ts";
import { createRowPlans } from "../common/rpm/row-plans.ts";
import { createHistory } from "./history.ts";
import { type Dnf, openDnf, type RpmDatabase, toInstalled, withoutRepositories } from "./host.ts";
import { asksReboot, parseAdvisories, parseCheckUpdate } from "./lists.ts";
import { scriptFailures } from "./output.ts";
import { createDnfPackageFiles } from "./package-files.ts";
import { createRepairs, findingsOf, refresh } from "./repairs.ts";
import { replay, telling } from "./replay.ts";
import { askOffered, createSimulate } from "./simulation.ts";
import { lackOfVersionLock, setVersionLocks } from "./version-locks.ts";

const markOf = async ({ places }: Dnf): Promise<string> =>
  `${await listsMark(places.lists)}\n${await marksOf(places.settings)}`;

function offersOf(dnf: Dnf): Asks<Offers<RpmDatabase>> {
  const { ask, database } = dnf;
  return createOffers({
    database,
    mark: () => markOf(dnf),
    updates: async (signal) => parseCheckUpdate(await ask(["check-update"], signal)),
    advisories: async (signal) => {
      // Without what keeps packages back: those that are held have holes as well.
      const all = ["--disableplugin=versionlock", "--disableexcludes=all"];
      return parseAdvisories(await ask([...all, "updateinfo", "list", "--security", "--updates"], signal));
    },
  });
}

function catalogOf(dnf: Dnf, { exec }: ManagerPorts): PackageCatalog {
  const { ask, database, places } = dnf;
  return createRpmCatalog({
    exec,
    rpm: places.rpm,
    installed: async (signal) => toInstalled(await database(signal)),
    mark: async () => `${await databaseMark(places.databases, places.history)}\n${await markOf(dnf)}`,
    lists: createRepoqueryLists({ ask, withHeld: "--disableexcludes=all" }),
    protectedNames: async () => new Set(["dnf", ...(await namesInFolders(places.protectedFolders))]),
    history: createHistory(places),
    historyLog: places.history,
  });
}

function createDnf(ports: ManagerPorts): PackageManager {
  const dnf = openDnf(ports);
  const { ask, tryAsking, database } = dnf;
  const offers = offersOf(dnf);

  const manager = createRpmManager(
    {
      name: "dnf",
      commands: {
        finisher: "dnf",
        finish: "dnf history redo last",
        installMissing: "dnf install",
        refreshLists: "dnf makecache",
        hold: "dnf versionlock add",
        unhold: "dnf versionlock delete, or its line in excludepkgs,",
      },
      database,
      toInstalled,
      offers,
      listsAt: () => listsAt(dnf.places.lists),
      repairs: createRepairs(dnf),
      files: createDnfPackageFiles(dnf, ports),
      writer: dnf.writer,
      findings: (signal) => findingsOf(dnf, signal),

      ...createRowPlans({ simulate: createSimulate(dnf), ask: askOffered(dnf), withoutRepositories }),
      rpm: dnf.places.rpm,
      ownPackages: ["dnf"],
      protectedNames: () => namesInFolders(dnf.places.protectedFolders),

      change: (unit, changes, options, signal) => replay(dnf, { unit, changes, ...options }, signal),
      // Dnf says of a stored transaction that it cannot be done as it is, or that something else depends on it by now.
      isRefusal: (reason) => /problems occurred while (?:replaying|running)|^Problem(?: \d+)?: /.test(reason),
      scriptFailures,
      telling,
      hold: (names, isHeld, signal) => setVersionLocks(dnf, { names, isHeld }, signal),
      refresh: (onLine, signal) => refresh(dnf, onLine, signal),

      async release(signal) {
        const query = ["repoquery", "--upgrades", "--latest-limit=1", "--whatprovides=system-release"];
        const [next] = parseOffered(await ask([...query, `--queryformat=${availableFormat}`], signal));
        return next && releaseOf(next, await offers(signal));
      },

      // Where its plugin is there, dnf knows by what was installed since the start.
      updaters: () => Promise.resolve(["dnf-automatic.timer", "dnf-automatic-install.timer"]),
      asksReboot: async (signal) =>
        asksReboot(await tryAsking([withoutRepositories, "needs-restarting", "--reboothint"], signal)),
    },
    ports,
  );
  // What it would do it tells nobody else, whatever the answer to its question is.
  const catalog = catalogOf(dnf, ports);
  return { ...manager, catalog, isPlannedByRoot: true, holdsLack: () => Promise.resolve(lackOfVersionLock(dnf)) };
}

export const dnf: Backend = {
  program: "/usr/bin/dnf",
  probe: ["/usr/bin/rpm", "--query", "rpm"],
  databases: rpmDatabases,
  open: createDnf,
};
