import { readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import type { PackageFiles, PackageVersion, PresentPackage } from "#domain/ports/packages.ts";
import { PackageFileMissing } from "#domain/ports/packages.ts";

/** Packages in memory; the files of them are real ones that say which package they are. */
export interface FakePackageFiles extends PackageFiles {
  /** What is on the host. */
  packages: readonly PresentPackage[];
  /** Packages by their configuration files, as paths below /etc. */
  readonly owners: Map<string, string>;
  /** Versions that a repository has, besides those that are installed. */
  readonly repository: PackageVersion[];
  /** Packages that cannot be set up. */
  readonly stubborn: Set<string>;
  /** Called before each package that a restore changes. */
  onChange: () => void;
}

export const presentPackage = (name: string, version: string, rest: Partial<PresentPackage> = {}): PresentPackage => ({
  name,
  architecture: "amd64",
  version,
  state: "installed",
  isManual: true,
  isHeld: false,
  ...rest,
});

const isSame = (one: PackageVersion, other: PackageVersion): boolean =>
  one.name === other.name && one.architecture === other.architecture && one.version === other.version;
const isVersion = (value: unknown): value is PackageVersion =>
  typeof value === "object" && value !== null && "name" in value && "architecture" in value && "version" in value;

const fileName: PackageFiles["fileName"] = ({ name, version }) => `${encodeURIComponent(`${name}-${version}`)}.package`;

/** Package files of a host in memory. */
export function createFakePackageFiles(
  packages: readonly PresentPackage[] = [],
  { isBuildable = true }: { readonly isBuildable?: boolean } = {},
): FakePackageFiles {
  const put = (wanted: PackageVersion, state: PresentPackage["state"]): void => {
    fake.onChange();
    const isOther = (each: PresentPackage): boolean => each.name !== wanted.name;
    fake.packages = [
      ...fake.packages.filter(isOther),
      presentPackage(wanted.name, wanted.version, { ...wanted, state }),
    ];
  };
  const fake: FakePackageFiles = {
    packages,
    repository: [],
    stubborn: new Set(),
    onChange: () => undefined,
    owners: new Map(),
    present: () => Promise.resolve(fake.packages),
    configFiles: () => Promise.resolve(fake.owners),
    fileName,
    ...(!isBuildable && {
      missing: (wanted) => Promise.resolve(wanted.filter((each) => !fake.repository.some((one) => isSame(one, each)))),
    }),
    async fetch({ name, architecture, version, state }, directory) {
      const wanted = { name, architecture, version };
      const isOffered = state !== "configuration" && fake.repository.some((each) => isSame(each, wanted));
      if (!isOffered && !(isBuildable && fake.packages.some((each) => isSame(each, wanted) && each.state === state))) {
        throw new PackageFileMissing(`${name} ${version} is nowhere`);
      }
      const file = fileName(wanted);
      await writeFile(join(directory, file), JSON.stringify(wanted));
      return { name: file, origin: isOffered ? "repository" : "installed" };
    },
    async identify(path) {
      let found: unknown;
      try {
        found = JSON.parse(await readFile(path, "utf8"));
      } catch (error) {
        throw new Error(`${path} is not a package file`, { cause: error });
      }
      if (!isVersion(found)) throw new Error(`${path} is not a package file`);
      return found;
    },
    async restore(target, _, signal) {
      for (const path of target.files) {
        const wanted = await fake.identify(path, signal);
        // As package managers do.
        if (basename(path) !== fileName(wanted)) throw new Error(`${path} is not called as package files are`);
        const found = fake.packages.find((each) => isSame(each, wanted));
        if (found?.state === "installed") continue;
        put(wanted, fake.stubborn.has(wanted.name) ? "unfinished" : "installed");
      }
      for (const path of target.configuration) put(await fake.identify(path, signal), "configuration");
      fake.packages = fake.packages.filter(
        (each) =>
          !target.remove.some(
            ({ name, architecture, version }) =>
              name === each.name && architecture === each.architecture && version === each.version,
          ),
      );
      const marks = new Map(target.marks.map((each) => [`${each.name}:${each.architecture}`, each]));
      fake.packages = fake.packages.map((each) => {
        const { isManual, isHeld } = marks.get(`${each.name}:${each.architecture}`) ?? each;
        return { ...each, isManual, isHeld };
      });
      const left = fake.packages.filter(({ state }) => state === "unfinished");
      const reason = left.map(({ name }) => `${name} cannot be set up`).join("; ");
      return { isDone: left.length === 0, reason };
    },
  };
  return fake;
}
