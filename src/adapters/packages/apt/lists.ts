import { lstat, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Exec } from "#adapters/exec/index.ts";
import { readTextOrEmpty } from "#adapters/files/index.ts";
import type { PackageLists } from "#domain/ports/packages.ts";
import { orUndefined } from "#kernel/errors.ts";
import { askWhole, ManagerRefuses } from "../common/asking.ts";
import { marksOf, rememberByMark } from "../common/marks.ts";
import { type AptPaths, onlyAsking } from "./arguments.ts";
import { failureReason } from "./output.ts";
import { isSecurity } from "./policy.ts";
import { parseReleaseHead } from "./release.ts";

const askMs = 30_000;

/** What apt refreshes as one: a suite of an archive, or a directory with packages. */
export interface Source {
  /** Without credentials: `mirror+file:/etc/apt/mirrors/debian.list/dists/bookworm/`. */
  readonly address: string;
  /** Its Release file among the lists has this name, followed by `InRelease` or `Release`. */
  readonly file: string;
}

/** What `apt-get update --print-uris` lists: sources that are enabled, also those of which there are no lists yet. */
export function parseSources(text: string): readonly Source[] {
  const lines = text.matchAll(/^'(.+\/)InRelease' (\S+_)InRelease /gm);
  const sources = [...lines].map(([, address = "", file = ""]) => {
    return { address: address.replace(/^([^:]+:\/\/)[^/@]*@/, "$1"), file };
  });
  return [...new Map(sources.map((source) => [source.file, source])).values()];
}

/** Of directories and discs nothing is fetched. A list of mirrors may be a file, the mirrors are not. */
const isRemote = ({ address }: Source): boolean => !/^(?:file|copy|cdrom):/.test(address);

interface Release {
  readonly source: Source;
  /** Undefined where nothing was ever fetched. */
  readonly path: string | undefined;
  readonly changedAt: number;
}

async function findRelease(lists: string, source: Source): Promise<Release> {
  for (const name of ["InRelease", "Release"]) {
    const path = join(lists, source.file + name);
    const file = await orUndefined(lstat(path));
    if (file !== undefined) return { source, path, changedAt: file.ctimeMs };
  }
  return { source, path: undefined, changedAt: 0 };
}

async function isOfSecurity({ source, path }: Release): Promise<boolean> {
  // `buster/updates` is how Debian named them until its release 10.
  const suite = /\/dists\/(.+)\/$/.exec(source.address)?.[1] ?? "";
  const head = parseReleaseHead(path === undefined ? "" : await readTextOrEmpty(path));
  return isSecurity(head) || /(?:-security|\/updates)$/.test(suite);
}

const isList = (name: string): boolean => !["lock", "partial", "auxfiles"].includes(name);

const modifiedAt = async (path: string): Promise<number> => (await orUndefined(stat(path)))?.mtimeMs ?? 0;

export interface Lists {
  /** Their directory, which settings may move. */
  readonly directory: () => Promise<string>;
  /** Of all sources that are enabled. @throws CommandFailed where apt cannot read them. */
  readonly sources: () => Promise<readonly Source[]>;
  readonly refreshedAt: PackageLists["refreshedAt"];
}

export function createLists({ exec, paths }: { readonly exec: Exec; readonly paths: AptPaths }): Lists {
  const rememberedDirectory = rememberByMark<string>();
  const rememberedSources = rememberByMark<readonly Source[]>();

  const directory = async (): Promise<string> =>
    rememberedDirectory(await marksOf(paths.settings), async () => {
      const argv = ["/usr/bin/apt-config", "shell", "lists", "Dir::State::Lists/d"] as const;
      const { stdout } = await exec(argv, { timeoutMs: askMs });
      return /^lists='(\/[^']*?)\/?'$/m.exec(stdout)?.[1] ?? paths.lists;
    });

  const sources = async (): Promise<readonly Source[]> =>
    rememberedSources(await marksOf(paths.settings), async () => {
      const argv = ["/usr/bin/apt-get", ...onlyAsking, "update", "--print-uris"] as const;
      const { exitCode, stdout, stderr } = await askWhole({ exec, manager: "apt" }, argv, AbortSignal.timeout(askMs));
      const found = parseSources(stdout);
      // One source that has no method to be fetched with is left out, and does not hide the others.
      if (exitCode !== 0 && found.length === 0) throw new ManagerRefuses("apt", failureReason(stderr, exitCode));
      return found;
    });

  return {
    directory,
    sources,

    /** Apt touches the Release file of each source that answered as it should, unless nobody has signed it. */
    async refreshedAt(of) {
      const lists = await directory();
      const names = ((await orUndefined(readdir(lists))) ?? []).filter(isList);
      if (names.length === 0) return undefined;
      const remote = (await sources()).filter(isRemote);
      const all = await Promise.all(remote.map((source) => findRelease(lists, source)));
      const areOfSecurity = of === "security" ? await Promise.all(all.map(isOfSecurity)) : [];
      const security = all.filter((_, index) => areOfSecurity[index]);
      if (security.some(({ path }) => path === undefined)) return undefined;
      const counted = (security.length > 0 ? security : all).filter(({ path }) => path !== undefined);
      const at = counted.length > 0 ? Math.min(...counted.map(({ changedAt }) => changedAt)) : await modifiedAt(lists);
      return Math.max(at, await modifiedAt(paths.refreshStamp));
    },
  };
}

/** Release files by their names, with their signatures, as marks that change when they do. */
export async function releaseMarks(lists: string): Promise<ReadonlyMap<string, string>> {
  const names = ((await orUndefined(readdir(lists))) ?? []).filter((name) =>
    /_(?:InRelease|Release(?:\.gpg)?)$/.test(name),
  );
  return new Map(await Promise.all(names.map(async (name) => [name, await marksOf([join(lists, name)])] as const)));
}

/**
 * Sources that gave an older Release file than the known one: a mirror that lags behind, or somebody who withholds updates. Apt does
 * not report it, and leaves the file alone, which it touches otherwise. One that nobody has signed it touches only where it is
 * new, and reports as `Hit` where it is the same.
 * @param output of a refresh that reached all sources.
 */
export function olderReleases(
  sources: readonly Source[],
  {
    before,
    after,
    output,
  }: {
    readonly before: ReadonlyMap<string, string>;
    readonly after: ReadonlyMap<string, string>;
    readonly output: string;
  },
): readonly string[] {
  const same = [...output.matchAll(/^Hit:\d+ \S+ (\S+) Release\b/gm)].map(([, suite = ""]) =>
    suite.endsWith("/") ? `/${suite}` : `/dists/${suite}/`,
  );
  const isOlder = (source: Source, name: string): boolean => {
    if (!before.has(name) || before.get(name) !== after.get(name)) return false;
    if (name.endsWith("_InRelease") || after.has(`${name}.gpg`)) return !source.address.startsWith("cdrom:");
    return isRemote(source) && !same.some((path) => source.address.endsWith(path));
  };
  return sources
    .filter((source) => ["InRelease", "Release"].some((name) => isOlder(source, source.file + name)))
    .map(({ address }) => address);
}
