import type { PackageUpdates } from "#domain/health/packages/ports.ts";
import type { PackageChange } from "#domain/updates/ports.ts";
import type { AdvisedRpm } from "../rpm/advice.ts";
import { isSecurityStep, newestOf, securityUpdates } from "../rpm/advice.ts";
import { keyOf } from "../rpm/names.ts";
import type { Asking } from "./asking.ts";
import { NoLists } from "./asking.ts";
import type { createDatabase, ZypperDatabase } from "./database.ts";
import { advisedFor, parsePatches, parsePatchInfo, parseUpdates } from "./lists.ts";

/** What the lists on disk offer for what is installed. */
export interface Offers {
  /** What an update would bring, held packages left out. */
  readonly updates: readonly PackageChange[];
  /** Versions that close security holes, newer than what is installed, those of held packages too. */
  readonly advised: readonly AdvisedRpm[];
  readonly database: ZypperDatabase;
}

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

/** What the check of security updates asks. */
export function createUpdates(ports: {
  readonly asking: Pick<Asking, "listsAt">;
  readonly offers: ReturnType<typeof createOffers>;
}): PackageUpdates {
  const { asking, offers } = ports;
  return {
    async security(signal) {
      const found = await offers(signal).catch((error: unknown) => {
        // Which are out is not known then, and that there are no lists is what the check says.
        if (error instanceof NoLists) return undefined;
        throw error;
      });
      return found === undefined ? [] : securityUpdates(found.advised, found.updates, found.database);
    },
    refreshedAt: () => asking.listsAt(AbortSignal.timeout(10_000)),
  };
}
