import { CommandFailed } from "#adapters/exec/command.ts";
import type { PackageChange, PackageUpdates } from "#domain/ports/packages.ts";
import type { Asking } from "./asking.ts";
import type { createDatabase, PacmanDatabase } from "./database.ts";
import type { PackageLists } from "./lists.ts";
import { currentLists, listsMark } from "./lists.ts";
import { failureReason } from "./output.ts";
import type { PacmanPlaces } from "./places.ts";
import { parseOffered } from "./records.ts";

/** What the lists on disk offer for what is installed. */
export interface Offers {
  /** Held packages left out, and what would be new or be replaced: only a whole simulation tells. */
  readonly updates: readonly PackageChange[];
  readonly database: PacmanDatabase;
  /** Undefined where there are none. */
  readonly lists: PackageLists | undefined;
}

/** What could be updated, asked of pacman and remembered until its lists, its settings or what is installed change. */
export function createOffers(ports: {
  readonly asking: Pick<Asking, "tryAsking">;
  readonly database: ReturnType<typeof createDatabase>;
  readonly places: PacmanPlaces;
}): (signal: AbortSignal) => Promise<Offers> {
  const { asking, database, places } = ports;
  let last: { readonly mark: string; readonly updates: readonly PackageChange[] } | undefined;

  const askUpdates = async ({ packages }: PacmanDatabase, { databases }: PackageLists, signal: AbortSignal) => {
    const { exitCode, stdout, stderr } = await asking.tryAsking(databases, ["-Qu"], signal);
    // It fails where there is nothing to be updated, too.
    if (/^error: /m.test(stderr)) throw new CommandFailed(`cannot ask pacman: ${failureReason(stderr, exitCode)}`);
    const architectures = new Map(packages.map(({ name, architecture }) => [name, architecture]));
    return parseOffered(stdout)
      .filter(({ isHeld }) => !isHeld)
      .map(({ name, from, to }): PackageChange => {
        return { name, architecture: architectures.get(name) ?? "any", from, to, isSecurity: false };
      });
  };

  return async (signal) => {
    const state = await database(signal);
    const lists = await currentLists(places);
    if (lists === undefined) return { updates: [], database: state, lists };
    const mark = `${state.mark}\n${await listsMark(lists)}`;
    if (last?.mark !== mark) last = { mark, updates: await askUpdates(state, lists, signal) };
    return { updates: last.updates, database: state, lists };
  };
}

/** Nothing in pacman's lists tells which updates close holes. */
export const createUpdates = (places: PacmanPlaces): PackageUpdates => ({
  security: () => Promise.resolve(undefined),
  refreshedAt: async () => (await currentLists(places))?.at,
});
