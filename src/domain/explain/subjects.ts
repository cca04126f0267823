import type { HealthCheckResult } from "#contract/checks.ts";

export interface Subjects {
  /** Canonical names; `kernel` for the kernel. */
  readonly units: readonly string[];
  /** SYSLOG_IDENTIFIER of programs of unknown units. */
  readonly identifiers: readonly string[];
}

const aptUnits = ["apt-daily.service", "apt-daily-upgrade.service", "unattended-upgrades.service"];
const dnfUnits = [
  "dnf-makecache.service",
  "dnf-automatic.service",
  "dnf-automatic-install.service",
  "dnf5-makecache.service",
  "dnf5-automatic.service",
];

/** Units of a check that it does not name; those missing on the host are just not found. */
const belonging: Readonly<Record<string, readonly string[]>> = {
  disk_space: ["kernel"],
  inode_usage: ["kernel"],
  memory: ["kernel", "systemd-oomd.service"],
  swap_usage: ["kernel", "systemd-oomd.service"],
  oom_kills: ["kernel", "systemd-oomd.service"],
  read_only_filesystems: ["kernel"],
  raid_status: ["kernel", "mdmonitor.service"],
  time_sync: ["systemd-timesyncd.service", "chrony.service", "chronyd.service", "ntpsec.service", "ntpd.service"],
  dns_resolution: ["systemd-resolved.service", "dnsmasq.service", "unbound.service", "named.service"],
  network_connectivity: ["systemd-networkd.service", "NetworkManager.service", "networking.service", "kernel"],
  apt_status: aptUnits,
  dnf_status: dnfUnits,
  security_updates: [...aptUnits, ...dnfUnits],
  journal_size: ["systemd-journald.service"],
  tls_certificates: ["certbot.service", "nginx.service", "apache2.service", "httpd.service"],
  ssh_config: ["ssh.service", "sshd.service"],
  firewall: ["nftables.service", "firewalld.service", "ufw.service", "iptables.service"],
};

const most = { units: 20, identifiers: 4 } as const;

const unitName =
  /(?<![A-Za-z0-9:_.\\@/-])[A-Za-z0-9:_\\][A-Za-z0-9:_.\\@-]{0,200}\.(?:service|socket|mount|automount|swap|target|path|timer|slice|scope)(?![A-Za-z0-9_@-])/g;
/** Fields of details with names of programs. */
const programFields = new Set(["process", "program", "identifier"]);

function* textsOf(value: unknown, field: string): Generator<readonly [field: string, text: string]> {
  if (typeof value === "string") yield [field, value];
  else if (Array.isArray(value)) for (const each of value) yield* textsOf(each, field);
  else if (typeof value === "object" && value !== null)
    for (const [name, each] of Object.entries(value)) yield* textsOf(each, name);
}

/** The units and programs that a result names, and those of its check. */
export function subjectsOf({ check_id: id, message, details }: HealthCheckResult): Subjects {
  const units = new Set<string>();
  const identifiers = new Set<string>();
  for (const [field, text] of [...textsOf(details, ""), ["message", message] as const]) {
    for (const [name] of text.matchAll(unitName)) units.add(name);
    if (programFields.has(field) && text !== "") identifiers.add(text);
  }
  for (const name of belonging[id] ?? []) units.add(name);
  return {
    units: [...units].slice(0, most.units),
    identifiers: [...identifiers].slice(0, most.identifiers),
  };
}
