import type { PackageRepairs, PackageStates, PackageUpdates } from "#domain/ports/packages.ts";
import type { PacmanPorts } from "./parts.ts";
import { createParts } from "./parts.ts";
import { createRepairs } from "./repairs.ts";
import { createFaults } from "./states.ts";
import { createUpdates } from "./updates.ts";

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
