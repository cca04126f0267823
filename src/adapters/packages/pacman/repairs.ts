import { rm } from "node:fs/promises";
import { join } from "node:path";
import { CommandFailed } from "#adapters/exec/command.ts";
import type { PackageRepairs } from "#domain/ports/packages.ts";
import { isLeftOver, type LockTable } from "../common/locks.ts";
import { type createTransactions, LockHeld, type Transaction, TransactionFailed } from "../common/transactions.ts";
import type { PacmanPlaces } from "./asking.ts";
import { keepLists, prepareLists, stampLists } from "./lists.ts";
import { type createFindings, describeFindings } from "./states.ts";

type Transact = ReturnType<typeof createTransactions>;

/**
 * Runs transactions, and tells of a lock that nobody holds. That of the host is never removed: what was interrupted with it
 * is for a person to look at first.
 */
export function createHostTransact(ports: {
  readonly transact: Transact;
  readonly locks: Pick<LockTable, "holder">;
  readonly places: Pick<PacmanPlaces, "lock">;
}): Transact {
  const { transact, locks, places } = ports;
  return async (transaction, signal) => {
    try {
      return await transact({ ...transaction, locks: [places.lock] }, signal);
    } catch (error) {
      if (!(error instanceof LockHeld) || error.holder !== undefined || !(await isLeftOver(places.lock, locks)))
        throw error;
      throw new LockHeld(
        `${places.lock} is left of a pacman that was stopped in the middle of its work, and nobody holds it: see what it was doing, then remove that file`,
        undefined,
      );
    }
  };
}

/** Runs what changes only the service's own lists; a lock that is left there hinders nobody. */
export function createListsTransact(ports: {
  readonly transact: Transact;
  readonly locks: Pick<LockTable, "holder">;
  readonly places: Pick<PacmanPlaces, "lists">;
}): (transaction: Omit<Transaction, "locks" | "before">, signal: AbortSignal) => Promise<string> {
  const { transact, locks, places } = ports;
  const lock = join(places.lists, "db.lck");
  const before = async (): Promise<void> => {
    if (await isLeftOver(lock, locks)) await rm(lock, { force: true });
  };
  return (transaction, signal) => transact({ ...transaction, locks: [lock], before }, signal);
}

/** Words of each change: no question, and lines instead of bars. */
export const changing = ["--noconfirm", "--noprogressbar"] as const;

/**
 * Downloads the package lists of all repositories into a folder of the service's own. Those of the host stay as they are: with
 * newer lists and older packages, whatever somebody installs next would not fit to the rest.
 */
export function createRefresh(ports: {
  readonly listsTransact: ReturnType<typeof createListsTransact>;
  readonly places: PacmanPlaces;
}): (onLine: ((line: string) => void) | undefined, signal: AbortSignal) => Promise<void> {
  const { listsTransact, places } = ports;
  const [program, ...args] = places.pacman;
  // The log is of the host's own lists and packages.
  const own = ["--dbpath", places.lists, "--logfile", "/dev/null"];
  return async (onLine, signal) => {
    await prepareLists(places);
    const giveBack = await keepLists(places);
    const transaction = {
      unit: "steward-pacman-refresh",
      description: "Steward downloads the package lists (pacman -Sy into a folder of its own)",
      argv: [program, ...args, ...own, ...changing, "-Sy"],
      isInterruptible: true,
      ...(onLine !== undefined && { onLine }),
    } as const;
    try {
      await listsTransact(transaction, signal);
    } catch (error) {
      // After anything else it may still be running.
      if (error instanceof TransactionFailed) await giveBack();
      throw error;
    }
    await stampLists(places);
  };
}

const byHand =
  "pacman cannot take up what was interrupted, and its lock says nothing of who left it: a person has to see to it";
const onlyTogether =
  "pacman brings what is missing only together with an update of everything: packages of newer lists would not fit to the older ones that are there";

/** Refreshes lists. Pacman has nothing that finishes or mends by itself; what would be guessing is refused with the reason. */
export function createRepairs(ports: {
  readonly findings: ReturnType<typeof createFindings>;
  readonly refresh: ReturnType<typeof createRefresh>;
  readonly places: Pick<PacmanPlaces, "lock">;
}): PackageRepairs {
  const { findings, refresh, places } = ports;
  return {
    async finish(signal) {
      const left = describeFindings(await findings(signal), places.lock);
      if (left.length > 0) throw new CommandFailed(`${byHand}: ${left.join("; ")}`);
    },
    planMissing: (reinstalled) =>
      Promise.resolve({ reinstalled, changes: [], configured: [], downloadBytes: 0, obstacle: onlyTogether }),
    installMissing: () => Promise.reject(new CommandFailed(onlyTogether)),
    refreshLists: (signal) => refresh(undefined, signal),
  };
}
