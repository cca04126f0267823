import type { PackageChange, PackageFaults } from "#domain/ports/packages.ts";
import { ManagerRefuses } from "../common/asking.ts";
import { describeUnmet, heldIn } from "../common/changes.ts";
import { rememberByMark } from "../common/marks.ts";
import type { Asks } from "../common/ports.ts";
import { cannotAsk, type Pacman, type PacmanDatabase } from "./host.ts";
import { currentLists, listsMark, type PackageLists } from "./lists.ts";
import { failureReason } from "./output.ts";
import { parseOffered, parseUnmet } from "./records.ts";

export interface Findings {
  readonly database: PacmanDatabase;
  readonly isLockLeft: boolean;
  /** Not looked for while packages are only partly there. */
  readonly unmet: PackageFaults["unmet"];
}

export function createFindings({ tryAsking, database, isLockLeft, places }: Pacman): Asks<Findings> {
  const remembered = rememberByMark<Findings["unmet"]>();
  return async (signal) => {
    const found = { database: await database(signal), isLockLeft: await isLockLeft() };
    const { partial, mark } = found.database;
    if (partial.length > 0) return { ...found, unmet: [] };
    const unmet = await remembered(mark, async () => {
      const result = await tryAsking(places.databases, ["-Dk"], signal);
      const missing = parseUnmet(result.stderr);
      if (result.exitCode !== 0 && missing.length === 0) throw cannotAsk(result);
      return missing;
    });
    return { ...found, unmet };
  };
}

export const describeFindings = ({ database, isLockLeft, unmet }: Findings, lock: string): readonly string[] => [
  ...(isLockLeft ? [`${lock} is left of a pacman that was stopped in the middle of its work`] : []),
  ...database.partial.map(({ name, version }) => `${name} ${version} is only partly installed`),
  ...unmet.map(describeUnmet),
];

export function createFaults(pacman: Pacman, findings: Asks<Findings>): Asks<PackageFaults> {
  return async (signal) => {
    // First who writes, then what is written: in the middle of a transaction all of it looks broken off.
    const writer = await pacman.writer();
    const found = writer === undefined ? await findings(signal) : undefined;
    const state = found?.database ?? (await pacman.database(signal));
    return {
      installed: state.packages.length,
      unfinished: (found?.database.partial ?? []).map(({ name, version }) => {
        return { name, version, state: "partly installed", mustBeReinstalled: true };
      }),
      isInterrupted: found?.isLockLeft ?? false,
      unmet: found?.unmet ?? [],
      held: heldIn(state),
      writer,
    };
  };
}

export interface Offers {
  readonly updates: readonly PackageChange[];
  readonly database: PacmanDatabase;
  readonly lists: PackageLists | undefined;
}

export function createOffers({ tryAsking, database, places }: Pacman): Asks<Offers> {
  const remembered = rememberByMark<readonly PackageChange[]>();

  const askUpdates = async ({ packages }: PacmanDatabase, { databases }: PackageLists, signal: AbortSignal) => {
    const { exitCode, stdout, stderr } = await tryAsking(databases, ["-Qu"], signal);
    // It fails where there is nothing to be updated, too.
    if (/^error: /m.test(stderr)) throw new ManagerRefuses("pacman", failureReason(stderr, exitCode));
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
    return { updates: await remembered(mark, () => askUpdates(state, lists, signal)), database: state, lists };
  };
}
