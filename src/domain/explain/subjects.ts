import type { HealthCheckResult } from "#contract/checks.ts";
import { isRecord } from "#kernel/values.ts";

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
  time_sync: [
    "systemd-timedated.service",
    "systemd-timesyncd.service",
    "chrony.service",
    "chronyd.service",
    "ntpsec.service",
    "ntpd.service",
  ],
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

const most = { units: 20, identifiers: 4, processes: 5, templates: 20 } as const;

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

const textsIn = ({ message, details }: HealthCheckResult) => [...textsOf(details, ""), ["message", message] as const];

/** The units that a result names itself. */
export function namedUnits(result: HealthCheckResult): readonly string[] {
  const names = textsIn(result).flatMap(([, text]) => [...text.matchAll(unitName)].map(([name]) => name));
  return [...new Set(names)];
}

const templateId = /^[0-9a-f]{16}$/;

/** The ids of log templates that the details name. */
export function namedTemplates({ details }: HealthCheckResult): readonly string[] {
  const ids = [...objectsOf(details)].flatMap(({ template }) =>
    typeof template === "string" && templateId.test(template) ? [template] : [],
  );
  return [...new Set(ids)].slice(0, most.templates);
}

function* objectsOf(value: unknown): Generator<Readonly<Record<string, unknown>>> {
  if (isRecord(value)) yield value;
  if (typeof value === "object" && value !== null) for (const each of Object.values(value)) yield* objectsOf(each);
}

/** The processes that the details name by their number. */
export function namedProcesses({
  details,
}: HealthCheckResult): readonly { readonly pid: number; readonly name: string }[] {
  const named = new Map<number, string>();
  for (const { pid, name, process } of objectsOf(details)) {
    const program = name ?? process;
    if (typeof pid === "number" && typeof program === "string" && !named.has(pid)) named.set(pid, program);
  }
  return [...named].slice(0, most.processes).map(([pid, name]) => ({ pid, name }));
}

/** The units and programs that a result names, those of its check, and others that have to do with it. */
export function subjectsOf(result: HealthCheckResult, others: readonly string[] = []): Subjects {
  const programs = textsIn(result).flatMap(([field, text]) => (programFields.has(field) && text !== "" ? [text] : []));
  const units = [...namedUnits(result), ...others, ...(belonging[result.check_id] ?? [])];
  return {
    units: [...new Set(units)].slice(0, most.units),
    identifiers: [...new Set(programs)].slice(0, most.identifiers),
  };
}
