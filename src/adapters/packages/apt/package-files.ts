import { constants, existsSync } from "node:fs";
import { copyFile, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Exec } from "#adapters/exec/index.ts";
import { isSameVersion, PackageFileMissing, type PackageFiles, type PackageVersion } from "#domain/ports/packages.ts";
import type { Clock } from "#kernel/clock.ts";
import { createLockTable } from "../common/locks.ts";
import { createSettle, createTransactions } from "../common/transactions.ts";
import { createDatabase, readPresent } from "./database.ts";
import { archives } from "./manager-commit.ts";
import { createRestore } from "./package-files-restore.ts";
import { repack } from "./repack.ts";
import { aptPaths, onlyAsking, onlyTrusted } from "./words.ts";

/** A repository that does not answer is one that does not have it. */
const downloads = ["--option=Acquire::Retries=0", "--option=Acquire::http::Timeout=15"] as const;

/** How apt says that a repository does not answer, which takes its time; one that answers with "not found" does so at once. */
const noAnswer = /Could not (resolve|connect)|Unable to connect|Temporary failure|timed out|unreachable/i;
const silenceMs = 10 * 60_000;

export const archiveName = ({ name, architecture, version }: PackageVersion): string =>
  `${name}_${version.replaceAll(":", "%3a")}_${architecture}.deb`;

export function parseIdentity(text: string): PackageVersion {
  const field = (key: string): string => new RegExp(`^${key}: (\\S+)$`, "m").exec(text)?.[1] ?? "";
  return { name: field("Package"), architecture: field("Architecture"), version: field("Version") };
}

/** Its version is left out: of a package for one architecture there is one. */
const fileName: PackageFiles["fileName"] = ({ name, architecture }) => `${name}_${architecture}.deb`;

/** Package files of a host with apt and dpkg. */
export function createAptPackageFiles(ports: {
  readonly exec: Exec;
  readonly clock: Pick<Clock, "monotonicMs" | "sleep">;
  readonly lockWaitMs?: number;
}): PackageFiles {
  const { exec, clock } = ports;
  /** Until then the repositories are not asked again: for hundreds of packages the waits would add up. */
  let silentUntilMs = Number.NEGATIVE_INFINITY;
  const database = createDatabase(aptPaths);
  const transact = createTransactions({ ...ports, locks: createLockTable() });

  const identify: PackageFiles["identify"] = async (path, signal) => {
    const { exitCode, stdout, stderr } = await exec(
      ["/usr/bin/dpkg-deb", "--field", path, "Package", "Architecture", "Version"],
      { signal },
    );
    if (exitCode !== 0) throw new Error(`${basename(path)} is not a package file: ${stderr.trim()}`);
    return parseIdentity(stdout);
  };

  const isWhole = async (path: string, wanted: PackageVersion, signal: AbortSignal): Promise<boolean> => {
    const { exitCode, stdout } = await exec(
      ["/usr/bin/dpkg-deb", "--field", path, "Package", "Architecture", "Version"],
      { signal },
    );
    if (exitCode !== 0 || !isSameVersion(parseIdentity(stdout), wanted)) return false;
    const options = { signal, timeoutMs: 10 * 60_000, maxOutputBytes: 1024 };
    return (await exec(["/usr/bin/dpkg-deb", "--contents", path], options)).exitCode === 0;
  };

  const fromCache = async (wanted: PackageVersion, target: string, signal: AbortSignal): Promise<boolean> => {
    const path = join(archives, archiveName(wanted));
    if (!existsSync(path)) return false;
    await copyFile(path, target, constants.COPYFILE_FICLONE);
    if (await isWhole(target, wanted, signal)) return true;
    await rm(target);
    return false;
  };

  const fromRepository = async (wanted: PackageVersion, target: string, signal: AbortSignal): Promise<boolean> => {
    if (clock.monotonicMs() < silentUntilMs) return false;
    const { name, architecture, version } = wanted;
    const own = await mkdtemp(join(target, "..", "download-"));
    try {
      // It writes into the folder that it is in.
      const inside = ["/usr/bin/env", `--chdir=${own}`] as const;
      const options = { signal, timeoutMs: 10 * 60_000 };
      const selector = architecture === "all" ? name : `${name}:${architecture}`;
      const argv = [...onlyAsking, ...onlyTrusted, ...downloads, "download", "--", `${selector}=${version}`];
      const { exitCode, stderr } = await exec([...inside, "/usr/bin/apt-get", "--quiet=2", ...argv], options);
      if (exitCode !== 0 && noAnswer.test(stderr)) silentUntilMs = clock.monotonicMs() + silenceMs;
      const [file] = await readdir(own);
      if (exitCode !== 0 || file === undefined || !(await isWhole(join(own, file), wanted, signal))) return false;
      await rename(join(own, file), target);
      return true;
    } finally {
      await rm(own, { recursive: true, force: true });
    }
  };

  return {
    present: () => readPresent(database),
    fileName,
    identify,
    async fetch(wanted, folder, signal) {
      const { name, architecture, version, state } = wanted;
      const file = fileName(wanted);
      const target = join(folder, file);
      if (state !== "configuration") {
        if (await fromCache(wanted, target, signal)) return { name: file, origin: "cache" };
        if (await fromRepository(wanted, target, signal)) return { name: file, origin: "repository" };
      }
      if ((await repack(wanted, { exec, folder }, signal)) !== undefined) return { name: file, origin: "installed" };
      throw new PackageFileMissing(
        `${name} ${version} (${architecture}) is neither installed nor in the cache or in a repository`,
      );
    },
    restore: createRestore({
      exec,
      transact,
      settle: createSettle(ports),
      identify,
      present: () => readPresent(database),
    }),
  };
}
