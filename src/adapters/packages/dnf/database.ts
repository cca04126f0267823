import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import type { InstalledPackage } from "#domain/ports/packages.ts";
import { orUndefined } from "#kernel/errors.ts";
import { contentMark, databaseFiles, namesIn } from "../common/marks.ts";
import { createPattern, nevraOf, splitVersion } from "../rpm/names.ts";
import { byName } from "../rpm/offers.ts";
import { type Asking, type DnfPlaces, withoutRepositories } from "./asking.ts";
import { type InstalledRpm, installedFormat, parseExcludes, parseInstalled, parseVersionLocks } from "./lists.ts";

/** A text that changes when rpm's database or dnf's history does, and not because somebody reads them. */
export async function databaseMark({ databases, history }: DnfPlaces): Promise<string> {
  const files = await databaseFiles(databases);
  const journal = join(history, "history.sqlite-wal");
  const hasJournal = (await orUndefined(stat(journal))) !== undefined;
  // As long as there is a journal, changes are in there, and the file itself is written by readers.
  const last = hasJournal ? journal : join(history, "history.sqlite");
  return (await Promise.all([...files, last].map(contentMark))).join("\n");
}

/** A text that changes when other lists are downloaded. */
export async function listsMark({ lists }: DnfPlaces): Promise<string> {
  const names = await namesIn(lists);
  return (await Promise.all(names.map((name) => contentMark(join(lists, name, "repodata", "repomd.xml"))))).join("\n");
}

export interface RpmDatabase {
  readonly packages: readonly InstalledRpm[];
  /** Whether a package is kept from being changed, by versionlock or as excluded. */
  readonly isHeld: (found: InstalledRpm) => boolean;
  readonly mark: string;
}

const automatic: ReadonlySet<string> = new Set(["dependency", "weak-dependency", "clean"]);

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

export const toInstalled = ({ packages, isHeld }: RpmDatabase): readonly InstalledPackage[] =>
  packages.map((each) => ({
    name: each.name,
    architecture: each.architecture,
    version: each.version,
    isManual: !automatic.has(each.reason),
    isHeld: isHeld(each),
  }));
