import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { LockTable } from "../apt/locks.ts";
import type { createTransactions, Transaction } from "../apt/transactions.ts";
import { LockHeld } from "../apt/transactions.ts";
import { isLeftOver } from "./locks.ts";
import type { PacmanPlaces } from "./places.ts";

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
