import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { PackageFiles, PackageVersion } from "#domain/ports/packages.ts";
import { createPackageFiles, type Missing, marksFor } from "../common/package-files.ts";
import type { PackagePorts } from "../common/ports.ts";
import { comparePackageVersions, nameAndArchitecture, nevraOf } from "../common/rpm/names.ts";
import { orWithoutLists } from "../common/rpm/offers.ts";
import { cachedIn, rpmFiles } from "../common/rpm/package-files.ts";
import { availableFormat, parseOffered } from "../common/rpm/queries.ts";
import { checked, isExactly } from "../common/rpm/table.ts";
import { asResult } from "../common/transactions.ts";
import { type Dnf5, toInstalled, withoutHolds, withoutRepositories } from "./host.ts";
import { failureReason, scriptFailures } from "./output.ts";
import { changingArgv, type StoredAction, telling, withStored } from "./replay.ts";
import { parsePlan } from "./simulation.ts";

/** Only the given files count: no repository, no holds, no automatic additions or removals; downgrades are allowed. */
const onlyFiles = [
  "--cacheonly",
  withoutRepositories,
  withoutHolds,
  "--setopt=obsoletes=0",
  "--setopt=clean_requirements_on_remove=0",
  "--setopt=install_weak_deps=0",
  "--setopt=protected_packages=",
  "--setopt=installonly_limit=0",
] as const;

/** @param present what is installed. @param isBeside whether several versions of it may be there. */
export function actionsForFiles(
  { install, remove }: Missing,
  present: readonly PackageVersion[],
  isBeside: (found: PackageVersion) => boolean,
): readonly StoredAction[] {
  const gone = new Set(remove.map(nevraOf));
  const step = (action: StoredAction["action"], found: PackageVersion): StoredAction => {
    // Marks are set afterwards.
    return { nevra: checked(found), action, reason: "User", repo_id: "" };
  };
  const coming = install.flatMap((file): readonly StoredAction[] => {
    const old = present.find(
      (each) => nameAndArchitecture(each) === nameAndArchitecture(file) && !gone.has(nevraOf(each)) && !isBeside(each),
    );
    if (old === undefined) return [{ ...step("Install", file), package_path: file.path }];
    const action = comparePackageVersions(file.version, old.version) < 0 ? "Downgrade" : "Upgrade";
    return [{ ...step(action, file), package_path: file.path }, step("Replaced", old)];
  });
  return [...coming, ...remove.map((each) => step("Remove", each))];
}

export function createDnf5PackageFiles(dnf5: Dnf5, ports: PackagePorts): PackageFiles {
  const { database, places, transact } = dnf5;
  const locks = [places.transactionLock, places.systemLock];

  /** Names of packages of which several versions may be there, as of kernels. */
  const sideBySide = async (signal: AbortSignal): Promise<ReadonlySet<string>> => {
    const words = ["repoquery", withoutRepositories, withoutHolds, "--installed", "--installonly"];
    const text = await dnf5.ask([...words, "--queryformat=%{name}\\n"], signal);
    return new Set(text.split("\n"));
  };

  return createPackageFiles({
    ...rpmFiles(ports, places.rpm),
    database,
    toInstalled,
    cached: cachedIn(places.lists),

    async offered(wanted, signal) {
      const words = ["repoquery", withoutHolds, "--available", `--queryformat=${availableFormat}\\n`, "--"];
      return parseOffered(await orWithoutLists(dnf5.ask([...words, ...wanted.map(({ name }) => name)], signal), ""));
    },

    async download(wanted, own, signal) {
      const words = ["--quiet", withoutHolds, "download", `--destdir=${own}`, "--", ...wanted.map(nevraOf)];
      const { exitCode } = await ports.exec([...places.dnf5, ...words], { signal, timeoutMs: 60 * 60_000 });
      return exitCode === 0 ? (await readdir(own)).map((file) => join(own, file)) : [];
    },

    async change(unit, left, progress, signal) {
      const names = await sideBySide(signal);
      const { packages } = await database(signal);
      const actions = actionsForFiles(left, packages, ({ name }) => names.has(name));
      return withStored(dnf5, unit, actions, async (path) => {
        const words = [...onlyFiles, "replay", path];
        const { exitCode, stdout, stderr } = await dnf5.tryAsking(["--assumeno", ...words], signal);
        const rows = parsePlan(stdout);
        if (rows === undefined || !isExactly(rows, left))
          return `dnf would not do just that: ${failureReason(`${stdout}\n${stderr}`, exitCode)}`;
        const description = "Steward returns to a snapshot of packages (dnf5 replay)";
        const argv = changingArgv(dnf5, ...words);
        const { reason } = await asResult(
          () => transact({ unit, description, argv, locks, onLine: telling(progress) }, signal),
          scriptFailures,
        );
        return reason;
      });
    },

    async mark(unit, wanted, signal) {
      const description = "Steward marks packages as in a snapshot (dnf5 mark)";
      for (const { isManual, names } of marksFor(wanted, toInstalled(await database(signal)))) {
        const reason = isManual ? "user" : "dependency";
        const argv = changingArgv(dnf5, withoutRepositories, withoutHolds, "mark", reason, "--", ...names);
        await transact({ unit, description, argv, locks }, signal);
      }
    },
  });
}
