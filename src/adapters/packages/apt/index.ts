import type { Exec } from "#adapters/exec/index.ts";
import type { PackageRepairs, PackageStates, PackageUpdates } from "#domain/ports/packages.ts";
import type { Clock } from "#kernel/clock.ts";
import { createLockTable } from "../common/locks.ts";
import { createTransactions } from "../common/transactions.ts";
import { createDatabase } from "./database.ts";
import { createOffers, createUpdates } from "./offers.ts";
import { createRepairs } from "./repairs.ts";
import { createFaults } from "./states.ts";
import { type AptPaths, aptPaths } from "./words.ts";

/** The packages of a host of the Debian family. */
export function createApt(ports: {
  readonly exec: Exec;
  readonly clock: Pick<Clock, "monotonicMs" | "sleep">;
  readonly lockWaitMs?: number;
  readonly paths?: AptPaths;
  readonly stateDir?: string | undefined;
  readonly places?: { readonly booted: string; readonly output: string };
}): { readonly states: PackageStates; readonly updates: PackageUpdates; readonly repairs: PackageRepairs } {
  const { exec, paths = aptPaths, stateDir } = ports;
  const database = createDatabase(paths);
  const locks = createLockTable();
  return {
    states: { manager: "apt", faults: createFaults({ ...ports, database, locks, paths }) },
    updates: createUpdates({ offers: createOffers({ exec, database, paths, stateDir }), paths }),
    repairs: createRepairs({ exec, paths, transact: createTransactions({ ...ports, locks }) }),
  };
}
