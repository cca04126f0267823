import { createHash } from "node:crypto";

/** Everything that decides what the image holds. Any change here makes a new image at the next start. */
export const recipe = {
  /** Raise when a step of the build itself changes. */
  layout: 2,
  suite: "bookworm",
  sizeBytes: 6 * 1024 ** 3,
  packages: [
    "apt-utils",
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
    // The logind that polkitd asks for: debootstrap does not choose between alternatives.
    "libpam-systemd",
    "libzypp-config",
    "libzypp1722",
    "logrotate",
    "monitoring-plugins-basic",
    "nftables",
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
  /** Files of packages that are not installed: zypper and dnf-plugins-core both have a program needs-restarting. */
  unpacked: { zypper: ["/usr/bin/zypper"] },
  /** The guest shares the network of the machine: none of these may listen or reconfigure there. Nobody logs in on a console. */
  maskedUnits: [
    "ssh.service",
    "ssh.socket",
    "systemd-networkd.service",
    "systemd-resolved.service",
    "console-getty.service",
  ],
  /** What they do at a moment of their own (a snapshot at boot, downloads) would come between the steps of a test. */
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
  /** The name under which the guest has its disk, whichever loop device that is. */
  diskDevice: "/dev/testhost",
  links: {
    // In a container systemd skips the lines of fstab that name something below /dev: ours goes the long way round.
    "/etc/testhost-disk": "/dev/testhost",
    // Otherwise systemd takes the identity that this one was given at the build, the same for all copies.
    "/var/lib/dbus/machine-id": "/etc/machine-id",
  },
  folders: ["/var/log/journal", "/opt/steward", "/etc/steward"],
} as const;

/** Short name of this recipe on this kind of processor. */
export function recipeKey(): string {
  const text = JSON.stringify([process.arch, recipe]);
  return createHash("sha256").update(text).digest("hex").slice(0, 12);
}
