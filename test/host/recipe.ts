import { createHash } from "node:crypto";

/** Debian releases that the test host can be built from. */
export const suites = ["bookworm", "trixie", "sid"] as const;
export type Suite = (typeof suites)[number];

/**
 * The release that hosts run unless one is named: `STEWARD_TEST_HOST`, else Debian 12.
 * @throws Error when the variable names none of {@link suites}.
 */
export function defaultSuite(env: NodeJS.ProcessEnv = process.env): Suite {
  const name = env["STEWARD_TEST_HOST"] || "bookworm";
  const suite = suites.find((each) => each === name);
  if (suite === undefined)
    throw new Error(`cannot build a test host from ${name} (choose one of ${suites.join(", ")})`);
  return suite;
}

/** The name under which the guest has its disk, whichever loop device that is. */
export const diskDevice = "/dev/testhost";

/** Packages that have another name in each release. */
const packagesOfSuite: Readonly<Record<Suite, readonly string[]>> = {
  // usr-is-merged: instead of a program that merges, and its libraries.
  bookworm: ["libzypp1722", "usr-is-merged"],
  // From Debian 13 on these are no longer in the base system; monitoring plugins are written in perl.
  trixie: ["e2fsprogs", "libzypp1735", "perl"],
  // Dnf 5 is not in a release yet.
  sid: ["dnf5", "e2fsprogs", "libzypp1735", "openssh-client", "perl"],
};

/**
 * What `npm test -- --host SUITE` runs on a Debian besides the project "host": the long tests that are about the host itself. The
 * others bring a tree of their own (dnf, zypper, pacman), or are of the package manager's internals: on Debian 12 alone.
 */
export const longTestsOn: readonly string[] = [
  "approvals",
  "audit",
  "bus-forged",
  "chaos",
  "chaos-network",
  "chaos-storage",
  "checks",
  "cli",
  "compromised",
  "demo",
  "diagnosis",
  "egress",
  "examples",
  "fixes",
  "hanging-paths",
  "host-failures",
  "hostile-texts",
  "image-based",
  "logs-storage",
  "observability",
  "operations",
  "package",
  "packages",
  "packages-change",
  "plugin-examples",
  "plugins",
  "plugins-sandbox",
  "privileges-hostile",
  "privileges-sandbox",
  "quiet-hosts",
  "reboot",
  "restarts-needed",
  "root-record",
  "root-requests",
  "service-manager",
  "services",
  "snapshots",
  "socket",
  "tls",
  "traces-received",
  "tracing",
  "updates",
  "updates-apt",
  "updates-automatic",
  "updates-guard",
  "updates-kernels",
  "updates-many",
  "updates-rollback",
  "updates-shutdown",
].map((name) => `test/host/${name}.long.test.ts`);

/**
 * Timers that no guest starts: what they do at a time of their own (at the full hour, at midnight, minutes after a boot) would
 * come between the steps of a test. They are masked at each boot, so the list needs no new image.
 */
export const silentTimers: readonly string[] = [
  "dpkg-db-backup.timer",
  "e2scrub_all.timer",
  "fstrim.timer",
  "logrotate.timer",
  "snapper-cleanup.timer",
  "snapper-timeline.timer",
  "systemd-tmpfiles-clean.timer",
];

/** Everything that decides what the image holds. Any change here makes a new image at the next start. */
const recipe = {
  /** Raise when a step of the build itself changes. */
  layout: 4,
  sizeBytes: 6 * 1024 ** 3,
  packages: [
    "apt-utils",
    // A file system whose program can be stopped: it gives no answer then.
    "bindfs",
    "btrfs-progs",
    "ca-certificates",
    // Managers of other families: no package of the host itself is theirs, tests give them a tree of their own.
    "createrepo-c",
    "cron",
    "curl",
    "dbus",
    "dnf",
    "dnf-plugins-core",
    "iproute2",
    "libaugeas0",
    "libpam-systemd",
    "libzypp-config",
    "logrotate",
    "monitoring-plugins-basic",
    "nftables",
    // A file system of a local disk by a program.
    "ntfs-3g",
    "openssh-server",
    "pacman-package-manager",
    "polkitd",
    "procps",
    // The observability stack: Prometheus, what routes its alerts, and what measures the host.
    "prometheus",
    "prometheus-alertmanager",
    "prometheus-node-exporter",
    "python3-minimal",
    "rpm",
    "snapper",
    "systemd",
    "systemd-sysv",
    "zypper-common",
  ],
  /**
   * Files of packages that are not installed: zypper and dnf-plugins-core both have a program needs-restarting, and systemd would take an
   * installed chrony for its own.
   */
  unpacked: { chrony: ["/usr/sbin/chronyd"], zypper: ["/usr/bin/zypper"] },
  /** The guest shares the network of the machine: none of these may listen or reconfigure there. Nobody logs in on a console. */
  maskedUnits: [
    "ssh.service",
    "ssh.socket",
    "systemd-networkd.service",
    "systemd-resolved.service",
    "console-getty.service",
  ],
  /** What they do at a time of their own (a snapshot at boot, downloads) would come between the steps of a test. */
  disabledUnits: [
    "snapper-boot.timer",
    "apt-daily.timer",
    "apt-daily-upgrade.timer",
    // They listen on the network: a test starts them where it is its own.
    "prometheus.service",
    "prometheus-alertmanager.service",
    "prometheus-node-exporter.service",
  ],
  files: {
    "/etc/hostname": "steward-testhost\n",
    "/etc/hosts": "127.0.0.1 localhost\n127.0.1.1 steward-testhost\n::1 localhost\n",
    "/etc/fstab": "/etc/testhost-disk /.snapshots btrfs subvol=@snapshots,noatime 0 0\n",
    // Empty, not missing: each copy gets an identity of its own without the presets of a first boot.
    "/etc/machine-id": "",
    "/etc/resolv.conf": "",
  },
  links: {
    // In a container systemd skips the lines of fstab that name something below /dev: ours goes the long way round.
    "/etc/testhost-disk": diskDevice,
    // Otherwise systemd takes the identity that this one was given at the build, the same for all copies.
    "/var/lib/dbus/machine-id": "/etc/machine-id",
  },
  directories: ["/var/log/journal", "/opt/steward", "/etc/steward"],
} as const;

/** A container on the kernel of this machine, or a machine with a kernel of its own. */
export type Kind = "container" | "machine";

/** What a machine has besides. Its file system is ext4, which is made of a tree of files without mounting it. */
const machine = {
  /** Raise when a step of the build itself changes. */
  machineLayout: 1,
  packages: [
    "apparmor",
    // Drivers of AHCI disks are missing in the kernel for clouds.
    "linux-image-amd64",
    "initramfs-tools",
    "lvm2",
    "mdadm",
    "smartmontools",
    "systemd-timesyncd",
    "udev",
  ],
  /** Its network is its own. A getty on the serial line would hang up on what writes there. */
  maskedUnits: ["serial-getty@ttyS0.service", "console-getty.service", "systemd-resolved.service"],
  enabledUnits: ["ssh.service", "systemd-networkd.service", "systemd-timesyncd.service"],
  files: {
    "/etc/systemd/network/20-machine.network":
      "[Match]\nName=en*\n[Network]\nAddress=10.0.2.15/24\nGateway=10.0.2.2\nDNS=10.0.2.3\n",
  },
} as const;

type Changed = "packages" | "maskedUnits" | "files";
export type Recipe = Omit<typeof recipe, Changed> & {
  readonly suite: Suite;
  readonly packages: readonly string[];
  readonly maskedUnits: readonly string[];
  readonly files: Readonly<Record<string, string>>;
  readonly machineLayout?: number;
  readonly enabledUnits?: readonly string[];
};

/** The recipe of one release. */
export function recipeOf(suite: Suite, kind: Kind = "container"): Recipe {
  const container = { ...recipe, suite, packages: [...recipe.packages, ...packagesOfSuite[suite]] };
  if (kind === "container") return container;
  return {
    ...container,
    ...machine,
    packages: [...container.packages, ...machine.packages],
    files: { ...container.files, ...machine.files },
  };
}

/** Short name of a recipe on this kind of processor. */
export function recipeKey(of: Recipe): string {
  const text = JSON.stringify([process.arch, of]);
  return createHash("sha256").update(text).digest("hex").slice(0, 12);
}
