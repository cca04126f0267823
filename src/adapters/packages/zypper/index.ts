import type { PackageRepairs, PackageStates, PackageUpdates } from "#domain/ports/packages.ts";
import type { ZypperPorts } from "./parts.ts";
import { createParts } from "./parts.ts";
import { createRepairs } from "./repairs.ts";
import { createFaults } from "./states.ts";
import { createUpdates } from "./updates.ts";

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
