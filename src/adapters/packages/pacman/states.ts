import { CommandFailed } from "#adapters/exec/command.ts";
import type { PackageChange, PackageLists, PackageRepairs } from "#domain/ports/packages.ts";
import { ManagerRefuses } from "../common/asking.ts";
import { describeFaults, type FoundFaults } from "../common/manager.ts";
import { rememberByMark } from "../common/marks.ts";
import type { Asks } from "../common/ports.ts";
import { cannotAsk, type Pacman, type PacmanDatabase } from "./host.ts";
import { currentLists, listsMark, type PacmanLists } from "./lists.ts";
import { failureReason } from "./output.ts";
import { parseOffered, parseUnmet } from "./records.ts";

const partlyInstalled = { state: "partly installed", mustBeReinstalled: true } as const;

/** What packages lack is not looked for while some are only partly there. */
export function createFindings({ tryAsking, database, isLockLeft, places }: Pacman): Asks<FoundFaults> {
  const remembered = rememberByMark<FoundFaults["unmet"]>();

  const askUnmet = async (signal: AbortSignal): Promise<FoundFaults["unmet"]> => {
    const result = await tryAsking(places.databases, ["-Dk"], signal);
    const missing = parseUnmet(result.stderr);
    if (result.exitCode !== 0 && missing.length === 0) throw cannotAsk(result);
    return missing;
  };

  return async (signal) => {
    const { partial, mark } = await database(signal);
    const isInterrupted = await isLockLeft();
    return {
      unfinished: partial.map(({ name, version }) => ({ name, version, ...partlyInstalled })),
      isInterrupted,
      unmet: partial.length > 0 ? [] : await remembered(mark, () => askUnmet(signal)),
      halfDone: [
        ...(isInterrupted ? [`${places.lock} is left of a pacman that was stopped in the middle of its work`] : []),
        ...partial.map(({ name, version }) => `${name} ${version} is only partly installed`),
      ],
    };
  };
}

const byHand =
  "pacman cannot resume what was interrupted, and its lock says nothing of who left it: it must be repaired by hand";
const onlyTogether =
  "pacman brings what is missing only together with an update of everything: packages of newer lists would not match the older ones that are installed";

export const createRepairs = (findings: Asks<FoundFaults>): PackageRepairs => ({
  async finish(signal) {
    const left = describeFaults(await findings(signal));
    if (left.length > 0) throw new CommandFailed(`${byHand}: ${left.join("; ")}`);
  },
  planMissing: (reinstalled) =>
    Promise.resolve({ reinstalled, changes: [], configured: [], downloadBytes: 0, obstacle: onlyTogether }),
  installMissing: () => Promise.reject(new CommandFailed(onlyTogether)),
});

/** What an update would bring, by the lists, without packages that are held. */
export function createUpdates({ tryAsking, database, places }: Pacman): PackageLists["updates"] {
  const remembered = rememberByMark<readonly PackageChange[]>();

  const askUpdates = async ({ packages }: PacmanDatabase, { databases }: PacmanLists, signal: AbortSignal) => {
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
    const held = state.packages.filter(state.isHeld).map(({ name }) => name);
    const lists = await currentLists(places);
    if (lists === undefined) return { updates: [], held, listsAt: null };
    const mark = `${state.mark}\n${await listsMark(lists)}`;
    return { updates: await remembered(mark, () => askUpdates(state, lists, signal)), held, listsAt: lists.at };
  };
}
