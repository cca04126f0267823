import type { CheckStatus } from "#contract/checks.ts";

/** One way in which a check was brought to what it says. */
export interface Provocation {
  /** What was done to the host; the title of the test. */
  readonly how: string;
  /** Whether the host was really so. Otherwise the check read what a tool or the kernel prints then, put together by its manual. */
  readonly isReal: boolean;
  /** What the check said on the way, each at least once. */
  readonly statuses: readonly CheckStatus[];
  /** Where the test is, below test/host. */
  readonly file: string;
}

const storage = "checks-storage.long.test.ts";
const kernel = "checks-kernel.long.test.ts";
const services = "checks-services.long.test.ts";
const security = "checks-security.long.test.ts";
const units = "checks-units.long.test.ts";
const devices = "checks-devices.long.test.ts";
const diskErrors = "checks-disk-errors.long.test.ts";
const packages = "packages.long.test.ts";

/** How each check that comes with the service is provoked on a booted host. A test takes its title from here (`provoke`). */
export const provocations = {
  disk_space: [
    {
      how: "a file system of 32 MB filled to nine tenths and to the last byte, then emptied",
      isReal: true,
      statuses: ["warn", "fail", "pass"],
      file: storage,
    },
    {
      how: "an XFS nearly filled, then emptied",
      isReal: true,
      statuses: ["warn", "pass"],
      file: diskErrors,
    },
  ],
  inode_usage: [
    {
      how: "an ext4 without a free inode, then with all of them",
      isReal: true,
      statuses: ["fail", "pass"],
      file: storage,
    },
    { how: "a tmpfs without a free inode, then unmounted", isReal: true, statuses: ["fail", "pass"], file: storage },
  ],
  memory: [
    {
      how: "a container of 1 GB filled to 90 % and to 97 %, then emptied",
      isReal: true,
      statuses: ["pass", "warn", "fail"],
      file: kernel,
    },
    {
      how: "a tmpfs that takes more of the machine than settings allow",
      isReal: true,
      statuses: ["pass", "fail"],
      file: kernel,
    },
  ],
  swap_usage: [
    {
      how: "a swap file of 192 MB into which a group with little memory overflows, read again and again, then none",
      isReal: true,
      statuses: ["pass", "warn", "fail", "skip"],
      file: kernel,
    },
  ],
  cpu_load: [
    {
      how: "a busy loop in a container with one processor, then none",
      isReal: true,
      statuses: ["fail", "pass"],
      file: kernel,
    },
  ],
  file_descriptors: [
    {
      how: "40 000 files held open under a limit that leaves a fifth and a fourteenth free, then closed",
      isReal: true,
      statuses: ["pass", "warn", "fail"],
      file: kernel,
    },
    {
      how: "programs with eight tenths and with all of the files open that they may have, until they end",
      isReal: true,
      statuses: ["warn", "fail", "pass"],
      file: units,
    },
  ],
  zombie_processes: [
    {
      how: "6 and 26 children that nobody asks for, until their parents end",
      isReal: true,
      statuses: ["pass", "warn", "fail"],
      file: kernel,
    },
  ],
  systemd_failed: [
    { how: "a service that exits with 1, then is reset", isReal: true, statuses: ["pass", "fail"], file: services },
    {
      how: "a mount and a socket that fail, then are reset",
      isReal: true,
      statuses: ["fail", "pass"],
      file: services,
    },
  ],
  unit_restart_loops: [
    {
      how: "a service that crashes on and on, then is stopped",
      isReal: true,
      statuses: ["pass", "fail"],
      file: services,
    },
  ],
  time_sync: [
    {
      how: "synchronisation off and on, with a kernel that believes its clock to be wrong and to be right",
      isReal: true,
      statuses: ["skip", "fail", "warn", "pass"],
      file: services,
    },
  ],
  dns_resolution: [
    {
      how: "no name server, one that does not answer, one that does, one of two",
      isReal: true,
      statuses: ["skip", "fail", "pass", "warn"],
      file: services,
    },
  ],
  network_connectivity: [
    { how: "a network with loopback only", isReal: true, statuses: ["fail"], file: services },
    { how: "a default route over a link that is up", isReal: true, statuses: ["pass"], file: services },
    { how: "a default route over a link that is down", isReal: true, statuses: ["fail"], file: services },
  ],
  reboot_required: [
    { how: "what a package leaves that asks for a reboot", isReal: true, statuses: ["pass", "warn"], file: services },
  ],
  read_only_filesystems: [
    {
      how: "a file system mounted read-only again, then writable",
      isReal: true,
      statuses: ["fail", "pass"],
      file: storage,
    },
    { how: "an ext4 that the kernel made read-only after an error", isReal: true, statuses: ["fail"], file: storage },
    { how: "an ext4 whose disk takes no more writes", isReal: true, statuses: ["fail"], file: diskErrors },
    {
      how: "an XFS that shut itself down since its disk takes no more writes",
      isReal: true,
      statuses: ["fail"],
      file: diskErrors,
    },
    { how: "a btrfs whose disk takes no more writes", isReal: true, statuses: ["fail"], file: diskErrors },
  ],
  oom_kills: [
    {
      how: "processes killed in a group with too little memory, the kernel's own lines put into the journal; 25 hours later",
      isReal: true,
      statuses: ["pass", "warn", "fail"],
      file: kernel,
    },
  ],
  journal_size: [
    {
      how: "a journal that grows beyond what settings allow, then is vacuumed",
      isReal: true,
      statuses: ["pass", "warn", "fail"],
      file: services,
    },
  ],
  tls_certificates: [
    {
      how: "the certificate of the service with 1, 20 and 90 days left",
      isReal: true,
      statuses: ["fail", "warn", "pass"],
      file: services,
    },
  ],
  raid_status: [
    {
      how: "a mirror that is whole, has lost a device, is rebuilt, and none, as kernels told of them",
      isReal: false,
      statuses: ["pass", "fail", "warn", "skip"],
      file: kernel,
    },
  ],
  package_status: [
    {
      how: "dpkg killed while a package is set up, then fixed",
      isReal: true,
      statuses: ["fail", "pass"],
      file: packages,
    },
    {
      how: "a package whose dependency is missing, then fixed",
      isReal: true,
      statuses: ["fail", "pass"],
      file: packages,
    },
    { how: "a held package, until it is no longer held", isReal: true, statuses: ["warn", "pass"], file: packages },
  ],
  security_updates: [
    {
      how: "a security update in the lists, until it is installed",
      isReal: true,
      statuses: ["pass", "warn"],
      file: packages,
    },
    {
      how: "package lists that are nine days old, then downloaded",
      isReal: true,
      statuses: ["warn", "pass"],
      file: packages,
    },
  ],
  ssh_config: [
    {
      how: "sshd as Debian installs it, with keys only, with root's password, and broken",
      isReal: true,
      statuses: ["skip", "warn", "pass", "fail"],
      file: security,
    },
  ],
  firewall: [
    {
      how: "a server on all addresses without rules, with rules of every kind, and none",
      isReal: true,
      statuses: ["warn", "pass"],
      file: security,
    },
    { how: "rules that the service may not read", isReal: true, statuses: ["skip"], file: security },
  ],
  pressure: [
    { how: "two busy loops for each processor", isReal: true, statuses: ["fail"], file: kernel },
    {
      how: "memory that all work waits for, less and less, and a kernel that does not say",
      isReal: false,
      statuses: ["fail", "warn", "pass", "skip"],
      file: devices,
    },
  ],
  kernel_errors: [
    {
      how: "an ext4 in which the kernel finds an error, its own lines put into the journal; 25 hours later",
      isReal: true,
      statuses: ["pass", "fail"],
      file: devices,
    },
    { how: "a kernel that has crashed in part since boot", isReal: false, statuses: ["fail"], file: devices },
  ],
  timers: [
    { how: "a timer whose service fails, then succeeds", isReal: true, statuses: ["pass", "fail"], file: units },
  ],
  lvm_thin: [
    {
      how: "a pool that fills up, is full, is healthy again, and none, as LVM tells of them",
      isReal: false,
      statuses: ["warn", "fail", "pass", "skip"],
      file: devices,
    },
  ],
  filesystem_health: [
    { how: "an ext4 in which the kernel finds an error", isReal: true, statuses: ["pass", "fail"], file: devices },
    {
      how: "a btrfs whose data is changed behind its back, until its counters are reset",
      isReal: true,
      statuses: ["warn", "pass"],
      file: devices,
    },
    { how: "a pool of ZFS that has lost a disk, as ZFS tells of it", isReal: false, statuses: ["fail"], file: devices },
  ],
  smart: [
    {
      how: "disks of several makers, failing, worn and healthy, and none, as smartctl tells of them",
      isReal: false,
      statuses: ["fail", "warn", "pass", "skip"],
      file: devices,
    },
  ],
  unit_memory: [
    {
      how: "a unit that comes near to its limit and is healthy again, and no limits, as cgroup v2 tells of them",
      isReal: false,
      statuses: ["warn", "fail", "pass", "skip"],
      file: units,
    },
  ],
  conntrack: [
    {
      how: "300 and 1200 connections in a network of its own, and settings that allow few",
      isReal: true,
      statuses: ["pass", "warn", "fail"],
      file: units,
    },
  ],
  temperature: [
    {
      how: "a processor that gets hot, too hot and cool again, and none, as the kernel's drivers tell of it",
      isReal: false,
      statuses: ["skip", "warn", "fail", "pass"],
      file: devices,
    },
  ],
  clock_offset: [
    {
      how: "a clock that chrony is far from, near to, and none, as chronyc tells of it",
      isReal: false,
      statuses: ["skip", "fail", "warn", "pass"],
      file: devices,
    },
    {
      how: "a chrony whose server is hours, a second and a moment away, and one that has none; a clock set back by hours",
      isReal: true,
      statuses: ["skip", "fail", "warn", "pass"],
      file: devices,
    },
  ],
  endpoints: [
    {
      how: "a web server, a port and a name of the settings, before and after the server starts",
      isReal: true,
      statuses: ["fail", "pass"],
      file: units,
    },
  ],
  containers: [
    {
      how: "containers that restart over and over, are unhealthy, killed for their memory, healthy, and none, as Docker tells of them",
      isReal: false,
      statuses: ["skip", "fail", "pass"],
      file: units,
    },
  ],
  backup_age: [
    {
      how: "a directory without a file, with one of three days ago, and with a new one",
      isReal: true,
      statuses: ["fail", "pass"],
      file: units,
    },
    { how: "a timer whose service fails, then succeeds", isReal: true, statuses: ["fail", "pass"], file: units },
    {
      how: "snapper without a snapshot, with one of three days ago, and with a new one",
      isReal: true,
      statuses: ["fail", "pass"],
      file: units,
    },
  ],
} as const satisfies Readonly<Record<string, readonly Provocation[]>>;

export type ProvokedCheck = keyof typeof provocations;
/** The titles of a check's provocations. */
export type How<Id extends ProvokedCheck> = (typeof provocations)[Id][number]["how"];
