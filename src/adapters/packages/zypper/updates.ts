import { rememberByMark } from "../common/marks.ts";
import type { Asks } from "../common/ports.ts";
import { changesTo, newestOf, type Offers as RpmOffers } from "../rpm/offers.ts";
import type { Zypper, ZypperDatabase } from "./host.ts";
import { advisedFor, parsePatches, parsePatchInfo, parseUpdates } from "./lists.ts";

type Offers = RpmOffers<ZypperDatabase>;

export function createOffers({ ask, database, listsMark }: Zypper): Asks<Offers> {
  const remembered = rememberByMark<Offers>();
  return async (signal) => {
    const state = await database(signal);
    return remembered(`${state.mark}\n${await listsMark(signal)}`, async () => {
      const newest = newestOf(state);
      const offered = parseUpdates(await ask(["list-updates", "--type", "package"], signal));
      const patches = parsePatches(await ask(["list-patches", "--category", "security"], signal));
      const info = patches.length === 0 ? "" : await ask(["info", "--type", "patch", "--", ...patches], signal);
      const advised = advisedFor(parsePatchInfo(info), newest.values());
      return { updates: changesTo(offered, newest, advised), advised, database: state };
    });
  };
}
