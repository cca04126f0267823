import { machine } from "node:os";
import { join } from "node:path";
import { CommandFailed } from "#adapters/exec/command.ts";
import { readTextOrEmpty } from "#adapters/files/index.ts";
import type { PackageCatalog, PackageDetails, RequiringPackage } from "#domain/ports/package-catalog.ts";
import type { InstalledPackage } from "#domain/ports/packages.ts";
import { copyOf, createRecordStore, type RecordStore } from "../common/record-store.ts";
import { missingLog, readRotated } from "../common/rotated-logs.ts";
import { comparePackageVersions, createPattern } from "../common/rpm/names.ts";
import { createSearch, toText } from "../common/search.ts";
import { cannotAsk, type Pacman, toInstalled } from "./host.ts";
import { currentLists, listsMark } from "./lists.ts";
import { parseLog } from "./log.ts";
import { createInfoReader, type DescribedPackage, isPackageName, parseFiles, parseInstalled } from "./records.ts";
import { isMeant } from "./simulation.ts";

const buildMs = 120_000;
const atOnce = 64;

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

function versionsOf(listed: readonly DescribedPackage[], installed: Entry | undefined): PackageDetails["versions"] {
  const all = new Set([...listed, ...(installed === undefined ? [] : [installed])].map(({ version }) => version));
  return [...all]
    .sort((one, other) => comparePackageVersions(other, one))
    .map((version) => ({
      version,
      origins: listed
        .filter((each) => each.version === version)
        .map(({ repository }) => ({ location: repository, origin: "", suite: "", component: "" })),
    }));
}

/** Whether what is installed stays where a list has another version: it is held, or the newer one. */
const stays = (installed: InstalledPackage, listed: Entry): boolean =>
  installed.isHeld || comparePackageVersions(installed.version, listed.version) >= 0;

/** Reads what pacman has of packages: its own lists by its own words, and what is installed in its database. */
function createReading(pacman: Pacman) {
  const { places, tryAsking } = pacman;
  const local = join(places.databases, "local");
  const entryFile = ({ name, version }: Entry, file: string) =>
    readTextOrEmpty(join(local, `${name}-${version}`, file));

  const described = async (entry: Entry) => parseInstalled(await entryFile(entry, "desc"));

  /** In the order of the settings, in which the first of a name is the one that pacman installs. @returns whether there are lists. */
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

  return {
    described,
    listed,
    files: async (entry: Entry) => parseFiles(await entryFile(entry, "files")),
    async each(entries: readonly Entry[], take: (found: DescribedPackage) => void, signal: AbortSignal): Promise<void> {
      for (let at = 0; at < entries.length; at += atOnce) {
        signal.throwIfAborted();
        for (const found of await Promise.all(entries.slice(at, at + atOnce).map(described)))
          if (found !== undefined) take(found);
      }
    },
  };
}

type Reading = ReturnType<typeof createReading>;

async function buildIndex(reading: Reading, installed: readonly InstalledPackage[]): Promise<RecordStore> {
  const signal = AbortSignal.timeout(buildMs);
  const store = createRecordStore();
  const present = new Map(installed.map((each) => [each.name, each]));
  const taken = new Set<string>();
  const add = (found: DescribedPackage): void => {
    const name = copyOf(found.name);
    if (taken.has(name) || !isPackageName(name)) return;
    taken.add(name);
    const names = [name, ...found.provides.map((each) => provided(each).name)];
    store.add(name, toText(found), [...names, found.summary].join("\n"));
  };
  const addListed = (found: DescribedPackage): void => {
    const own = present.get(found.name);
    if (own === undefined || own.version === found.version || !stays(own, found)) add(found);
  };
  if (!(await reading.listed([], addListed, signal))) throw new CommandFailed("there are no package lists");
  const rest = installed.filter(({ name }) => !taken.has(name));
  await reading.each(rest, add, signal);
  store.trim();
  return store;
}

/** `name` or `name:architecture`. */
function wantedOf(text: string): { readonly name: string; readonly architecture: string | undefined } | undefined {
  const [name = "", architecture, ...more] = text.split(":");
  return isPackageName(name) && more.length === 0 ? { name, architecture } : undefined;
}

/** To pacman, what is of any architecture is of the host's own. */
const isMeantBy = (architecture: string | undefined, found: Pick<DescribedPackage, "architecture">): boolean =>
  architecture === undefined || [found.architecture, machine(), "any"].includes(architecture);

/** What is known of pacman's packages. */
export function createCatalog(pacman: Pacman): PackageCatalog {
  const { exec, places, database, settings } = pacman;
  const reading = createReading(pacman);
  const installed = async (signal: AbortSignal) => toInstalled(await database(signal));

  /** What is installed of a name. */
  const presentOf = async (text: string, signal: AbortSignal): Promise<InstalledPackage | undefined> => {
    const wanted = wantedOf(text);
    return (await installed(signal)).find((each) => each.name === wanted?.name && isMeantBy(wanted.architecture, each));
  };
  const isKept = async (name: string, signal: AbortSignal): Promise<boolean> =>
    ((await settings(["HoldPkg"], signal))[0] ?? []).some((pattern) => createPattern(pattern)(name));

  return {
    search: createSearch({
      build: async () => buildIndex(reading, await installed(AbortSignal.timeout(buildMs))),
      async mark() {
        const lists = await currentLists(places);
        return `${(await database(AbortSignal.timeout(buildMs))).mark}\n${lists === undefined ? "" : await listsMark(lists)}`;
      },
    }),

    async show(text, signal) {
      const wanted = wantedOf(text);
      if (wanted === undefined) return undefined;
      const found: DescribedPackage[] = [];
      await reading.listed([wanted.name], (each) => found.push(each), signal);
      const listed = found.filter((each) => each.name === wanted.name && isMeantBy(wanted.architecture, each));
      const present = await presentOf(text, signal);
      const [first] = listed;
      const isOwn = present !== undefined && (first === undefined || stays(present, first));
      const shown = (isOwn ? listed.find(({ version }) => version === present.version) : first) ?? undefined;
      const record = shown ?? (present && (await reading.described(present)));
      if (record === undefined) return undefined;
      const { packager: maintainer, optional: _optional, repository: _repository, version, summary, ...rest } = record;
      return {
        ...rest,
        summary,
        description: summary,
        maintainer,
        priority: "",
        installed: present && {
          version: present.version,
          isManual: present.isManual,
          isHeld: present.isHeld,
          state: "installed",
        },
        candidate: version,
        versions: versionsOf(listed, present),
        isEssential: await isKept(record.name, signal),
      };
    },

    async requiring(text, signal) {
      const present = await presentOf(text, signal);
      const own = present && (await reading.described(present));
      if (own === undefined) return [];
      const found: RequiringPackage[] = [];
      const take = (other: DescribedPackage): void => {
        const relation = other.name === own.name ? undefined : relationTo(own, other);
        if (relation !== undefined) found.push({ name: other.name, relation, isAlternative: false });
      };
      await reading.each(await installed(signal), take, signal);
      return found.sort((one, other) => (one.name < other.name ? -1 : 1));
    },

    async filesOf(text, signal) {
      const present = await presentOf(text, signal);
      return present && reading.files(present);
    },

    historyMissing: () => missingLog(places.log),

    async *history(signal) {
      const architectures = new Map((await installed(signal)).map(({ name, architecture }) => [name, architecture]));
      const architectureOf = (name: string): string => architectures.get(name) ?? "";
      for await (const log of readRotated(places.log, exec, signal)) yield* parseLog(log, architectureOf).toReversed();
    },
  };
}
