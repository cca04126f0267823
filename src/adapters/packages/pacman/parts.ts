import type { Exec } from "#adapters/exec/index.ts";
import type { Clock } from "#kernel/clock.ts";
import { createTransactions } from "../apt/transactions.ts";
import { hostPlaces } from "../places.ts";
import { createAsking } from "./asking.ts";
import { createDatabase } from "./database.ts";
import { createOpenLocks } from "./locks.ts";
import { pacmanOutput } from "./output.ts";
import type { PacmanPlaces } from "./places.ts";
import { pacmanPlaces } from "./places.ts";
import { createRefresh } from "./repairs.ts";
import { createFindings } from "./states.ts";
import { createHostTransact, createListsTransact } from "./transact.ts";
import { createOffers } from "./updates.ts";

/** What it takes to work with pacman. */
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
