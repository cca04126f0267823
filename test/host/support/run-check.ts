import { systemClock } from "#adapters/clock/index.ts";
import { createFileSystems } from "#adapters/procfs/file-systems.ts";
import { createHostFacts } from "#adapters/procfs/index.ts";
import { createKernelLoad } from "#adapters/procfs/kernel-load.ts";
import { createRaidArrays } from "#adapters/procfs/raid-arrays.ts";
import type { Check, CheckSettings } from "#domain/health/check.ts";
import { cpuLoadCheck } from "#domain/health/checks/cpu-load.ts";
import { diskSpaceCheck } from "#domain/health/checks/disk-space.ts";
import { fileDescriptorsCheck } from "#domain/health/checks/file-descriptors.ts";
import { inodeUsageCheck } from "#domain/health/checks/inode-usage.ts";
import { memoryCheck } from "#domain/health/checks/memory.ts";
import { raidStatusCheck } from "#domain/health/checks/raid-status.ts";
import { readOnlyFilesystemsCheck } from "#domain/health/checks/read-only-filesystems.ts";
import { swapUsageCheck } from "#domain/health/checks/swap-usage.ts";
import { zombieProcessesCheck } from "#domain/health/checks/zombie-processes.ts";

// Runs inside the guest: node run-check.ts ID SETTINGS. Prints the outcome as JSON.
const [id = "", settings = "{}"] = process.argv.slice(2);
const host = createHostFacts({ clock: systemClock });
const kernel = createKernelLoad({ cpuLoad: host.cpuLoad });
const fileSystems = createFileSystems({ clock: systemClock });
const checks: readonly Check[] = [
  diskSpaceCheck({ fileSystems }),
  inodeUsageCheck({ fileSystems }),
  readOnlyFilesystemsCheck({ fileSystems }),
  memoryCheck({ kernel }),
  swapUsageCheck({ kernel }),
  cpuLoadCheck({ kernel }),
  fileDescriptorsCheck({ kernel }),
  zombieProcessesCheck({ kernel }),
  raidStatusCheck({ raidArrays: createRaidArrays() }),
];
const check = checks.find((each) => each.id === id);
if (check === undefined) throw new Error(`cannot run ${id}: there is no such check`);
const given = JSON.parse(settings) as Partial<CheckSettings>;
const outcome = await check.run({ ignore: [], ...given }, AbortSignal.timeout(30_000));
process.stdout.write(JSON.stringify(outcome));
host.dispose();
