import { join } from "node:path";
import { CommandFailed } from "#adapters/exec/command.ts";
import { readTextOrEmpty } from "#adapters/files/index.ts";
import type { PackageCatalog, RequiringPackage } from "#domain/ports/package-catalog.ts";
import { type InstalledPackage, isSameVersion, type PackageVersion } from "#domain/ports/packages.ts";
import { createCatalog, isNative, type Lists, type Present } from "../common/catalog.ts";
import { readRotated } from "../common/rotated-logs.ts";
import { createPattern, nevraOf } from "../common/rpm/names.ts";
import { cannotAsk, type Pacman, toInstalled } from "./host.ts";
import { currentLists, listsMark } from "./lists.ts";
import { parseLog } from "./log.ts";
import { createInfoReader, type DescribedPackage, isPackageName, parseFiles } from "./records.ts";
import { isMeant } from "./simulation.ts";

const markMs = 120_000;

type Entry = Pick<InstalledPackage, "name" | "version">;

/** A name with what it is one of: `painter=3`. */
const provided = (text: string): Entry => {
  const [name = "", version = ""] = text.split("=");
  return { name, version };
};

/** What an installed package is to another one, as pacman says it in `Required By` and `Optional For`. */
function relationTo(own: DescribedPackage, other: DescribedPackage): RequiringPackage["relation"] | undefined {
  const offers: readonly Entry[] = [own, ...own.provides.map(provided)];
  const isFor = (what: string): boolean => offers.some((each) => isMeant(what, each));
  if (other.depends.some(isFor)) return "depends";
  return other.optional.some((each) => isFor(each.split(":", 1)[0] ?? "")) ? "recommends" : undefined;
}

function createPresent({ places, database }: Pacman): Present {
  return {
    each: async (take, signal) => (await database(signal)).packages.forEach(take),
    described: async (wanted, signal) => (await database(signal)).packages.find((each) => isSameVersion(each, wanted)),
    files: async ({ name, version }) =>
      parseFiles(await readTextOrEmpty(join(places.databases, "local", `${name}-${version}`, "files"))),

    async requiring(wanted, signal) {
      const { packages } = await database(signal);
      const own = packages.find((each) => isSameVersion(each, wanted));
      return packages.flatMap((other): readonly RequiringPackage[] => {
        const relation = own === undefined || other.name === own.name ? undefined : relationTo(own, other);
        return relation === undefined ? [] : [{ name: other.name, relation, isAlternative: false }];
      });
    },
  };
}

/** The lists by pacman's own words, in the order of the settings: the first of a name is the one that pacman installs. */
function createLists({ places, tryAsking, database }: Pacman): Lists {
  /** @returns whether there are lists. */
  const listed = async (
    names: readonly string[],
    take: (found: DescribedPackage) => void,
    signal: AbortSignal,
  ): Promise<boolean> => {
    const lists = await currentLists(places);
    if (lists === undefined) return false;
    const reader = createInfoReader(take);
    const words = ["-Si", ...(names.length === 0 ? [] : ["--", ...names])];
    const result = await tryAsking(lists.databases, words, signal, { onOutput: reader.take });
    reader.end();
    if (result.exitCode !== 0 && !/^error: package '.*' was not found$/m.test(result.stderr)) throw cannotAsk(result);
    return true;
  };

  /** Whether a package stays at another version than the one in the lists. */
  const keeping = async (signal: AbortSignal): Promise<(found: PackageVersion) => boolean> => {
    const { packages, isHeld } = await database(signal);
    const held = new Map(packages.filter(isHeld).map(({ name, version }) => [name, version]));
    return ({ name, version }) => (held.get(name) ?? version) !== version;
  };

  return {
    async each(take, signal) {
      const isKept = await keeping(signal);
      const seen = new Set<string>();
      const takeFirst = (found: DescribedPackage): void => {
        if (!seen.has(found.name) && !isKept(found)) take(found);
        seen.add(found.name);
      };
      if (!(await listed([], takeFirst, signal))) throw new CommandFailed("there are no package lists");
    },

    async named(name, signal) {
      const versions: DescribedPackage[] = [];
      await listed([name], (found) => void (found.name === name && versions.push(found)), signal);
      const isKept = await keeping(signal);
      const candidates = versions.slice(0, 1).filter((found) => !isKept(found));
      return { versions, candidates, described: (found) => versions.find((each) => nevraOf(each) === nevraOf(found)) };
    },
  };
}

/** What is known of pacman's packages. */
export function createPacmanCatalog(pacman: Pacman): PackageCatalog {
  const { exec, places, database, settings } = pacman;
  const installed = async (signal: AbortSignal) => toInstalled(await database(signal));
  return createCatalog({
    isPackageName,
    provided: (text) => provided(text).name,
    // To pacman, what is of any architecture is of the host's own.
    isOf: (found, architecture) => found.architecture === architecture || isNative({ architecture }),
    installed,
    async mark() {
      const lists = await currentLists(places);
      return `${(await database(AbortSignal.timeout(markMs))).mark}\n${lists === undefined ? "" : await listsMark(lists)}`;
    },
    present: createPresent(pacman),
    lists: createLists(pacman),
    isProtected: async (name, signal) =>
      (await settings("HoldPkg", signal)).some((pattern) => createPattern(pattern)(name)),
    async *history(signal) {
      const architectures = new Map((await installed(signal)).map(({ name, architecture }) => [name, architecture]));
      const architectureOf = (name: string): string => architectures.get(name) ?? "";
      for await (const log of readRotated(places.log, exec, signal)) yield* parseLog(log, architectureOf).toReversed();
    },
    historyLog: places.log,
  });
}
