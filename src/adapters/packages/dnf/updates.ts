import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { orUndefined } from "#kernel/errors.ts";
import { marksOf, rememberByMark } from "../common/marks.ts";
import type { Asks } from "../common/ports.ts";
import { comparePackageVersions, nameAndArchitecture } from "../rpm/names.ts";
import { changesTo, newestOf, type Offers as RpmOffers } from "../rpm/offers.ts";
import { type Dnf, type DnfPlaces, listsMark, type RpmDatabase } from "./host.ts";
import { parseAdvisories, parseCheckUpdate } from "./lists.ts";

type Offers = RpmOffers<RpmDatabase>;

export async function listsAt({ lists }: Pick<DnfPlaces, "lists">): Promise<number | undefined> {
  const names = (await orUndefined(readdir(lists))) ?? [];
  const times = await Promise.all(names.map((name) => newestIn(join(lists, name, "repodata"))));
  const known = times.filter((time) => time !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}

/** Where dnf has asked and nothing was new, it sets the time of one of the files. */
async function newestIn(folder: string): Promise<number | undefined> {
  const names = (await orUndefined(readdir(folder))) ?? [];
  const files = await Promise.all(names.map((name) => orUndefined(stat(join(folder, name)))));
  const times = files.flatMap((file) => file?.mtimeMs ?? []);
  return times.length === 0 ? undefined : Math.floor(Math.max(...times));
}

export function createOffers({ ask, database, places }: Dnf): Asks<Offers> {
  const remembered = rememberByMark<Omit<Offers, "database">>();

  const askOffers = async (state: RpmDatabase, signal: AbortSignal): Promise<Omit<Offers, "database">> => {
    const newest = newestOf(state);
    const offered = parseCheckUpdate(await ask(["check-update"], signal));
    // Without what keeps packages back: those that are held have holes as well.
    const all = ["--disableplugin=versionlock", "--disableexcludes=all"];
    const list = [...all, "updateinfo", "list", "--security", "--updates"];
    const advised = parseAdvisories(await ask(list, signal)).filter((each) => {
      const found = newest.get(nameAndArchitecture(each));
      return found !== undefined && comparePackageVersions(each.version, found.version) > 0;
    });
    return { updates: changesTo(offered, newest, advised), advised };
  };

  return async (signal) => {
    const state = await database(signal);
    const mark = `${state.mark}\n${await listsMark(places)}\n${await marksOf(places.settings)}`;
    return { ...(await remembered(mark, () => askOffers(state, signal))), database: state };
  };
}
