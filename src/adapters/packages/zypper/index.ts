import type { HostPackages } from "../common/ports.ts";
import { openZypper, type ZypperPorts } from "./host.ts";
import { createRepairs } from "./repairs.ts";
import { createFaults, createFindings } from "./states.ts";
import { createUpdates } from "./updates.ts";

/** The packages of a host of the SUSE family. */
export function createZypper(ports: ZypperPorts): HostPackages {
  const zypper = openZypper(ports);
  const findings = createFindings(zypper);
  return {
    states: { manager: "zypper", faults: createFaults(zypper, findings) },
    updates: createUpdates(zypper),
    repairs: createRepairs(zypper, findings),
  };
}
