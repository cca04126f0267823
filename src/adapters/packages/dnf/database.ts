import { readFile } from "node:fs/promises";
import type { InstalledPackage } from "#domain/ports/packages.ts";
import { orUndefined } from "#kernel/errors.ts";
import { byName } from "../rpm/advice.ts";
import { createPattern, nevraOf } from "../rpm/names.ts";
import { splitVersion } from "../rpm/version.ts";
import type { Asking } from "./asking.ts";
import { withoutRepositories } from "./asking.ts";
import type { InstalledRpm } from "./lists.ts";
import { installedFormat, parseExcludes, parseInstalled, parseVersionLocks } from "./lists.ts";
import { databaseMark } from "./marks.ts";
import type { DnfPlaces } from "./places.ts";

/** What is installed. */
export interface RpmDatabase {
  /** The newest of several versions of one package comes last. */
  readonly packages: readonly InstalledRpm[];
  /** Whether a package is kept from being changed, by versionlock or as excluded. */
  readonly isHeld: (found: InstalledRpm) => boolean;
  /** The same for as long as nothing has changed. */
  readonly mark: string;
}

/** Those that nobody asked for by name. */
const automatic: ReadonlySet<string> = new Set(["dependency", "weak-dependency", "clean"]);

/** Forms in which settings may name a package. */
function formsOf(found: InstalledRpm): readonly string[] {
  const { name, architecture, version } = found;
  const { epoch, version: main, release } = splitVersion(version);
  const whole = `${name}-${epoch}:${main}-${release}`;
  return [name, `${name}.${architecture}`, nevraOf(found), `${whole}.${architecture}`, whole, `${name}-${main}`];
}

/** Reads what is installed, and what has not changed only once. */
export function createDatabase({ ask, places }: Pick<Asking, "ask"> & { readonly places: DnfPlaces }) {
  let last: { readonly mark: string; readonly packages: readonly InstalledRpm[] } | undefined;

  const patternsIn = async (): Promise<readonly ((text: string) => boolean)[]> => {
    const [locks, settings] = await Promise.all(
      [places.versionLocks, places.mainSettings].map((path) => orUndefined(readFile(path, "utf8"))),
    );
    return [...parseVersionLocks(locks ?? ""), ...parseExcludes(settings ?? "")].map(createPattern);
  };

  return async (signal: AbortSignal): Promise<RpmDatabase> => {
    const mark = await databaseMark(places);
    if (last?.mark !== mark) {
      // What is excluded is there all the same.
      const all = [withoutRepositories, "--disableexcludes=all"];
      const words = ["repoquery", ...all, "--installed", `--queryformat=${installedFormat}`];
      last = { mark, packages: parseInstalled(await ask(words, signal)).toSorted(byName) };
    }
    const patterns = await patternsIn();
    return {
      packages: last.packages,
      isHeld: (found) => patterns.some((matches) => formsOf(found).some(matches)),
      mark,
    };
  };
}

/** As the ports have it. */
export const toInstalled = ({ packages, isHeld }: RpmDatabase): readonly InstalledPackage[] =>
  packages.map((each) => ({
    name: each.name,
    architecture: each.architecture,
    version: each.version,
    isManual: !automatic.has(each.reason),
    isHeld: isHeld(each),
  }));
