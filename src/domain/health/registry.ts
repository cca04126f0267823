import type { KernelLoad, RebootNeed, TimeSync } from "#domain/ports/host.ts";
import type { JournalStorage, KernelLog } from "#domain/ports/journal.ts";
import type {
  CertificateFiles,
  DefaultRoutes,
  ListeningSockets,
  NameServers,
  PacketFilter,
  SshServer,
} from "#domain/ports/network.ts";
import type { PackageStates, PackageUpdates } from "#domain/ports/packages.ts";
import type { FileSystems, RaidArrays } from "#domain/ports/storage.ts";
import type { Units } from "#domain/ports/units.ts";
import type { Clock } from "#kernel/clock.ts";
import type { Check } from "./check.ts";
import { cpuLoadCheck } from "./checks/cpu-load.ts";
import { diskSpaceCheck } from "./checks/disk-space.ts";
import { dnsResolutionCheck } from "./checks/dns-resolution.ts";
import { fileDescriptorsCheck } from "./checks/file-descriptors.ts";
import { firewallCheck } from "./checks/firewall.ts";
import { inodeUsageCheck } from "./checks/inode-usage.ts";
import { journalSizeCheck } from "./checks/journal-size.ts";
import { memoryCheck } from "./checks/memory.ts";
import { networkConnectivityCheck } from "./checks/network-connectivity.ts";
import { oomKillsCheck } from "./checks/oom-kills.ts";
import { packageStatusCheck } from "./checks/package-status.ts";
import { raidStatusCheck } from "./checks/raid-status.ts";
import { readOnlyFilesystemsCheck } from "./checks/read-only-filesystems.ts";
import { rebootRequiredCheck } from "./checks/reboot-required.ts";
import { securityUpdatesCheck } from "./checks/security-updates.ts";
import { sshConfigCheck } from "./checks/ssh-config.ts";
import { swapUsageCheck } from "./checks/swap-usage.ts";
import { systemdFailedCheck } from "./checks/systemd-failed.ts";
import { timeSyncCheck } from "./checks/time-sync.ts";
import { tlsCertificatesCheck } from "./checks/tls-certificates.ts";
import { unitRestartLoopsCheck } from "./checks/unit-restart-loops.ts";
import { zombieProcessesCheck } from "./checks/zombie-processes.ts";

/** What the checks that come with the service look at. */
export interface CheckPorts {
  readonly clock: Pick<Clock, "now" | "monotonicMs">;
  readonly fileSystems: FileSystems;
  readonly kernel: KernelLoad;
  readonly units: Pick<Units, "list" | "failed">;
  readonly time: TimeSync;
  readonly servers: NameServers;
  readonly routes: DefaultRoutes;
  readonly packages: PackageStates;
  readonly updates: PackageUpdates;
  readonly reboot: RebootNeed;
  readonly log: KernelLog;
  readonly journal: JournalStorage;
  readonly files: CertificateFiles;
  /** Certificates to look at, as the settings are at the moment. */
  readonly paths: () => readonly string[];
  readonly raidArrays: RaidArrays;
  readonly ssh: SshServer;
  readonly sockets: ListeningSockets;
  readonly filter: PacketFilter;
}

/** The checks that come with the service, in the order in which they are listed. */
export function builtInChecks(ports: CheckPorts): readonly Check[] {
  return [
    diskSpaceCheck(ports),
    inodeUsageCheck(ports),
    memoryCheck(ports),
    swapUsageCheck(ports),
    cpuLoadCheck(ports),
    fileDescriptorsCheck(ports),
    zombieProcessesCheck(ports),
    systemdFailedCheck(ports),
    unitRestartLoopsCheck(ports),
    timeSyncCheck(ports),
    dnsResolutionCheck(ports),
    networkConnectivityCheck(ports),
    packageStatusCheck(ports),
    securityUpdatesCheck(ports),
    rebootRequiredCheck(ports),
    readOnlyFilesystemsCheck(ports),
    oomKillsCheck(ports),
    journalSizeCheck(ports),
    tlsCertificatesCheck(ports),
    raidStatusCheck(ports),
    sshConfigCheck(ports),
    firewallCheck(ports),
  ];
}
