import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Exec } from "#adapters/exec/index.ts";
import type {
  InstalledPackage,
  PackageFiles,
  PackageVersion,
  PresentPackage,
  Progress,
} from "#domain/ports/packages.ts";
import type { Clock } from "#kernel/clock.ts";
import { orUndefined } from "#kernel/errors.ts";
import { asResult, createTransactions, hostPlaces } from "../common/transactions.ts";
import { nevraOf } from "../rpm/names.ts";
import {
  createFetch,
  createPackageFile,
  createRestore as createRpmRestore,
  createRpmSettle,
  fileNameOf,
  keptNameOf,
  type Missing,
} from "../rpm/package-files.ts";
import { type Asking, createAsking, type DnfPlaces, dnfPlaces, withoutRepositories } from "./asking.ts";
import { createDatabase, toInstalled } from "./database.ts";
import { createDnfLocks } from "./locks.ts";
import { dnfOutput, failureReason, scriptFailures } from "./output.ts";
import { changing, telling } from "./replay.ts";
import { parseSummary, parseTable } from "./simulation.ts";

type Target = Parameters<PackageFiles["restore"]>[0];

/**
 * Only the files that are given count: no repository is asked, nothing is held back, nothing comes along and nothing that is no
 * longer needed goes. An older version may be what is wanted, whatever says that it takes the place of what.
 */
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

const quoted = (text: string): string => `'${text.replaceAll("'", `'"'"'`)}'`;

export const shellLines = ({ install, remove }: Missing): string =>
  [
    ...(install.length > 0 ? [`install ${install.map(({ path }) => quoted(path)).join(" ")}`] : []),
    ...(remove.length > 0 ? [`remove ${remove.map((each) => quoted(nevraOf(each))).join(" ")}`] : []),
    "run",
    "",
  ].join("\n");

/** Whether dnf would do all of it and nothing else. What a package says that it takes the place of is no removal in its table. */
export function isExact(text: string, { install, remove }: Missing): boolean {
  const rows = parseTable(text);
  if (rows === undefined || rows.length !== parseSummary(text)) return false;
  const done = rows.flatMap((row) => [
    `${row.kind === "remove" ? "-" : "+"}${nevraOf(row)}`,
    ...row.replaces.map((nevra) => `-${nevra}`),
  ]);
  const wanted = [...install.map((each) => `+${nevraOf(each)}`), ...remove.map((each) => `-${nevraOf(each)}`)];
  // Two may say that they take the place of the same one.
  return [...new Set(done)].sort().join() === wanted.sort().join();
}

/** Which packages have to be marked otherwise: arguments of `dnf mark`. */
export function marksFor(
  wanted: readonly InstalledPackage[],
  present: readonly InstalledPackage[],
): readonly { readonly verb: "install" | "remove"; readonly names: readonly string[] }[] {
  const now = new Map(present.map((each) => [nevraOf(each), each.isManual]));
  const changed = wanted.filter((each) => now.has(nevraOf(each)) && now.get(nevraOf(each)) !== each.isManual);
  const names = (isManual: boolean): readonly string[] =>
    changed.filter((each) => each.isManual === isManual).map(nevraOf);
  return [
    { verb: "install" as const, names: names(true) },
    { verb: "remove" as const, names: names(false) },
  ].filter((mark) => mark.names.length > 0);
}

/**
 * Brings the packages of a host to exact versions; see the port. What is held is said in a file below /etc, which comes back
 * with that.
 */
export function createRestore(ports: {
  readonly asking: Pick<Asking, "tryAsking">;
  readonly database: ReturnType<typeof createDatabase>;
  readonly transact: ReturnType<typeof createTransactions>;
  readonly settle: ReturnType<typeof createRpmSettle>;
  readonly identify: PackageFiles["identify"];
  readonly places: DnfPlaces;
  readonly folder: string;
}): PackageFiles["restore"] {
  const { asking, database, transact, settle, identify, places, folder } = ports;
  const locks = [places.transactionLock];

  const change = async (unit: string, left: Missing, progress: Progress, signal: AbortSignal): Promise<string> => {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const path = join(folder, `${unit}.dnf`);
    await writeFile(path, shellLines(left), { mode: 0o600 });
    const rehearsal = await asking.tryAsking(["--assumeno", "--verbose", ...onlyFiles, "shell", path], signal);
    if (!isExact(rehearsal.stdout, left))
      return `dnf would not do just that: ${failureReason(`${rehearsal.stdout}\n${rehearsal.stderr}`, rehearsal.exitCode)}`;
    const words = [...changing, ...onlyFiles, "shell", path];
    const description = "Steward returns to a snapshot of packages (dnf shell)";
    let failures = "";
    const result = await asResult(async () => {
      const argv = [places.dnf[0], ...places.dnf.slice(1), ...words] as const;
      const output = await transact({ unit, description, argv, locks, onLine: telling(progress) }, signal);
      failures = scriptFailures(output) || (/^Error: /m.test(output) ? failureReason(output, 0) : "");
    });
    await rm(path, { force: true });
    return result.isDone ? failures : result.reason;
  };

  const mark = async (unit: string, wanted: Target["marks"], signal: AbortSignal): Promise<void> => {
    for (const { verb, names } of marksFor(wanted, toInstalled(await database(signal)))) {
      const argv = [places.dnf[0], ...places.dnf.slice(1), ...changing, withoutRepositories, "mark", verb] as const;
      const description = "Steward marks packages as in a snapshot (dnf mark)";
      await transact({ unit, description, argv: [...argv, "--", ...names], locks }, signal);
    }
  };

  const packages = async (signal: AbortSignal): Promise<readonly PackageVersion[]> => (await database(signal)).packages;
  return createRpmRestore({ settle, identify, packages, change, mark });
}

/** Package files of a host with dnf and rpm. A package cannot be put together again from what is installed. */
export function createDnfPackageFiles(ports: {
  readonly exec: Exec;
  readonly clock: Pick<Clock, "monotonicMs" | "sleep">;
  readonly lockWaitMs?: number;
  readonly dnfPlaces?: DnfPlaces;
  readonly places?: { readonly booted: string; readonly output: string };
}): PackageFiles {
  const { exec, clock, dnfPlaces: where = dnfPlaces(), places = hostPlaces } = ports;
  const asking = createAsking({ exec, places: where });
  const database = createDatabase({ ask: asking.ask, places: where });
  const transact = createTransactions({ ...ports, places, locks: createDnfLocks(), reader: dnfOutput });

  const { identify, isWhole } = createPackageFile({ exec });

  const cached = async (wanted: PackageVersion): Promise<readonly string[]> => {
    const repositories = (await orUndefined(readdir(where.lists))) ?? [];
    return repositories.map((name) => join(where.lists, name, "packages", fileNameOf(wanted)));
  };

  const download = async (wanted: PackageVersion, folder: string, signal: AbortSignal): Promise<string | undefined> => {
    // Held back or not: it is the version that is installed.
    const all = ["--disableplugin=versionlock", "--disableexcludes=all"];
    const words = ["--quiet", ...all, "download", `--destdir=${folder}`, "--", nevraOf(wanted)];
    const { exitCode } = await exec([...where.dnf, ...words], { signal, timeoutMs: 10 * 60_000 });
    const [file] = await readdir(folder);
    return exitCode === 0 && file !== undefined ? join(folder, file) : undefined;
  };

  const present = async (signal: AbortSignal): Promise<readonly PresentPackage[]> =>
    toInstalled(await database(signal)).map((each) => ({ ...each, state: "installed" }));

  return {
    present,
    fileName: keptNameOf,
    identify,
    fetch: createFetch({ isWhole, cached, download }),
    restore: createRestore({
      asking,
      database,
      transact,
      settle: createRpmSettle({ exec, clock, places }),
      identify,
      places: where,
      folder: places.output,
    }),
  };
}
