import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { PackageUpdates } from "#domain/ports/packages.ts";
import { orUndefined } from "#kernel/errors.ts";
import { marksOf } from "../common/marks.ts";
import { comparePackageVersions, keyOf } from "../rpm/names.ts";
import { createSecurity, isSecurityStep, newestOf, type Offers as RpmOffers } from "../rpm/offers.ts";
import type { Asking, DnfPlaces } from "./asking.ts";
import { type createDatabase, listsMark, type RpmDatabase } from "./database.ts";
import { parseAdvisories, parseCheckUpdate } from "./lists.ts";

export type Offers = RpmOffers<RpmDatabase>;

export async function listsAt({ lists }: Pick<DnfPlaces, "lists">): Promise<number | undefined> {
  const names = (await orUndefined(readdir(lists))) ?? [];
  const times = await Promise.all(names.map((name) => newestIn(join(lists, name, "repodata"))));
  const known = times.filter((time) => time !== undefined);
  // The oldest of several lists is what counts.
  return known.length === 0 ? undefined : Math.min(...known);
}

/** Where dnf has asked and nothing was new, it sets the time of one of the files. */
async function newestIn(folder: string): Promise<number | undefined> {
  const names = (await orUndefined(readdir(folder))) ?? [];
  const files = await Promise.all(names.map((name) => orUndefined(stat(join(folder, name)))));
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

export function createUpdates(ports: {
  readonly offers: ReturnType<typeof createOffers>;
  readonly places: DnfPlaces;
}): PackageUpdates {
  const { offers, places } = ports;
  return {
    security: createSecurity(offers),
    refreshedAt: () => listsAt(places),
  };
}
