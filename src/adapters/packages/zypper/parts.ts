import type { Exec } from "#adapters/exec/index.ts";
import type { Clock } from "#kernel/clock.ts";
import { createTransactions } from "../apt/transactions.ts";
import { hostPlaces } from "../places.ts";
import { createPidLocks } from "../rpm/locks.ts";
import { createAsking } from "./asking.ts";
import { createDatabase } from "./database.ts";
import { zypperOutput } from "./output.ts";
import type { ZypperPlaces } from "./places.ts";
import { zypperPlaces } from "./places.ts";
import { createRefresh } from "./repairs.ts";
import { createFindings } from "./states.ts";
import { createExact, tolerant } from "./transaction.ts";
import { createOffers } from "./updates.ts";

/** Programs that change packages with zypper's lock; y2start and y2base are YaST. */
const programs = ["zypper", "zypp-refresh", "packagekitd", "y2start", "y2base"];

/** What it takes to work with zypper. */
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
