import type { Exec } from "#adapters/exec/index.ts";
import type { PackageRepairs, PackageStates, PackageUpdates } from "#domain/ports/packages.ts";
import type { Clock } from "#kernel/clock.ts";
import { createOpenLocks } from "../common/locks.ts";
import { createTransactions, hostPlaces } from "../common/transactions.ts";
import { createAsking, type PacmanPlaces, pacmanPlaces } from "./asking.ts";
import { createDatabase } from "./database.ts";
import { pacmanOutput } from "./output.ts";
import { createHostTransact, createListsTransact, createRefresh, createRepairs } from "./repairs.ts";
import { createFaults, createFindings, createOffers, createUpdates } from "./states.ts";

export interface PacmanPorts {
  readonly exec: Exec;
  readonly clock: Pick<Clock, "monotonicMs" | "sleep">;
  readonly lockWaitMs?: number;
  readonly pacmanPlaces?: PacmanPlaces;
  readonly places?: typeof hostPlaces;
}

/** The parts of which the checks and the updates are made. */
export function createParts(ports: PacmanPorts) {
  const { exec, pacmanPlaces: where = pacmanPlaces(), places = hostPlaces } = ports;
  const asking = createAsking({ exec, places: where });
  const database = createDatabase({ settings: asking.settings, places: where });
  const locks = createOpenLocks();
  const transact = createTransactions({ ...ports, places, locks, reader: pacmanOutput });
  const listsTransact = createListsTransact({ transact, locks, places: where });
  return {
    asking,
    database,
    locks,
    places: where,
    unitPlaces: places,
    listsTransact,
    hostTransact: createHostTransact({ transact, locks, places: where }),
    findings: createFindings({ asking, database, locks, places: where }),
    offers: createOffers({ asking, database, places: where }),
    refresh: createRefresh({ listsTransact, places: where }),
  };
}

/** The packages of a host of the Arch family. */
export function createPacman(ports: PacmanPorts): {
  readonly states: PackageStates;
  readonly updates: PackageUpdates;
  readonly repairs: PackageRepairs;
} {
  const parts = createParts(ports);
  return {
    states: { manager: "pacman", faults: createFaults(parts) },
    updates: createUpdates(parts.places),
    repairs: createRepairs(parts),
  };
}
