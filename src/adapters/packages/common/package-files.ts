import { constants, existsSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import {
  type InstalledPackage,
  PackageFileMissing,
  type PackageFiles,
  type PackageVersion,
  type Progress,
} from "#domain/ports/packages.ts";
import { orUndefined } from "#kernel/errors.ts";
import type { Asks } from "./ports.ts";
import { nevraOf, parseNevra } from "./rpm/names.ts";
import { unitFor } from "./transactions.ts";

export type IsWhole = (path: string, wanted: PackageVersion, signal: AbortSignal) => Promise<boolean>;

interface Fetching {
  readonly wanted: PackageVersion;
  readonly isWhole: IsWhole;
  readonly target: string;
}

/**
 * Puts the file of a package into its place, from a cache or a repository.
 * @param sources.download brings it into a directory; resolves with its path, undefined where it cannot be had.
 */
export async function fetchFile(
  { wanted, isWhole, target }: Fetching,
  sources: {
    readonly cached: readonly string[];
    readonly download: (directory: string) => Promise<string | undefined>;
  },
  signal: AbortSignal,
): Promise<"cache" | "repository" | undefined> {
  for (const path of sources.cached) {
    const copied = await orUndefined(copyFile(path, target, constants.COPYFILE_FICLONE).then(() => true));
    if (copied === undefined) continue;
    if (await isWhole(target, wanted, signal)) return "cache";
    await rm(target);
  }
  const own = await mkdtemp(join(target, "..", "download-"));
  try {
    const path = await sources.download(own);
    if (path === undefined || !(await isWhole(path, wanted, signal))) return undefined;
    await rename(path, target);
    return "repository";
  } finally {
    await rm(own, { recursive: true, force: true });
  }
}

type Target = Parameters<PackageFiles["restore"]>[0];

interface FoundFile extends PackageVersion {
  readonly path: string;
}

export interface Missing {
  readonly install: readonly FoundFile[];
  readonly remove: readonly PackageVersion[];
}

export function missingOf(
  target: { readonly files: readonly FoundFile[]; readonly remove: Target["remove"] },
  installed: readonly PackageVersion[],
): Missing {
  const present = new Set(installed.map(nevraOf));
  // Another version of it may be there to stay.
  const gone = new Set(target.remove.map(nevraOf));
  return {
    install: target.files.filter((file) => !present.has(nevraOf(file))),
    remove: installed.filter((each) => gone.has(nevraOf(each))),
  };
}

/** Packages whose mark is to be changed: one group of those that become manual, and one of the others. */
export function marksFor(
  wanted: readonly InstalledPackage[],
  present: readonly InstalledPackage[],
  wordOf: (found: PackageVersion) => string = nevraOf,
): readonly { readonly isManual: boolean; readonly names: readonly string[] }[] {
  const now = new Map(present.map((each) => [wordOf(each), each.isManual]));
  const changed = wanted.filter((each) => now.get(wordOf(each)) === !each.isManual);
  return [true, false]
    .map((isManual) => ({ isManual, names: changed.filter((each) => each.isManual === isManual).map(wordOf) }))
    .filter((mark) => mark.names.length > 0);
}

/** Package files of a manager whose packages cannot be put together again from what is installed. */
export function createPackageFiles<State extends { readonly packages: readonly PackageVersion[] }>(host: {
  readonly database: Asks<State>;
  readonly toInstalled: (state: State) => readonly InstalledPackage[];
  readonly configFiles: PackageFiles["configFiles"];
  /** What follows the name of a file. */
  readonly ending: string;
  /** Says which package a file contains, or why it is not a package. */
  readonly inspect: (path: string, signal: AbortSignal) => Promise<PackageVersion | string>;
  readonly isIntact: (path: string, signal: AbortSignal) => Promise<boolean>;
  readonly cached: (wanted: PackageVersion, signal: AbortSignal) => Promise<readonly string[]>;
  /** Of these what repositories offer, by the lists. */
  readonly offered: (wanted: readonly PackageVersion[], signal: AbortSignal) => Promise<readonly PackageVersion[]>;
  /** Brings what can be had into the directory, with one command. @returns paths. */
  readonly download: (
    wanted: readonly PackageVersion[],
    directory: string,
    signal: AbortSignal,
  ) => Promise<readonly string[]>;
  /** The name of the file in repositories. */
  readonly repositoryName: (wanted: PackageVersion) => string;
  /** Does what is missing. @returns why it was not done, or what failed on the way; else empty. */
  readonly change: (unit: string, left: Missing, progress: Progress, signal: AbortSignal) => Promise<string>;
  readonly mark: (unit: string, wanted: Target["marks"], signal: AbortSignal) => Promise<void>;
  readonly settle: (unit: string, signal: AbortSignal) => Promise<void>;
}): PackageFiles {
  const { database, toInstalled, configFiles, ending, inspect, isIntact, cached, change, mark, settle } = host;
  const { offered, download, repositoryName } = host;

  // With the epoch too, which repositories leave out.
  const fileName = (wanted: PackageVersion): string => `${nevraOf(wanted).replaceAll(":", "%3a")}${ending}`;

  const identify: PackageFiles["identify"] = async (path, signal) => {
    const found = await inspect(path, signal);
    if (typeof found === "string") throw new Error(`${basename(path)} is not a package file: ${found}`);
    return found;
  };

  const isWhole: IsWhole = async (path, wanted, signal) => {
    const found = await inspect(path, signal);
    return typeof found !== "string" && nevraOf(found) === nevraOf(wanted) && isIntact(path, signal);
  };

  /** Downloaded with others before they are fetched one by one. */
  const early = (directory: string): string => join(directory, "early");

  const uncached = async (wanted: readonly PackageVersion[], signal: AbortSignal) => {
    const isCached = async (each: PackageVersion): Promise<boolean> =>
      (await cached(each, signal)).some((path) => existsSync(path));
    const found = await Promise.all(wanted.map(isCached));
    return wanted.filter((_, at) => found[at] === false);
  };
  const offeredOf = async (wanted: readonly PackageVersion[], signal: AbortSignal): Promise<ReadonlySet<string>> =>
    new Set(wanted.length === 0 ? [] : (await offered(wanted, signal)).map(nevraOf));

  return {
    async missing(wanted, signal) {
      const left = await uncached(wanted, signal);
      const found = await offeredOf(left, signal);
      return left.filter((each) => !found.has(nevraOf(each)));
    },

    async prefetch(wanted, directory, signal) {
      const left = await uncached(wanted, signal);
      const found = await offeredOf(left, signal);
      const offers = left.filter((each) => found.has(nevraOf(each)));
      if (offers.length < 2) return;
      const into = early(directory);
      const own = join(into, "download");
      await mkdir(own, { recursive: true });
      for (const path of await download(offers, own, signal)) await rename(path, join(into, basename(path)));
    },

    present: async (signal) => toInstalled(await database(signal)).map((each) => ({ ...each, state: "installed" })),
    configFiles,
    fileName,
    identify,

    async fetch(wanted, directory, signal) {
      const nevra = nevraOf(wanted);
      if (parseNevra(nevra) === undefined || nevra.includes("/"))
        throw new PackageFileMissing(`${JSON.stringify(nevra)} is not a package name`);
      const name = fileName(wanted);
      const fetching = { wanted, isWhole, target: join(directory, name) };
      const sources = {
        cached: [join(early(directory), repositoryName(wanted)), ...(await cached(wanted, signal))],
        download: async (own: string) => (await download([wanted], own, signal))[0],
      };
      const origin = await fetchFile(fetching, sources, signal);
      if (origin !== undefined) return { name, origin };
      throw new PackageFileMissing(`${nevra} is neither in the cache nor in a repository`);
    },

    async restore(target, { id, progress }, signal) {
      const unit = unitFor(id);
      await settle(unit, signal);
      const files = await Promise.all(target.files.map(async (path) => ({ ...(await identify(path, signal)), path })));
      const missing = async (): Promise<Missing> =>
        missingOf({ files, remove: target.remove }, (await database(signal)).packages);
      const isThere = ({ install, remove }: Missing): boolean => install.length + remove.length === 0;

      const left = await missing();
      progress.step(5, "returning to the packages of the snapshot");
      const reason = isThere(left) ? "" : await change(unit, left, progress, signal);
      await mark(unit, target.marks, signal);
      const after = await missing();
      if (isThere(after) && reason === "") return { isDone: true, reason };
      const names = [...after.install, ...after.remove].map(nevraOf).slice(0, 10).join(", ");
      const reasons = [isThere(after) ? "" : `not as in the snapshot: ${names}`, reason].filter((each) => each !== "");
      return { isDone: false, reason: reasons.join("; ") };
    },
  };
}
