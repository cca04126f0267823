import { CommandFailed } from "#adapters/exec/command.ts";
import type { PackageChange, PackageManager, PackageUpdates, PackageVersion } from "#domain/ports/packages.ts";
import { UpdateRefused } from "#domain/ports/packages.ts";
import type { AdvisedRpm, RpmState } from "./advice.ts";
import { securityUpdates } from "./advice.ts";

/** The lists are not there: nobody has downloaded them yet, or they were removed. */
export class NoLists extends CommandFailed {}

/** What the lists on disk offer for what is installed. */
export interface Offers<State> {
  /** What an upgrade would bring, held packages left out. */
  readonly updates: readonly PackageChange[];
  /** Versions that close security holes, newer than what is installed, those of held packages too. */
  readonly advised: readonly AdvisedRpm[];
  readonly database: State;
}

type Asks<T> = (signal: AbortSignal) => Promise<T>;

/** What comes of it, or what is so before the lists are there. */
export async function orWithoutLists<T, Otherwise>(work: Promise<T>, otherwise: Otherwise): Promise<T | Otherwise> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof NoLists) return otherwise;
    throw error;
  }
}

/** @throws UpdateRefused where there are no lists. */
export async function demandLists<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof NoLists)
      throw new UpdateRefused("there are no package lists: they have to be refreshed first");
    throw error;
  }
}

/** What could be updated; see the port. */
export function createAvailable<T extends PackageVersion>(ports: {
  readonly database: Asks<RpmState<T>>;
  readonly offers: Asks<Pick<Offers<unknown>, "updates">>;
  readonly listsAt: Asks<number | undefined>;
}): PackageManager["updates"] {
  const { database, offers, listsAt } = ports;
  return async (signal) => {
    const state = await database(signal);
    const held = [...new Set(state.packages.filter(state.isHeld).map(({ name }) => name))];
    const known = async () => {
      const { updates } = await offers(signal);
      return { updates, held, listsAt: (await listsAt(signal)) ?? null };
    };
    return orWithoutLists(known(), { updates: [], held, listsAt: null });
  };
}

/** Updates that close security holes. Without lists none is known, and that there are no lists is what the check says. */
export const createSecurity =
  <T extends PackageVersion>(offers: Asks<Offers<RpmState<T>>>): PackageUpdates["security"] =>
  async (signal) => {
    const found = await orWithoutLists(offers(signal), undefined);
    return found === undefined ? [] : securityUpdates(found.advised, found.updates, found.database);
  };
