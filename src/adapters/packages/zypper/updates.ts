import type { PackageUpdates } from "#domain/ports/packages.ts";
import { keyOf } from "../rpm/names.ts";
import { createSecurity, isSecurityStep, newestOf, type Offers as RpmOffers } from "../rpm/offers.ts";
import type { Asking } from "./asking.ts";
import type { createDatabase, ZypperDatabase } from "./database.ts";
import { advisedFor, parsePatches, parsePatchInfo, parseUpdates } from "./lists.ts";

export type Offers = RpmOffers<ZypperDatabase>;

/** What could be updated, asked of zypper and remembered until its lists, its settings or what is installed change. */
export function createOffers(ports: {
  readonly asking: Pick<Asking, "ask" | "listsMark">;
  readonly database: ReturnType<typeof createDatabase>;
}): (signal: AbortSignal) => Promise<Offers> {
  const { asking, database } = ports;
  let last: { readonly mark: string; readonly offers: Offers } | undefined;

  const askOffers = async (state: ZypperDatabase, signal: AbortSignal): Promise<Offers> => {
    const newest = newestOf(state);
    const offered = parseUpdates(await asking.ask(["list-updates", "--type", "package"], signal));
    const patches = parsePatches(await asking.ask(["list-patches", "--category", "security"], signal));
    const told = patches.length === 0 ? "" : await asking.ask(["info", "--type", "patch", "--", ...patches], signal);
    const advised = advisedFor(parsePatchInfo(told), newest.values());
    const updates = offered.map((to) => {
      const { name, architecture, version } = to;
      const from = newest.get(keyOf(to))?.version ?? null;
      return { name, architecture, from, to: version, isSecurity: isSecurityStep(to, advised, from) };
    });
    return { updates, advised, database: state };
  };

  return async (signal) => {
    const state = await database(signal);
    const mark = `${state.mark}\n${await asking.listsMark(signal)}`;
    if (last?.mark !== mark) last = { mark, offers: await askOffers(state, signal) };
    return last.offers;
  };
}

export function createUpdates(ports: {
  readonly asking: Pick<Asking, "listsAt">;
  readonly offers: ReturnType<typeof createOffers>;
}): PackageUpdates {
  const { asking, offers } = ports;
  return {
    security: createSecurity(offers),
    refreshedAt: () => asking.listsAt(AbortSignal.timeout(10_000)),
  };
}
