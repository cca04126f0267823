import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { PackageCatalog } from "#domain/ports/package-catalog.ts";
import type { PackageManager, Transactions } from "#domain/ports/packages.ts";
import { orUndefined } from "#kernel/errors.ts";
import { marksOf } from "../common/marks.ts";
import type { Asks, Backend, ManagerPorts } from "../common/ports.ts";
import { createRpmManager, rpmDatabases } from "../common/rpm/manager.ts";
import { isPackageName } from "../common/rpm/names.ts";
import { createOffers, type Offers, releaseOf } from "../common/rpm/offers.ts";
import { createRpmCatalog } from "../common/rpm/present.ts";
import { asResult, unitFor } from "../common/transactions.ts";
import type { Dialect, Dnf, RpmDatabase } from "./dialect.ts";
import { dialect4 } from "./dialect4.ts";
import { dialect5 } from "./dialect5.ts";
import { databaseMark, listsAt, listsMark, openDnf } from "./host.ts";
import { createDnfPackageFiles } from "./package-files.ts";
import { createPlans } from "./plans.ts";
import { createRepairs, findingsOf, refresh, setVersionLocks } from "./repairs.ts";
import { replay, reporter } from "./replay.ts";
import { availableFormat, createLists, parseOffered } from "./repoquery.ts";

/** Names in files `*.conf` of directories, one a line. */
async function namesIn(directories: readonly string[]): Promise<readonly string[]> {
  const paths = await Promise.all(
    directories.map(async (directory) =>
      ((await orUndefined(readdir(directory))) ?? [])
        .filter((name) => name.endsWith(".conf"))
        .map((name) => join(directory, name)),
    ),
  );
  const texts = await Promise.all(paths.flat().map((path) => orUndefined(readFile(path, "utf8"))));
  return texts.flatMap((text) => (text ?? "").split("\n").map((line) => line.trim())).filter(isPackageName);
}

const markOf = async ({ places }: Dnf): Promise<string> =>
  `${await listsMark(places.lists)}\n${await marksOf(places.settings)}`;

const offersOf = (dnf: Dnf): Asks<Offers<RpmDatabase>> =>
  createOffers({
    database: dnf.database,
    mark: () => markOf(dnf),
    updates: (signal) => dnf.dialect.updates(dnf, signal),
    advisories: (signal) => dnf.dialect.advisories(dnf, signal),
  });

function catalogOf(dnf: Dnf): PackageCatalog {
  const { dialect, database, exec, places, toInstalled } = dnf;
  return createRpmCatalog({
    exec,
    rpm: places.rpm,
    installed: async (signal) => toInstalled(await database(signal)),
    mark: async () => `${await databaseMark(places.databases, places.history)}\n${await markOf(dnf)}`,
    lists: createLists(dnf),
    protectedNames: async () => new Set([dialect.name, ...(await namesIn(places.protectedDirectories))]),
    history: dialect.history(dnf),
    historyLog: places.history,
  });
}

function createDnf(dialect: Dialect, ports: ManagerPorts): PackageManager {
  const dnf = openDnf(ports, dialect);
  const { ask, database, places } = dnf;
  const offers = offersOf(dnf);

  const manager = createRpmManager(
    {
      name: "dnf",
      isPlannedByRoot: dialect.isPlannedByRoot,
      holdsLack: () => Promise.resolve(dialect.holdsLack()),
      catalog: catalogOf(dnf),
      commands: dialect.commands(),
      database,
      toInstalled: dnf.toInstalled,
      offers,
      listsAt: () => listsAt(places.lists),
      repairs: createRepairs(dnf),
      files: createDnfPackageFiles(dnf, ports),
      writer: dnf.writer,
      findings: (signal) => findingsOf(dnf, signal),

      ...createPlans(dnf),
      rpm: places.rpm,
      ownPackages: [dialect.name],
      protectedNames: () => namesIn(places.protectedDirectories),

      change: (unit, changes, options, signal) => replay(dnf, { unit, changes, ...options }, signal),
      isRefusal: dialect.isRefusal,
      scriptFailures: dialect.scriptFailures,
      reporter: reporter(dialect),
      hold: (names, isHeld, signal) => setVersionLocks(dnf, { names, isHeld }, signal),
      refresh: (onLine, signal) => refresh(dnf, onLine, signal),

      async release(signal) {
        const query = ["repoquery", "--upgrades", "--latest-limit=1", "--whatprovides=system-release"];
        const [next] = parseOffered(await ask([...query, dnf.formatted(availableFormat)], signal));
        return next && releaseOf(next, await offers(signal));
      },

      updaters: (signal) => dialect.updaters(dnf, signal),
      asksReboot: (signal) => dialect.asksReboot(dnf, signal),
    },
    ports,
  );

  const repair: Transactions["repair"] = async (transaction, signal) => {
    const repaired = await manager.transactions.repair(transaction, signal);
    if (!repaired.isDone) return repaired;
    return asResult(
      () => dialect.restoreReasons(dnf, unitFor(transaction.id), signal),
      () => "",
    );
  };
  return { ...manager, transactions: { ...manager.transactions, repair } };
}

const backendOf = (dialect: Dialect): Backend => ({
  program: dialect.places().dnf[0],
  probe: dialect.probe,
  databases: rpmDatabases,
  open: (ports) => createDnf(dialect, ports),
});

export const dnf = backendOf(dialect4);
export const dnf5 = backendOf(dialect5);
