import type { HostPackages } from "../common/ports.ts";
import { openPacman, type PacmanPorts } from "./host.ts";
import { createRepairs } from "./repairs.ts";
import { createFaults, createFindings, createUpdates } from "./states.ts";

/** The packages of a host of the Arch family. */
export function createPacman(ports: PacmanPorts): HostPackages {
  const pacman = openPacman(ports);
  const findings = createFindings(pacman);
  return {
    states: { manager: "pacman", faults: createFaults(pacman, findings) },
    updates: createUpdates(pacman),
    repairs: createRepairs(pacman, findings),
  };
}
