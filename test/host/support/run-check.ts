import { systemClock } from "#adapters/clock/index.ts";
import { exec } from "#adapters/exec/index.ts";
import { createFileSystemHealth } from "#adapters/file-system-health/index.ts";
import { createTemperatures } from "#adapters/hwmon/index.ts";
import { createHostJournal } from "#adapters/journald/index.ts";
import { createJournalStorage } from "#adapters/journald/storage.ts";
import { createThinPools } from "#adapters/lvm/index.ts";
import { createPacketFilter } from "#adapters/netfilter/index.ts";
import { createContainerLimits } from "#adapters/procfs/cgroup.ts";
import { createConntrack } from "#adapters/procfs/conntrack.ts";
import { createFileSystems } from "#adapters/procfs/file-systems.ts";
import { createHostFacts } from "#adapters/procfs/index.ts";
import { createKernelLoad } from "#adapters/procfs/kernel-load.ts";
import { createKernelTaint } from "#adapters/procfs/kernel-taint.ts";
import { createPressure } from "#adapters/procfs/pressure.ts";
import { createProcessFiles } from "#adapters/procfs/process-files.ts";
import { createRaidArrays } from "#adapters/procfs/raid-arrays.ts";
import { createUnitMemories } from "#adapters/procfs/unit-memory.ts";
import { createDefaultRoutes } from "#adapters/routes/index.ts";
import { createSmartDisks } from "#adapters/smartctl/index.ts";
import { createListeningSockets } from "#adapters/sockets/index.ts";
import { createSshServer } from "#adapters/sshd/index.ts";
import { createClockOffsets } from "#adapters/time-daemons/index.ts";
import type { Check } from "#domain/health/check.ts";
import { clockOffsetCheck } from "#domain/health/checks/clock-offset.ts";
import { conntrackCheck } from "#domain/health/checks/conntrack.ts";
import { cpuLoadCheck } from "#domain/health/checks/cpu-load.ts";
import { diskSpaceCheck } from "#domain/health/checks/disk-space.ts";
import { fileDescriptorsCheck } from "#domain/health/checks/file-descriptors.ts";
import { filesystemHealthCheck } from "#domain/health/checks/filesystem-health.ts";
import { firewallCheck } from "#domain/health/checks/firewall.ts";
import { inodeUsageCheck } from "#domain/health/checks/inode-usage.ts";
import { kernelErrorsCheck } from "#domain/health/checks/kernel-errors.ts";
import { lvmThinCheck } from "#domain/health/checks/lvm-thin.ts";
import { memoryCheck } from "#domain/health/checks/memory.ts";
import { networkConnectivityCheck } from "#domain/health/checks/network-connectivity.ts";
import { oomKillsCheck } from "#domain/health/checks/oom-kills.ts";
import { pressureCheck } from "#domain/health/checks/pressure.ts";
import { raidStatusCheck } from "#domain/health/checks/raid-status.ts";
import { readOnlyFilesystemsCheck } from "#domain/health/checks/read-only-filesystems.ts";
import { smartCheck } from "#domain/health/checks/smart.ts";
import { sshConfigCheck } from "#domain/health/checks/ssh-config.ts";
import { swapUsageCheck } from "#domain/health/checks/swap-usage.ts";
import { temperatureCheck } from "#domain/health/checks/temperature.ts";
import { unitMemoryCheck } from "#domain/health/checks/unit-memory.ts";
import { zombieProcessesCheck } from "#domain/health/checks/zombie-processes.ts";
import type { RunOptions } from "./check.ts";

// Runs inside the guest: node run-check.ts ID OPTIONS. Prints the outcome as JSON.
const [id = "", options = "{}"] = process.argv.slice(2);
const { aheadMs = 0, procDir, sysDir, ...settings } = JSON.parse(options) as RunOptions;
const proc = procDir === undefined ? {} : { procDir };
const sys = sysDir === undefined ? {} : { sysDir };
const host = createHostFacts({ clock: systemClock });
const cpuLoad = { averagePercent: host.cpuPercent };
const limits = createContainerLimits();
const facts = { ...host, ...createKernelLoad({ cpuLoad, limits, procDir: procDir ?? "/proc" }) };
const journal = createHostJournal({
  dir: undefined,
  onUnreadable({ path, what }) {
    throw new Error(`${path} cannot be read: ${what}`);
  },
});
const fileSystems = createFileSystems({ clock: systemClock });
const checks: readonly Check[] = [
  diskSpaceCheck({ fileSystems }),
  inodeUsageCheck({ fileSystems }),
  readOnlyFilesystemsCheck({ fileSystems }),
  memoryCheck({ facts }),
  swapUsageCheck({ facts, clock: systemClock }),
  cpuLoadCheck({ facts }),
  fileDescriptorsCheck({ facts, processFiles: createProcessFiles(proc) }),
  zombieProcessesCheck({ facts }),
  raidStatusCheck({ raidArrays: createRaidArrays(proc) }),
  networkConnectivityCheck({ routes: createDefaultRoutes() }),
  oomKillsCheck({
    journal: { ...journal.journal, ...createJournalStorage({ exec }) },
    clock: { now: () => Date.now() + aheadMs },
  }),
  sshConfigCheck({ ssh: createSshServer({ exec }) }),
  pressureCheck({ pressure: createPressure(proc) }),
  kernelErrorsCheck({
    journal: { ...journal.journal, ...createJournalStorage({ exec }) },
    clock: { now: () => Date.now() + aheadMs },
    taint: createKernelTaint(proc),
  }),
  lvmThinCheck({ thinPools: createThinPools({ exec, ...sys }) }),
  filesystemHealthCheck({
    fileSystems,
    clock: systemClock,
    fileSystemHealth: createFileSystemHealth({ exec, ...proc }),
  }),
  smartCheck({ smartDisks: createSmartDisks({ exec, ...sys }) }),
  unitMemoryCheck({ unitMemories: createUnitMemories(sys), clock: systemClock }),
  conntrackCheck({ conntrack: createConntrack(proc) }),
  temperatureCheck({ temperatures: createTemperatures(sys) }),
  clockOffsetCheck({ clockOffsets: createClockOffsets({ exec }), clock: { now: () => Date.now() + aheadMs } }),
  firewallCheck({ sockets: createListeningSockets(), filter: createPacketFilter({ exec }) }),
];
const check = checks.find((each) => each.id === id);
if (check === undefined) throw new Error(`cannot run ${id}: there is no such check`);
// The threads of the journal keep no process alive.
const alive = setInterval(() => undefined, 1000);
const outcome = await check.run({ ignore: [], ...settings }, AbortSignal.timeout(110_000));
process.stdout.write(JSON.stringify(outcome));
clearInterval(alive);
facts.dispose();
journal.dispose();
