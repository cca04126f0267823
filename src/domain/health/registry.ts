import { checkMeanings } from "#contract/check-meanings.generated.ts";
import { builtInCheckIds } from "#contract/check-meanings.ts";
import type { BackupDirectories } from "#domain/ports/backups.ts";
import type { HostFacts, RebootNeed, TimeSync } from "#domain/ports/host.ts";
import type { GetBySocket, HostFiles, RunProgram } from "#domain/ports/host-files.ts";
import type { Journal } from "#domain/ports/journal.ts";
import type {
  CertificateFiles,
  DefaultRoutes,
  ListeningSockets,
  NameServers,
  SshServer,
} from "#domain/ports/network.ts";
import type { PackageManager } from "#domain/ports/packages.ts";
import type { FileSystems, RaidArrays } from "#domain/ports/storage.ts";
import type { Timers, Units } from "#domain/ports/units.ts";
import type { Clock } from "#kernel/clock.ts";
import type { BuiltInCheck } from "./check.ts";
import { type BackupTarget, backupAgeCheck } from "./checks/backup-age.ts";
import { clockOffsetCheck } from "./checks/clock-offset.ts";
import { conntrackCheck } from "./checks/conntrack.ts";
import { containersCheck } from "./checks/containers.ts";
import { cpuLoadCheck } from "./checks/cpu-load.ts";
import { diskSpaceCheck } from "./checks/disk-space.ts";
import { dnsResolutionCheck } from "./checks/dns-resolution.ts";
import { type Endpoint, endpointsCheck } from "./checks/endpoints.ts";
import { fileDescriptorsCheck } from "./checks/file-descriptors.ts";
import { filesystemHealthCheck } from "./checks/filesystem-health.ts";
import { firewallCheck } from "./checks/firewall.ts";
import { inodeUsageCheck } from "./checks/inode-usage.ts";
import { journalSizeCheck } from "./checks/journal-size.ts";
import { kernelErrorsCheck } from "./checks/kernel-errors.ts";
import { lvmThinCheck } from "./checks/lvm-thin.ts";
import { memoryCheck } from "./checks/memory.ts";
import { networkConnectivityCheck } from "./checks/network-connectivity.ts";
import { newErrorsCheck } from "./checks/new-errors.ts";
import { oomKillsCheck } from "./checks/oom-kills.ts";
import { packageStatusCheck } from "./checks/package-status.ts";
import { pressureCheck } from "./checks/pressure.ts";
import { raidStatusCheck } from "./checks/raid-status.ts";
import { readOnlyFilesystemsCheck } from "./checks/read-only-filesystems.ts";
import { rebootRequiredCheck } from "./checks/reboot-required.ts";
import { securityUpdatesCheck } from "./checks/security-updates.ts";
import { smartCheck } from "./checks/smart.ts";
import { sshConfigCheck } from "./checks/ssh-config.ts";
import { swapUsageCheck } from "./checks/swap-usage.ts";
import { systemdFailedCheck } from "./checks/systemd-failed.ts";
import { temperatureCheck } from "./checks/temperature.ts";
import { timeSyncCheck } from "./checks/time-sync.ts";
import { timersCheck } from "./checks/timers.ts";
import { tlsCertificatesCheck } from "./checks/tls-certificates.ts";
import { unitMemoryCheck } from "./checks/unit-memory.ts";
import { unitRestartLoopsCheck } from "./checks/unit-restart-loops.ts";
import { zombieProcessesCheck } from "./checks/zombie-processes.ts";

export interface CheckPorts {
  readonly clock: Pick<Clock, "now" | "monotonicMs" | "sleep">;
  readonly fileSystems: FileSystems;
  readonly facts: Omit<HostFacts, "info">;
  readonly units: Pick<Units, "loaded" | "failed" | "read">;
  readonly time: TimeSync;
  readonly servers: NameServers;
  readonly routes: DefaultRoutes;
  /** Undefined without a supported one. */
  readonly packages: PackageManager | undefined;
  readonly reboot: RebootNeed;
  readonly journal: Pick<Journal, "query" | "size" | "rememberedErrors">;
  readonly files: CertificateFiles;
  /** Paths of certificates, from the current settings. */
  readonly paths: () => readonly string[];
  readonly raidArrays: RaidArrays;
  readonly ssh: SshServer;
  readonly sockets: ListeningSockets;
  readonly endpoints: readonly Endpoint[];
  readonly hostFiles: HostFiles;
  readonly exec: RunProgram;
  readonly timers: Timers;
  readonly getBySocket: GetBySocket;
  readonly backupDirectories: BackupDirectories;
  readonly backupTargets: readonly BackupTarget[];
}

/** The checks that come with the service, in the order in which they are listed. */
const factories: readonly ((ports: CheckPorts) => BuiltInCheck)[] = [
  diskSpaceCheck,
  inodeUsageCheck,
  memoryCheck,
  swapUsageCheck,
  cpuLoadCheck,
  fileDescriptorsCheck,
  zombieProcessesCheck,
  systemdFailedCheck,
  unitRestartLoopsCheck,
  timeSyncCheck,
  dnsResolutionCheck,
  networkConnectivityCheck,
  packageStatusCheck,
  securityUpdatesCheck,
  rebootRequiredCheck,
  readOnlyFilesystemsCheck,
  oomKillsCheck,
  journalSizeCheck,
  tlsCertificatesCheck,
  raidStatusCheck,
  sshConfigCheck,
  firewallCheck,
  pressureCheck,
  kernelErrorsCheck,
  timersCheck,
  lvmThinCheck,
  filesystemHealthCheck,
  smartCheck,
  unitMemoryCheck,
  conntrackCheck,
  temperatureCheck,
  clockOffsetCheck,
  endpointsCheck,
  containersCheck,
  backupAgeCheck,
  newErrorsCheck,
];

export const builtInChecks = (ports: CheckPorts): readonly BuiltInCheck[] => factories.map((create) => create(ports));

const ids = Object.keys(checkMeanings);
/** From `pressure` on they are younger than settings that may have a plugin of the same name, which then takes the place of the check. */
const youngIds = ids.slice(ids.indexOf("pressure"));

/** Ids that settings cannot give to a plugin. */
export const reservedCheckIds: readonly string[] = builtInCheckIds.filter((id) => !youngIds.includes(id));
