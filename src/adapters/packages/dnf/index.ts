import type { HostPackages } from "../common/ports.ts";
import { type DnfPorts, openDnf } from "./host.ts";
import { createRepairs } from "./repairs.ts";
import { createFaults } from "./states.ts";
import { createUpdates } from "./updates.ts";

/** The packages of a host of the Fedora and Red Hat family. */
export function createDnf(ports: DnfPorts): HostPackages {
  const dnf = openDnf(ports);
  return {
    states: { manager: "dnf", faults: createFaults(dnf) },
    updates: createUpdates(dnf),
    repairs: createRepairs(dnf),
  };
}
