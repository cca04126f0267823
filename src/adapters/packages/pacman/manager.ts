import type { PackageManager } from "#domain/ports/packages.ts";
import { createStaleUnits } from "../common/stale-units.ts";
import { createSettle, orLocked, unitFor } from "../common/transactions.ts";
import { toInstalled } from "./database.ts";
import { createParts, type PacmanPorts } from "./index.ts";
import { createCommit, telling } from "./manager-commit.ts";
import { createFullUpdate, createSimulate } from "./simulation.ts";
import { describeFindings } from "./states.ts";

/**
 * Pacman as the package manager of updates. Its packages fit together only as a whole: an update is of all of them, and lists
 * that are refreshed lie in a folder of the service's own until the packages follow. A changed configuration file stays, and
 * the new one lies beside it as `.pacnew`.
 */
export function createPacmanManager(
  ports: PacmanPorts & {
    /** Whether the host has to be started anew for what is installed to run. */
    readonly needsReboot: (signal: AbortSignal) => Promise<boolean>;
  },
): PackageManager {
  const parts = createParts(ports);
  const { database, findings, offers, locks, places, refresh } = parts;
  const fullUpdate = createFullUpdate(parts);
  const simulate = createSimulate({ offers, fullUpdate });
  const settle = createSettle({ exec: ports.exec, clock: ports.clock, places: parts.unitPlaces });
  const staleUnits = createStaleUnits();

  const audit: PackageManager["audit"] = async (signal) => {
    // What somebody else is in the middle of is not left over.
    if ((await locks.holder(places.lock)) !== undefined) return [];
    return describeFindings(await findings(signal), places.lock);
  };

  return {
    name: "pacman",
    knowsSecurity: false,
    installed: async (signal) => toInstalled(await database(signal)),

    async updates(signal) {
      const { updates, database: state, lists } = await offers(signal);
      const held = state.packages.filter(state.isHeld).map(({ name }) => name);
      return { updates, held, listsAt: lists?.at ?? null };
    },

    // Its distributions have no releases: each update is the newest of all.
    release: () => Promise.resolve(undefined),
    refresh: (progress, signal) => orLocked(() => refresh(telling(progress, 0), signal)),
    simulate,
    commit: createCommit({ ...parts, fullUpdate }),
    settle: (id, signal) => settle(unitFor(id), signal),

    /** Pacman has nothing to finish with: the next update brings what was not begun, and a lock is for a person to remove. */
    async repair({ id }, signal) {
      unitFor(id);
      const { database: state, isLockLeft } = await findings(signal);
      const left = describeFindings({ database: state, isLockLeft, unmet: [] }, places.lock);
      return { isDone: left.length === 0, reason: left.join("; ") };
    },

    audit,
    restartNeeds: async (signal) => ({
      requiresReboot: await ports.needsReboot(signal),
      units: await staleUnits(signal),
    }),
  };
}
