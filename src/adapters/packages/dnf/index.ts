import type { Exec } from "#adapters/exec/index.ts";
import type { PackageRepairs, PackageStates, PackageUpdates } from "#domain/ports/packages.ts";
import type { Clock } from "#kernel/clock.ts";
import { createTransactions, hostPlaces } from "../common/transactions.ts";
import { createAsking, type DnfPlaces, dnfPlaces } from "./asking.ts";
import { createDatabase } from "./database.ts";
import { createDnfLocks } from "./locks.ts";
import { dnfOutput } from "./output.ts";
import { createRefresh, createRepairs } from "./repairs.ts";
import { createReplay } from "./replay.ts";
import { createFaults, createFindings } from "./states.ts";
import { createOffers, createUpdates } from "./updates.ts";

/** The packages of a host of the Fedora and Red Hat family. */
export function createDnf(ports: {
  readonly exec: Exec;
  readonly clock: Pick<Clock, "monotonicMs" | "sleep">;
  readonly lockWaitMs?: number;
  readonly dnfPlaces?: DnfPlaces;
  readonly places?: { readonly booted: string; readonly output: string };
}): { readonly states: PackageStates; readonly updates: PackageUpdates; readonly repairs: PackageRepairs } {
  const { exec, dnfPlaces: where = dnfPlaces(), places = hostPlaces } = ports;
  const asking = createAsking({ exec, places: where });
  const { ask, tryAsking } = asking;
  const database = createDatabase({ ask, places: where });
  const locks = createDnfLocks();
  const transact = createTransactions({ ...ports, places, locks, reader: dnfOutput });
  const findings = createFindings({ tryAsking, database });
  const replay = createReplay({ transact, places: where, folder: places.output });
  const refresh = createRefresh({ transact, places: where });
  return {
    states: { manager: "dnf", faults: createFaults({ findings, database, locks, places: where }) },
    updates: createUpdates({ offers: createOffers({ ask, database, places: where }), places: where }),
    repairs: createRepairs({ asking, database, findings, transact, replay, refresh, places: where }),
  };
}
