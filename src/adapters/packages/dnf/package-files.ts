import { constants } from "node:fs";
import { copyFile, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Exec } from "#adapters/exec/index.ts";
import type { Clock } from "#domain/kernel/clock.ts";
import type { PackageFiles, PackageVersion, PresentPackage } from "#domain/updates/ports.ts";
import { PackageFileMissing } from "#domain/updates/ports.ts";
import { createSettle, createTransactions } from "../apt/transactions.ts";
import { isMissing, orUndefined } from "../files.ts";
import { createAsking } from "./asking.ts";
import { createDatabase, toInstalled } from "./database.ts";
import { createPidLocks } from "./locks.ts";
import { nevraOf, parseNevra, versionOf } from "./names.ts";
import { dnfOutput } from "./output.ts";
import { createRestore } from "./package-files-restore.ts";
import type { DnfPlaces } from "./places.ts";
import { dnfPlaces } from "./places.ts";
import { splitVersion } from "./version.ts";

const hostPlaces = { booted: "/run/systemd/system", output: "/run/steward-packages" };
const identityFormat = "%{NAME}|%{EPOCHNUM}|%{VERSION}|%{RELEASE}|%{ARCH}\\n";

/** Reads what `rpm --query` prints in that format; undefined where it is no package. */
export function parseIdentity(text: string): PackageVersion | undefined {
  const [name = "", epoch = "", version = "", release = "", architecture = ""] = text.trim().split("|");
  const found = { name, version: versionOf(epoch, version, release), architecture };
  return parseNevra(nevraOf(found)) === undefined ? undefined : found;
}

/** What repositories call the file of a package. */
export const fileNameOf = ({ name, version, architecture }: PackageVersion): string => {
  const { version: main, release } = splitVersion(version);
  return `${name}-${main}-${release}.${architecture}.rpm`;
};

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
  const transact = createTransactions({ ...ports, places, locks: createPidLocks(), reader: dnfOutput });

  const ask = async (path: string, signal: AbortSignal): Promise<PackageVersion | string> => {
    const words = ["--query", "--nosignature", `--queryformat=${identityFormat}`, "--package", "--", path];
    const { exitCode, stdout, stderr } = await exec(["/usr/bin/rpm", ...words], { signal });
    return (exitCode === 0 ? parseIdentity(stdout) : undefined) ?? stderr.trim();
  };

  const identify: PackageFiles["identify"] = async (path, signal) => {
    const found = await ask(path, signal);
    if (typeof found === "string") throw new Error(`${basename(path)} is not a package file: ${found}`);
    return found;
  };

  /** Whether a file is just this package, with all that its digests say. */
  const isWhole = async (path: string, wanted: PackageVersion, signal: AbortSignal): Promise<boolean> => {
    const found = await ask(path, signal);
    if (typeof found === "string" || nevraOf(found) !== nevraOf(wanted)) return false;
    const words = ["--checksig", "--nosignature", "--", path];
    return (await exec(["/usr/bin/rpm", ...words], { signal, timeoutMs: 10 * 60_000 })).exitCode === 0;
  };

  const fromCache = async (wanted: PackageVersion, target: string, signal: AbortSignal): Promise<boolean> => {
    const repositories = (await orUndefined(readdir(where.lists), isMissing)) ?? [];
    for (const repository of repositories) {
      const path = join(where.lists, repository, "packages", fileNameOf(wanted));
      const copied = await orUndefined(
        copyFile(path, target, constants.COPYFILE_FICLONE).then(() => true),
        isMissing,
      );
      if (copied === undefined) continue;
      if (await isWhole(target, wanted, signal)) return true;
      await rm(target);
    }
    return false;
  };

  const fromRepository = async (wanted: PackageVersion, target: string, signal: AbortSignal): Promise<boolean> => {
    const own = await mkdtemp(join(target, "..", "download-"));
    try {
      // Held back or not: it is the version that is installed.
      const all = ["--disableplugin=versionlock", "--disableexcludes=all"];
      const words = ["--quiet", ...all, "download", `--destdir=${own}`, "--", nevraOf(wanted)];
      const { exitCode } = await exec([...where.dnf, ...words], { signal, timeoutMs: 10 * 60_000 });
      const [file] = await readdir(own);
      if (exitCode !== 0 || file === undefined || !(await isWhole(join(own, file), wanted, signal))) return false;
      await rename(join(own, file), target);
      return true;
    } finally {
      await rm(own, { recursive: true, force: true });
    }
  };

  const present = async (signal: AbortSignal): Promise<readonly PresentPackage[]> =>
    toInstalled(await database(signal)).map((each) => ({ ...each, state: "installed" }));

  return {
    present,
    identify,
    async fetch(wanted, folder, signal) {
      const nevra = nevraOf(wanted);
      if (parseNevra(nevra) === undefined || nevra.includes("/"))
        throw new PackageFileMissing(`${JSON.stringify(nevra)} is no name of a package`);
      const name = `${nevra.replaceAll(":", "%3a")}.rpm`;
      const target = join(folder, name);
      if (await fromCache(wanted, target, signal)) return { name, origin: "cache" };
      if (await fromRepository(wanted, target, signal)) return { name, origin: "repository" };
      throw new PackageFileMissing(`${nevra} is neither in the cache nor in a repository`);
    },
    restore: createRestore({
      asking,
      database,
      transact,
      settle: createSettle({ exec, clock, places }),
      identify,
      places: where,
      folder: places.output,
    }),
  };
}
