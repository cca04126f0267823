import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { PackageUpdates } from "#domain/health/ports.ts";
import type { PackageChange, PackageVersion } from "#domain/updates/ports.ts";
import { isMissing, marksOf, orUndefined } from "../files.ts";
import type { Asking } from "./asking.ts";
import { NoLists } from "./asking.ts";
import type { createDatabase, RpmDatabase } from "./database.ts";
import type { AdvisedRpm } from "./lists.ts";
import { parseAdvisories, parseCheckUpdate } from "./lists.ts";
import { listsMark } from "./marks.ts";
import { keyOf } from "./names.ts";
import type { DnfPlaces } from "./places.ts";
import { comparePackageVersions } from "./version.ts";

/** What the lists on disk offer for what is installed. */
export interface Offers {
  /** What an upgrade would bring, held packages left out. */
  readonly updates: readonly PackageChange[];
  /** Versions that close security holes, newer than what is installed, those of held packages too. */
  readonly advised: readonly AdvisedRpm[];
  readonly database: RpmDatabase;
}

/** What is installed of each package, the newest of it. */
export const newestOf = ({ packages }: Pick<RpmDatabase, "packages">) =>
  new Map(packages.map((each) => [keyOf(each), each]));

/** Whether going to a version closes a hole: an advisory is for it or for one on the way. */
export const isSecurityStep = (to: PackageVersion, advised: readonly PackageVersion[], from: string | null): boolean =>
  advised.some(
    (each) =>
      keyOf(each) === keyOf(to) &&
      comparePackageVersions(each.version, to.version) <= 0 &&
      (from === null || comparePackageVersions(each.version, from) > 0),
  );

/** When the lists were last brought up to date; undefined where there are none. */
export async function listsAt({ lists }: Pick<DnfPlaces, "lists">): Promise<number | undefined> {
  const names = (await orUndefined(readdir(lists), isMissing)) ?? [];
  const times = await Promise.all(names.map((name) => newestIn(join(lists, name, "repodata"))));
  const known = times.filter((time) => time !== undefined);
  // The oldest of several lists is what counts.
  return known.length === 0 ? undefined : Math.min(...known);
}

/** Where dnf has asked and nothing was new, it sets the time of one of the files. */
async function newestIn(folder: string): Promise<number | undefined> {
  const names = (await orUndefined(readdir(folder), isMissing)) ?? [];
  const files = await Promise.all(names.map((name) => orUndefined(stat(join(folder, name)), isMissing)));
  const times = files.flatMap((file) => file?.mtimeMs ?? []);
  return times.length === 0 ? undefined : Math.floor(Math.max(...times));
}

/** What could be updated, asked of dnf and remembered until its lists, its settings or what is installed change. */
export function createOffers(
  ports: Pick<Asking, "ask"> & {
    readonly database: ReturnType<typeof createDatabase>;
    readonly places: DnfPlaces;
  },
): (signal: AbortSignal) => Promise<Offers> {
  const { ask, database, places } = ports;
  let last: { readonly mark: string; readonly offers: Omit<Offers, "database"> } | undefined;

  const askOffers = async (state: RpmDatabase, signal: AbortSignal): Promise<Omit<Offers, "database">> => {
    const newest = newestOf(state);
    const offered = parseCheckUpdate(await ask(["check-update"], signal));
    // Without what keeps packages back: those that are held have holes as well.
    const all = ["--disableplugin=versionlock", "--disableexcludes=all"];
    const list = [...all, "updateinfo", "list", "--security", "--updates"];
    const advised = parseAdvisories(await ask(list, signal)).filter((each) => {
      const found = newest.get(keyOf(each));
      return found !== undefined && comparePackageVersions(each.version, found.version) > 0;
    });
    const updates = offered.map(({ name, architecture, version }) => {
      const to = { name, architecture, version };
      const from = newest.get(keyOf(to))?.version ?? null;
      return { name, architecture, from, to: version, isSecurity: isSecurityStep(to, advised, from) };
    });
    return { updates, advised };
  };

  return async (signal) => {
    const state = await database(signal);
    const mark = `${state.mark}\n${await listsMark(places)}\n${await marksOf(places.settings)}`;
    if (last?.mark !== mark) last = { mark, offers: await askOffers(state, signal) };
    return { ...last.offers, database: state };
  };
}

/** The newest of the versions that close a hole, for each package. */
export function newestAdvised(advised: readonly AdvisedRpm[]): readonly AdvisedRpm[] {
  const found = new Map<string, AdvisedRpm>();
  for (const each of advised) {
    const other = found.get(keyOf(each));
    if (other === undefined || comparePackageVersions(each.version, other.version) > 0) found.set(keyOf(each), each);
  }
  return [...found.values()];
}

/** What the check of security updates asks. */
export function createUpdates(ports: {
  readonly offers: ReturnType<typeof createOffers>;
  readonly places: DnfPlaces;
}): PackageUpdates {
  const { offers, places } = ports;
  return {
    async security(signal) {
      const found = await offers(signal).catch((error: unknown) => {
        // Which are out is not known then, and that there are no lists is what the check says.
        if (error instanceof NoLists) return undefined;
        throw error;
      });
      if (found === undefined) return [];
      const { advised, updates, database } = found;
      const newest = newestOf(database);
      return newestAdvised(advised).flatMap((each) => {
        const installed = newest.get(keyOf(each));
        if (installed === undefined) return [];
        const { name, architecture } = each;
        const candidate = updates.find((update) => keyOf(update) === keyOf(each))?.to ?? each.version;
        const suites = [...new Set(advised.filter((other) => keyOf(other) === keyOf(each)).map((one) => one.advisory))];
        const isHeld = database.isHeld(installed);
        return [{ name, architecture, installed: installed.version, candidate, suites, isHeld }];
      });
    },
    refreshedAt: () => listsAt(places),
  };
}
