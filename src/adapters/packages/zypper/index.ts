import type { Exec } from "#adapters/exec/index.ts";
import type { PackageRepairs, PackageStates, PackageUpdates } from "#domain/ports/packages.ts";
import type { Clock } from "#kernel/clock.ts";
import { createPidLocks } from "../common/locks.ts";
import { createTransactions, hostPlaces } from "../common/transactions.ts";
import { createAsking, type ZypperPlaces, zypperPlaces } from "./asking.ts";
import { createDatabase } from "./database.ts";
import { zypperOutput } from "./output.ts";
import { createRefresh, createRepairs } from "./repairs.ts";
import { createFaults, createFindings } from "./states.ts";
import { createExact, tolerant } from "./transaction.ts";
import { createOffers, createUpdates } from "./updates.ts";

/** Programs that change packages with zypper's lock; y2start and y2base are YaST. */
const programs = ["zypper", "zypp-refresh", "packagekitd", "y2start", "y2base"];

export interface ZypperPorts {
  readonly exec: Exec;
  readonly clock: Pick<Clock, "monotonicMs" | "sleep">;
  readonly lockWaitMs?: number;
  readonly zypperPlaces?: ZypperPlaces;
  readonly places?: typeof hostPlaces;
}

/** The parts of which the checks and the updates are made. */
export function createParts(ports: ZypperPorts) {
  const { exec, zypperPlaces: where = zypperPlaces(), places = hostPlaces } = ports;
  const asking = createAsking({ exec, places: where });
  const database = createDatabase({ exec, asking, places: where });
  const locks = createPidLocks(programs);
  const transact = createTransactions({ ...ports, exec: tolerant(exec), places, locks, reader: zypperOutput });
  return {
    exec,
    asking,
    database,
    locks,
    transact,
    places: where,
    unitPlaces: places,
    exact: createExact({ asking, transact, database, places: where, folder: places.output }),
    findings: createFindings({ exec, asking, database, places: where }),
    offers: createOffers({ asking, database }),
    refresh: createRefresh({ transact, places: where }),
  };
}

/** The packages of a host of the SUSE family. */
export function createZypper(ports: ZypperPorts): {
  readonly states: PackageStates;
  readonly updates: PackageUpdates;
  readonly repairs: PackageRepairs;
} {
  const parts = createParts(ports);
  return {
    states: { manager: "zypper", faults: createFaults(parts) },
    updates: createUpdates(parts),
    repairs: createRepairs(parts),
  };
}
