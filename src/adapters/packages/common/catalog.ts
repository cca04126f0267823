import { machine } from "node:os";
import type { FoundPackage, PackageCatalog, PackageDetails, RequiringPackage } from "#domain/ports/package-catalog.ts";
import type { InstalledPackage, PackageVersion } from "#domain/ports/packages.ts";
import type { Asks } from "./ports.ts";
import { copyOf, createRecordStore, type RecordStore } from "./record-store.ts";
import { missingLog } from "./rotated-logs.ts";
import { comparePackageVersions, nevraOf, type Wanted, wantedOf } from "./rpm/names.ts";
import { createSearch, toText } from "./search.ts";

/** What a manager or its lists say of a package. */
export interface Described extends FoundPackage {
  /** Where it can be had; empty for one that is installed. */
  readonly repository: string;
  readonly packager: string;
  readonly homepage: string;
  readonly depends: readonly string[];
  readonly provides: readonly string[];
  readonly description: string;
}

/** The host's own architecture, in the words of rpm and pacman. */
const native = machine();
export const isNative = ({ architecture }: Pick<PackageVersion, "architecture">): boolean =>
  [native, "noarch", "any"].includes(architecture);

/** The host's own architecture before others, then the newest version. Negative where the first comes first. */
export const byPreference = (one: PackageVersion, other: PackageVersion): number =>
  Number(isNative(other)) - Number(isNative(one)) || comparePackageVersions(other.version, one.version);

/** Sonames and the like are for programs to find, and would be most of what is kept. */
const isForPeople = (capability: string): boolean => !/\.so[.(]/.test(capability) && !capability.startsWith("config(");

/** Collects the candidate of each name. */
export function createCollector({ isPackageName, provided }: Pick<CatalogHost, "isPackageName" | "provided">) {
  const store = createRecordStore();
  const taken = new Map<string, PackageVersion & { readonly at: number; readonly isInstalled: boolean }>();
  return {
    take: (found: Described): void => {
      const { name, version, architecture, description, provides } = found;
      if (!isPackageName(name)) return;
      const isInstalled = found.repository === "";
      const other = taken.get(name);
      const order = other === undefined ? -1 : byPreference(found, other);
      // The lists say more of the same version: how much there is to download.
      if (order > 0 || (order === 0 && (isInstalled || other?.isInstalled !== true))) return;
      if (other !== undefined) store.drop(other.at);
      const kept = { name: copyOf(name), version: copyOf(version), architecture: copyOf(architecture) };
      taken.set(kept.name, { ...kept, at: store.count(), isInstalled });
      const sought = new Set([name, ...provides.map(provided).filter(isForPeople), found.summary, description]);
      store.add(name, toText(found), [...sought].join("\n"));
    },
    finish(): RecordStore {
      store.trim();
      return store;
    },
  };
}

const buildMs = 120_000;

/** A version that can be had. */
export type ListedVersion = PackageVersion & Pick<Described, "repository">;

/** What the lists have of one name; nothing where there are none. */
export interface ListedName {
  /** All versions, those that are held as well. */
  readonly versions: readonly ListedVersion[];
  /** Of these, the ones that may be installed. */
  readonly candidates: readonly PackageVersion[];
  /** Undefined where the lists say no more of it. */
  readonly described: (found: PackageVersion) => Described | undefined;
}

/** The lists of packages on the disk. */
export interface Lists {
  /** Reports the candidate of each name, and may report more. @throws NoLists. */
  readonly each: (take: (found: Described) => void, signal: AbortSignal) => Promise<void>;
  readonly named: (name: string, signal: AbortSignal) => Promise<ListedName>;
}

/** What there is to know of those that are installed. */
export interface Present {
  readonly each: Lists["each"];
  /** Exactly one of them. */
  readonly described: (found: PackageVersion, signal: AbortSignal) => Promise<Described | undefined>;
  readonly requiring: (found: PackageVersion, signal: AbortSignal) => Promise<readonly RequiringPackage[]>;
  readonly files: (found: PackageVersion, signal: AbortSignal) => Promise<readonly string[]>;
}

export interface CatalogHost {
  readonly isPackageName: (text: string) => boolean;
  /** The name in what a package provides. */
  readonly provided: (text: string) => string;
  /** Whether one that was asked for with this architecture is meant. */
  readonly isOf: (found: PackageVersion, architecture: string) => boolean;
  readonly installed: Asks<readonly InstalledPackage[]>;
  /** Changes when the lists, the settings or what is installed do. */
  readonly mark: () => Promise<string>;
  readonly present: Present;
  readonly lists: Lists;
  /** Whether a package is never removed. */
  readonly isProtected: (name: string, signal: AbortSignal) => Promise<boolean>;
  readonly history: PackageCatalog["history"];
  /** The file that it is read from. */
  readonly historyLog: string;
}

/** Of packages of one name those of the architecture that is meant, the newest first. */
function chosen<T extends PackageVersion>(
  all: readonly T[],
  { name, architecture }: Wanted,
  isOf: CatalogHost["isOf"],
): readonly T[] {
  const named = all.filter((each) => each.name === name).toSorted(byPreference);
  const [first] = named;
  const isMeant = (each: T): boolean => {
    if (architecture !== undefined) return isOf(each, architecture);
    return first !== undefined && (isNative(first) ? isNative(each) : each.architecture === first.architecture);
  };
  return named.filter(isMeant);
}

function versionsOf(
  listed: readonly ListedVersion[],
  installed: readonly PackageVersion[],
): PackageDetails["versions"] {
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
  record: Described,
  rest: Pick<PackageDetails, "installed" | "candidate" | "versions" | "isEssential">,
): PackageDetails {
  const { name, architecture, section, summary, installedBytes, downloadBytes, homepage, description } = record;
  const { packager: maintainer, depends, provides } = record;
  const reported = { name, architecture, section, summary, installedBytes, downloadBytes, homepage, description };
  return { ...reported, maintainer, depends, provides, priority: "", ...rest };
}

/** What is known of packages, by those that are installed and the lists on the disk. */
export function createCatalog(host: CatalogHost): PackageCatalog {
  const { lists, present, isOf } = host;

  const installedOf = async (wanted: string, signal: AbortSignal): Promise<readonly InstalledPackage[]> => {
    const found = wantedOf(wanted, host.isPackageName);
    return found === undefined ? [] : chosen(await host.installed(signal), found, isOf);
  };

  const build = async (): Promise<RecordStore> => {
    const signal = AbortSignal.timeout(buildMs);
    const collector = createCollector(host);
    await present.each(collector.take, signal);
    await lists.each(collector.take, signal);
    return collector.finish();
  };

  return {
    search: createSearch({ build, mark: host.mark }),

    async show(text, signal) {
      const wanted = wantedOf(text, host.isPackageName);
      if (wanted === undefined) return undefined;
      const [installed, listed] = [await installedOf(text, signal), await lists.named(wanted.name, signal)];
      const [newest] = installed;
      const meant = {
        ...wanted,
        architecture: wanted.architecture ?? (newest && !isNative(newest) ? newest.architecture : undefined),
      };
      const known = chosen(listed.versions, meant, isOf);
      const [candidate] = [...chosen(listed.candidates, meant, isOf), ...installed].toSorted(byPreference);
      const shown = candidate ?? known[0];
      if (shown === undefined) return undefined;
      const reported = listed.described(shown);
      // Lists that do not say how much there is to download say less than what is installed.
      const isBetter =
        reported?.downloadBytes === undefined && installed.some((each) => nevraOf(each) === nevraOf(shown));
      const record = isBetter ? await present.described(shown, signal) : reported;
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
        isEssential: await host.isProtected(record.name, signal),
      });
    },

    async requiring(text, signal) {
      const [found] = await installedOf(text, signal);
      return found === undefined ? [] : present.requiring(found, signal);
    },

    async filesOf(text, signal) {
      const [found] = await installedOf(text, signal);
      return found && present.files(found, signal);
    },

    history: host.history,
    historyMissing: () => missingLog(host.historyLog),
  };
}
