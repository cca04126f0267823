import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { CommandOptions, Exec } from "#adapters/exec/index.ts";
import type { PackageCatalog, PackageDetails } from "#domain/ports/package-catalog.ts";
import type { InstalledPackage, PackageVersion } from "#domain/ports/packages.ts";
import { orUndefined } from "#kernel/errors.ts";
import type { Argv, Asks } from "../ports.ts";
import type { RecordStore } from "../record-store.ts";
import { createSearch } from "../search.ts";
import { createCollector } from "./collector.ts";
import { byPreference, type DescribedRpm, describedCount, describedOf, isNative, listsFormat } from "./described.ts";
import { comparePackageVersions, isPackageName } from "./names.ts";
import { orWithoutLists } from "./offers.ts";
import { createPresent } from "./present.ts";
import { createMarks, createRecordReader, parseRecords } from "./records.ts";

const buildMs = 120_000;

export interface RpmCatalogHost {
  readonly exec: Exec;
  readonly rpm: Argv;
  readonly installed: Asks<readonly InstalledPackage[]>;
  /** Changes when the lists, the settings or what is installed do. */
  readonly mark: () => Promise<string>;
  /** Asks for what the lists have, in a format. @throws NoLists. */
  readonly askLists: (
    format: string,
    words: readonly string[],
    signal: AbortSignal,
    options?: Pick<CommandOptions, "onOutput">,
  ) => Promise<string>;
  /** The word with which what is held is in the lists as well. */
  readonly withHeld: string;
  /** Names of packages that are never removed. */
  readonly protectedNames: () => Promise<ReadonlySet<string>>;
  readonly history: PackageCatalog["history"];
}

/** Names in files `*.conf` of folders, one a line. */
export async function namesInFolders(folders: readonly string[]): Promise<readonly string[]> {
  const paths = await Promise.all(
    folders.map(async (folder) =>
      ((await orUndefined(readdir(folder))) ?? [])
        .filter((name) => name.endsWith(".conf"))
        .map((name) => join(folder, name)),
    ),
  );
  const texts = await Promise.all(paths.flat().map((path) => orUndefined(readFile(path, "utf8"))));
  return texts.flatMap((text) => (text ?? "").split("\n").map((line) => line.trim())).filter(isPackageName);
}

interface Wanted {
  readonly name: string;
  readonly architecture: string | undefined;
}

/** `name` or `name:architecture`. */
function wantedOf(text: string): Wanted | undefined {
  const [name = "", architecture, ...more] = text.split(":");
  if (!isPackageName(name) || more.length > 0) return undefined;
  return architecture === undefined || /^\w+$/.test(architecture) ? { name, architecture } : undefined;
}

/** Of packages of one name those of the architecture that is meant, the newest first. */
function chosen<T extends PackageVersion>(all: readonly T[], { name, architecture }: Wanted): readonly T[] {
  const named = all.filter((each) => each.name === name).toSorted(byPreference);
  const [first] = named;
  const isMeant = (each: T): boolean => {
    if (architecture !== undefined) return each.architecture === architecture;
    return first !== undefined && (isNative(first) ? isNative(each) : each.architecture === first.architecture);
  };
  return named.filter(isMeant);
}

function versionsOf(listed: readonly DescribedRpm[], installed: readonly PackageVersion[]): PackageDetails["versions"] {
  const all = new Set([...listed, ...installed].map(({ version }) => version));
  return [...all]
    .sort((one, other) => comparePackageVersions(other, one))
    .map((version) => {
      const repositories = new Set(
        listed.filter((each) => each.version === version).map(({ repository }) => repository),
      );
      const origins = [...repositories].map((location) => ({ location, origin: "", suite: "", component: "" }));
      return { version, origins };
    });
}

function detailsOf(
  record: DescribedRpm,
  rest: Pick<PackageDetails, "installed" | "candidate" | "versions" | "isEssential">,
): PackageDetails {
  const { name, architecture, section, summary, installedBytes, downloadBytes, homepage, description } = record;
  const { packager: maintainer, requires: depends, provides } = record;
  const told = { name, architecture, section, summary, installedBytes, downloadBytes, homepage, description };
  return { ...told, maintainer, depends, provides, priority: "", ...rest };
}

/** What is known of rpm's packages: rpm is asked of those that are installed, and the manager of the lists on the disk. */
export function createRpmCatalog(host: RpmCatalogHost): PackageCatalog {
  const { askLists, withHeld } = host;
  const present = createPresent(host);

  const installedOf = async (wanted: string, signal: AbortSignal): Promise<readonly InstalledPackage[]> => {
    const found = wantedOf(wanted);
    return found === undefined ? [] : chosen(await host.installed(signal), found);
  };

  const build = async (): Promise<RecordStore> => {
    const signal = AbortSignal.timeout(buildMs);
    const collector = createCollector();
    await present.each(collector.take, signal);
    const marks = createMarks();
    const reader = createRecordReader(marks, describedCount, (fields) => collector.take(describedOf(fields)));
    await askLists(listsFormat(marks), ["--available", "--latest-limit=1"], signal, { onOutput: reader.take });
    reader.end();
    return collector.finish();
  };

  /** What the lists have of a name; nothing where there are none. */
  const listed = async (
    wanted: Wanted,
    words: readonly string[],
    signal: AbortSignal,
  ): Promise<readonly DescribedRpm[]> => {
    const marks = createMarks();
    const asked = askLists(listsFormat(marks), ["--available", ...words, "--", wanted.name], signal);
    const found = parseRecords(await orWithoutLists(asked, ""), marks, describedCount).map(describedOf);
    return found.filter(({ name }) => name === wanted.name);
  };

  return {
    search: createSearch({ build, mark: host.mark }),

    async show(text, signal) {
      const wanted = wantedOf(text);
      if (wanted === undefined) return undefined;
      const [installed, everything] = [await installedOf(text, signal), await listed(wanted, [withHeld], signal)];
      const [newest] = installed;
      const meant = {
        ...wanted,
        architecture: wanted.architecture ?? (newest && !isNative(newest) ? newest.architecture : undefined),
      };
      const known = chosen(everything, meant);
      const allowed = known.length === 0 ? [] : chosen(await listed(wanted, [], signal), meant);
      const [candidate] = [...allowed, ...installed].toSorted(byPreference);
      const shown = candidate ?? known[0];
      if (shown === undefined) return undefined;
      const record =
        known.find((each) => each.version === shown.version && each.architecture === shown.architecture) ??
        (await present.described(shown, signal));
      if (record === undefined) return undefined;
      return detailsOf(record, {
        installed: newest && {
          version: newest.version,
          isManual: newest.isManual,
          isHeld: newest.isHeld,
          state: "installed",
        },
        candidate: candidate?.version,
        versions: versionsOf(known, installed),
        isEssential: (await host.protectedNames()).has(record.name),
      });
    },

    async requiring(text, signal) {
      const [found] = await installedOf(text, signal);
      return found === undefined ? [] : present.requiring(found, signal);
    },

    async filesOf(text, signal) {
      const [found] = await installedOf(text, signal);
      return found && (await present.capabilities(found, signal)).files;
    },

    history: host.history,
  };
}
