import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Exec } from "#adapters/exec/index.ts";
import type { PackageCatalog, PackageDetails } from "#domain/ports/package-catalog.ts";
import type { InstalledPackage, PackageVersion } from "#domain/ports/packages.ts";
import { orUndefined } from "#kernel/errors.ts";
import type { Argv, Asks } from "../ports.ts";
import { copyOf, createRecordStore, type RecordStore } from "../record-store.ts";
import { missingLog } from "../rotated-logs.ts";
import { createSearch, toText } from "../search.ts";
import { byPreference, type DescribedRpm, isNative } from "./described.ts";
import { comparePackageVersions, isPackageName, nevraOf, type Wanted, wantedOf } from "./names.ts";
import { createPresent } from "./present.ts";

/** Sonames and the like are for programs to find, and would be most of what is kept. */
const isForPeople = (capability: string): boolean => !/\.so[.(]/.test(capability) && !capability.startsWith("config(");

/** Collects the candidate of each name. */
export function createCollector() {
  const store = createRecordStore();
  const taken = new Map<string, PackageVersion & { readonly at: number; readonly isInstalled: boolean }>();
  return {
    take: (found: DescribedRpm): void => {
      const { name, version, architecture, description, provides } = found;
      if (!isPackageName(name) || name === "gpg-pubkey") return;
      const isInstalled = found.repository === "";
      const other = taken.get(name);
      const order = other === undefined ? -1 : byPreference(found, other);
      // The lists say more of the same version: how much there is to download.
      if (order > 0 || (order === 0 && (isInstalled || other?.isInstalled !== true))) return;
      if (other !== undefined) store.drop(other.at);
      const kept = { name: copyOf(name), version: copyOf(version), architecture: copyOf(architecture) };
      taken.set(kept.name, { ...kept, at: store.count(), isInstalled });
      const capabilities = provides.map((each) => each.split(" ", 1)[0] ?? "").filter(isForPeople);
      store.add(name, toText(found), [name, ...capabilities, found.summary, description].join("\n"));
    },
    finish(): RecordStore {
      store.trim();
      return store;
    },
  };
}

const buildMs = 120_000;

/** A version that can be had. */
export type ListedRpm = PackageVersion & Pick<DescribedRpm, "repository">;

/** What the lists have of one name; nothing where there are none. */
export interface ListedName {
  /** All versions, those that are held as well. */
  readonly versions: readonly ListedRpm[];
  /** Of these, the ones that may be installed. */
  readonly candidates: readonly PackageVersion[];
  /** Undefined where the lists say no more of it. */
  readonly described: (found: PackageVersion) => DescribedRpm | undefined;
}

/** The lists of packages on the disk. */
export interface RpmLists {
  /** Tells of the candidate of each name, and may tell of more. @throws NoLists. */
  readonly each: (take: (found: DescribedRpm) => void, signal: AbortSignal) => Promise<void>;
  readonly named: (name: string, signal: AbortSignal) => Promise<ListedName>;
}

export interface RpmCatalogHost {
  readonly exec: Exec;
  readonly rpm: Argv;
  readonly installed: Asks<readonly InstalledPackage[]>;
  /** Changes when the lists, the settings or what is installed do. */
  readonly mark: () => Promise<string>;
  readonly lists: RpmLists;
  /** Names of packages that are never removed. */
  readonly protectedNames: () => Promise<ReadonlySet<string>>;
  readonly history: PackageCatalog["history"];
  /** The file that it is read from. */
  readonly historyLog: string;
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

function versionsOf(listed: readonly ListedRpm[], installed: readonly PackageVersion[]): PackageDetails["versions"] {
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
  const { lists } = host;
  const present = createPresent(host);

  const installedOf = async (wanted: string, signal: AbortSignal): Promise<readonly InstalledPackage[]> => {
    const found = wantedOf(wanted);
    return found === undefined ? [] : chosen(await host.installed(signal), found);
  };

  const build = async (): Promise<RecordStore> => {
    const signal = AbortSignal.timeout(buildMs);
    const collector = createCollector();
    await present.each(collector.take, signal);
    await lists.each(collector.take, signal);
    return collector.finish();
  };

  return {
    search: createSearch({ build, mark: host.mark }),

    async show(text, signal) {
      const wanted = wantedOf(text);
      if (wanted === undefined) return undefined;
      const [installed, listed] = [await installedOf(text, signal), await lists.named(wanted.name, signal)];
      const [newest] = installed;
      const meant = {
        ...wanted,
        architecture: wanted.architecture ?? (newest && !isNative(newest) ? newest.architecture : undefined),
      };
      const known = chosen(listed.versions, meant);
      const [candidate] = [...chosen(listed.candidates, meant), ...installed].toSorted(byPreference);
      const shown = candidate ?? known[0];
      if (shown === undefined) return undefined;
      const told = listed.described(shown);
      // Lists that do not say how much there is to download say less than rpm.
      const isBetter = told?.downloadBytes === undefined && installed.some((each) => nevraOf(each) === nevraOf(shown));
      const record = isBetter ? await present.described(shown, signal) : told;
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
    historyMissing: () => missingLog(host.historyLog),
  };
}
