import { createLockTable } from "../common/locks.ts";
import type { HostPackages, PackagePorts } from "../common/ports.ts";
import { createTransactions } from "../common/transactions.ts";
import { createDatabase } from "./database.ts";
import { createOffers, createUpdates } from "./offers.ts";
import { aptOutput } from "./output.ts";
import { createRepairs } from "./repairs.ts";
import { createFaults } from "./states.ts";
import { type AptPaths, aptPaths } from "./words.ts";

export interface AptPorts extends PackagePorts {
  readonly paths?: AptPaths;
  /** Where answers are kept for the next process; without it they are not. */
  readonly stateDir?: string | undefined;
}

/** The packages of a host of the Debian family. */
export function createApt(ports: AptPorts): HostPackages {
  const { exec, paths = aptPaths, stateDir } = ports;
  const database = createDatabase(paths);
  const locks = createLockTable();
  const transact = createTransactions({ ...ports, locks, reader: aptOutput });
  return {
    states: { manager: "apt", faults: createFaults({ ...ports, database, locks, paths }) },
    updates: createUpdates({ offers: createOffers({ exec, database, paths, stateDir }), paths }),
    repairs: createRepairs({ exec, paths, transact }),
  };
}
