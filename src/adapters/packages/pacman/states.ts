import { CommandFailed } from "#adapters/exec/command.ts";
import type { PackageChange, PackageFaults, PackageUpdates } from "#domain/ports/packages.ts";
import { isLeftOver, type LockTable } from "../common/locks.ts";
import type { Asking, PacmanPlaces } from "./asking.ts";
import type { createDatabase, PacmanDatabase } from "./database.ts";
import { currentLists, listsMark, type PackageLists } from "./lists.ts";
import { failureReason } from "./output.ts";
import { parseOffered, parseUnmet } from "./records.ts";

export interface Findings {
  readonly database: PacmanDatabase;
  readonly isLockLeft: boolean;
  /** Not looked for while packages are only partly there. */
  readonly unmet: readonly { readonly name: string; readonly needs: string }[];
}

/** Looks for what is wrong with the packages; what needs what is remembered until what is installed changes. */
export function createFindings(ports: {
  readonly asking: Pick<Asking, "tryAsking">;
  readonly database: ReturnType<typeof createDatabase>;
  readonly locks: Pick<LockTable, "holder">;
  readonly places: Pick<PacmanPlaces, "databases" | "lock">;
}): (signal: AbortSignal) => Promise<Findings> {
  const { asking, database, locks, places } = ports;
  let last: { readonly mark: string; readonly unmet: Findings["unmet"] } | undefined;

  const askUnmet = async (signal: AbortSignal): Promise<Findings["unmet"]> => {
    const { exitCode, stdout, stderr } = await asking.tryAsking(places.databases, ["-Dk"], signal);
    const unmet = parseUnmet(stderr);
    if (exitCode !== 0 && unmet.length === 0)
      throw new CommandFailed(`cannot ask pacman: ${failureReason(`${stdout}\n${stderr}`, exitCode)}`);
    return unmet;
  };

  return async (signal) => {
    const state = await database(signal);
    const isLockLeft = await isLeftOver(places.lock, locks);
    if (state.partial.length > 0) return { database: state, isLockLeft, unmet: [] };
    if (last?.mark !== state.mark) last = { mark: state.mark, unmet: await askUnmet(signal) };
    return { database: state, isLockLeft, unmet: last.unmet };
  };
}

/** What of it a person has to mend, in words; none where all is well. */
export const describeFindings = ({ database, isLockLeft, unmet }: Findings, lock: string): readonly string[] => [
  ...(isLockLeft ? [`${lock} is left of a pacman that was stopped in the middle of its work`] : []),
  ...database.partial.map(({ name, version }) => `${name} ${version} is only partly installed`),
  ...unmet.map(({ name, needs }) => `${name} lacks what it needs (${needs})`),
];

export function createFaults(ports: {
  readonly findings: ReturnType<typeof createFindings>;
  readonly database: ReturnType<typeof createDatabase>;
  readonly locks: Pick<LockTable, "holder">;
  readonly places: Pick<PacmanPlaces, "lock">;
}): (signal: AbortSignal) => Promise<PackageFaults> {
  const { findings, database, locks, places } = ports;
  return async (signal) => {
    // First who writes, then what is written: in the middle of a transaction all of it looks broken off.
    const writer = await locks.holder(places.lock);
    const found = writer === undefined ? await findings(signal) : undefined;
    const state = found?.database ?? (await database(signal));
    return {
      installed: state.packages.length,
      unfinished: (found?.database.partial ?? []).map(({ name, version }) => {
        return { name, version, state: "partly installed", mustBeReinstalled: true };
      }),
      isInterrupted: found?.isLockLeft ?? false,
      unmet: found?.unmet ?? [],
      held: state.packages.filter(state.isHeld).map(({ name, version }) => ({ name, version })),
      writer,
    };
  };
}

export interface Offers {
  /** Held packages left out, and what would be new or be replaced: only a whole simulation tells. */
  readonly updates: readonly PackageChange[];
  readonly database: PacmanDatabase;
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
