import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { PackageFiles } from "#domain/ports/packages.ts";
import { sortedNames } from "../common/marks.ts";
import { createPackageFiles, marksFor } from "../common/package-files.ts";
import type { PackagePorts } from "../common/ports.ts";
import { nevraOf } from "../common/rpm/names.ts";
import { orWithoutLists } from "../common/rpm/offers.ts";
import { fileNameOf, rpmFiles } from "../common/rpm/package-files.ts";
import { asResult } from "../common/transactions.ts";
import type { Dialect, Dnf } from "./dialect.ts";
import { isExactly } from "./plans.ts";
import { reporter, withStored } from "./replay.ts";
import { availableFormat, parseOffered } from "./repoquery.ts";

/** Only the given files count: no repository, no holds, no automatic additions or removals; downgrades are allowed. */
const onlyFiles = ({ withoutRepositories, withoutHolds }: Dialect): readonly string[] => [
  withoutRepositories,
  ...withoutHolds,
  "--setopt=obsoletes=0",
  "--setopt=clean_requirements_on_remove=0",
  "--setopt=install_weak_deps=0",
  "--setopt=protected_packages=",
  "--setopt=installonly_limit=0",
];

export function createDnfPackageFiles(dnf: Dnf, ports: PackagePorts): PackageFiles {
  const { dialect, database, places, transact, toInstalled, changingArgv } = dnf;
  const { output, scriptFailures, withoutHolds } = dialect;
  const locks = places.changeLocks;

  return createPackageFiles({
    ...rpmFiles(ports, places.rpm),
    database,
    toInstalled,

    cached: async (wanted) =>
      (await sortedNames(places.lists)).map((name) => join(places.lists, name, "packages", fileNameOf(wanted))),

    async offered(wanted, signal) {
      const words = ["repoquery", ...withoutHolds, "--available", dnf.formatted(availableFormat), "--"];
      return parseOffered(await orWithoutLists(dnf.ask([...words, ...wanted.map(({ name }) => name)], signal), ""));
    },

    async download(wanted, own, signal) {
      const words = ["--quiet", ...withoutHolds, "download", `--destdir=${own}`, "--", ...wanted.map(nevraOf)];
      const { exitCode } = await ports.exec([...places.dnf, ...words], { signal, timeoutMs: 60 * 60_000 });
      return exitCode === 0 ? (await readdir(own)).map((file) => join(own, file)) : [];
    },

    async change(unit, left, progress, signal) {
      const { text, words } = await dialect.returning(dnf, left, signal);
      return withStored(dnf, unit, text, async (path) => {
        const how = [...onlyFiles(dialect), ...words(path)];
        const { exitCode, stdout, stderr } = await dnf.tryAsking([...dialect.planning, ...how], signal);
        const rows = dialect.parsePlan(stdout);
        if (rows === undefined || !isExactly(rows, left))
          return `dnf would not do just that: ${output.failureReason(`${stdout}\n${stderr}`, exitCode)}`;
        const description = `Steward returns to a snapshot of packages (${dialect.name})`;
        const onLine = reporter(dialect)(progress);
        const { reason } = await asResult(
          () => transact({ unit, description, argv: changingArgv(...how), locks, onLine }, signal),
          // The shell of dnf 4 continues after an error.
          (said) => scriptFailures(said) || (/^Error: /m.test(said) ? output.failureReason(said, 0) : ""),
        );
        return reason;
      });
    },

    async mark(unit, wanted, signal) {
      const description = `Steward marks packages as in a snapshot (${dialect.name} mark)`;
      for (const { isManual, names } of marksFor(wanted, toInstalled(await database(signal)))) {
        const argv = changingArgv(dialect.withoutRepositories, ...dialect.marking(isManual), "--", ...names);
        await transact({ unit, description, argv, locks }, signal);
      }
    },
  });
}
