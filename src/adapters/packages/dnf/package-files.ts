import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { PackageFiles } from "#domain/ports/packages.ts";
import { createPackageFiles, type Missing, marksFor } from "../common/package-files.ts";
import type { PackagePorts } from "../common/ports.ts";
import { nevraOf } from "../common/rpm/names.ts";
import { orWithoutLists } from "../common/rpm/offers.ts";
import { cachedIn, rpmFiles } from "../common/rpm/package-files.ts";
import { availableFormat, parseOffered } from "../common/rpm/queries.ts";
import { isExactly } from "../common/rpm/table.ts";
import { asResult } from "../common/transactions.ts";
import { type Dnf, toInstalled, withoutRepositories } from "./host.ts";
import { failureReason, scriptFailures } from "./output.ts";
import { changingArgv, telling } from "./replay.ts";
import { parseSummary, parseTable } from "./simulation.ts";

/** Only the given files count: no repository, no holds, no automatic additions or removals; downgrades are allowed. */
const onlyFiles = [
  withoutRepositories,
  "--disableplugin=versionlock",
  "--disableexcludes=all",
  "--setopt=obsoletes=0",
  "--setopt=clean_requirements_on_remove=0",
  "--setopt=install_weak_deps=0",
  "--setopt=protected_packages=",
  "--setopt=installonly_limit=0",
] as const;

/** Without what keeps packages back. */
const all = ["--disableplugin=versionlock", "--disableexcludes=all"] as const;

const shellWord = (text: string): string => `'${text.replaceAll("'", `'"'"'`)}'`;

export const shellLines = ({ install, remove }: Missing): string =>
  [
    ...(install.length > 0 ? [`install ${install.map(({ path }) => shellWord(path)).join(" ")}`] : []),
    ...(remove.length > 0 ? [`remove ${remove.map((each) => shellWord(nevraOf(each))).join(" ")}`] : []),
    "run",
    "",
  ].join("\n");

export function isExact(text: string, missing: Missing): boolean {
  const rows = parseTable(text);
  if (rows === undefined || rows.length !== parseSummary(text)) return false;
  return isExactly(rows, missing);
}

export function createDnfPackageFiles(dnf: Dnf, ports: PackagePorts): PackageFiles {
  const { database, folder, places, transact } = dnf;
  const locks = [places.transactionLock];

  return createPackageFiles({
    ...rpmFiles(ports, places.rpm),
    database,
    toInstalled,

    cached: cachedIn(places.lists),

    async offered(wanted, signal) {
      const words = ["repoquery", ...all, "--available", `--queryformat=${availableFormat}`, "--"];
      return parseOffered(await orWithoutLists(dnf.ask([...words, ...wanted.map(({ name }) => name)], signal), ""));
    },

    async download(wanted, own, signal) {
      const words = ["--quiet", ...all, "download", `--destdir=${own}`, "--", ...wanted.map(nevraOf)];
      const { exitCode } = await ports.exec([...places.dnf, ...words], { signal, timeoutMs: 60 * 60_000 });
      return exitCode === 0 ? (await readdir(own)).map((file) => join(own, file)) : [];
    },

    async change(unit, left, progress, signal) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const path = join(folder, `${unit}.dnf`);
      await writeFile(path, shellLines(left), { mode: 0o600 });
      const rehearsal = await dnf.tryAsking(["--assumeno", "--verbose", ...onlyFiles, "shell", path], signal);
      if (!isExact(rehearsal.stdout, left))
        return `dnf would not do just that: ${failureReason(`${rehearsal.stdout}\n${rehearsal.stderr}`, rehearsal.exitCode)}`;
      const description = "Steward returns to a snapshot of packages (dnf shell)";
      const argv = changingArgv(dnf, ...onlyFiles, "shell", path);
      const { reason } = await asResult(
        () => transact({ unit, description, argv, locks, onLine: telling(progress) }, signal),
        (output) => scriptFailures(output) || (/^Error: /m.test(output) ? failureReason(output, 0) : ""),
      );
      await rm(path, { force: true });
      return reason;
    },

    async mark(unit, wanted, signal) {
      const description = "Steward marks packages as in a snapshot (dnf mark)";
      for (const { isManual, names } of marksFor(wanted, toInstalled(await database(signal)))) {
        const verb = isManual ? "install" : "remove";
        const argv = changingArgv(dnf, withoutRepositories, "mark", verb, "--", ...names);
        await transact({ unit, description, argv, locks }, signal);
      }
    },
  });
}
