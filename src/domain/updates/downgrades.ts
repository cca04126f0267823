import { DomainError } from "#domain/common/error.ts";
import type { SnapshotDiff } from "#domain/ports/snapshots.ts";

interface DowngradeRule {
  /** A name, or its start and `*`. */
  readonly packages: string;
  /** How many leading numbers of a version decide; all of them unless given. */
  readonly numbers?: number;
  readonly reason: string;
}

const all = Number.POSITIVE_INFINITY;

/** What does not start, or loses data, where a newer version has run: packages, deciding numbers, the reason. */
const knownRules = (
  [
    [
      "mysql-server* mysql-community-server* percona-server-server*",
      all,
      "MySQL upgrades its data dictionary when it starts, and an older server does not start on it",
    ],
    ["mariadb-server*", 2, "an older series of MariaDB does not read newer system tables"],
    ["postgresql*-server", 1, "PostgreSQL reads no data directory of another major version"],
    ["mongodb*-server mongodb-org-server", 2, "MongoDB reads no data files of a newer series"],
    ["redis redis-server", 2, "Redis may not load a dump that a newer version has written"],
    ["valkey valkey-server", 2, "Valkey may not load a dump that a newer version has written"],
    ["elasticsearch opensearch", all, "a node does not start on data of a newer version"],
    ["influxdb influxdb2", 2, "InfluxDB changes its stored data when it is upgraded"],
    ["clickhouse-server", 2, "ClickHouse does not read parts that a newer version has written"],
    ["cassandra", 1, "Cassandra reads no tables of a newer major version"],
    ["rabbitmq-server", 2, "RabbitMQ does not start with feature flags that it does not know"],
    ["etcd etcd-server", 2, "etcd refuses data of a newer minor version"],
    ["slapd openldap-servers", 2, "OpenLDAP may not read a database that a newer series has written"],
    ["gitlab-ce gitlab-ee", 2, "GitLab does not undo migrations of its database"],
    [
      "grafana grafana-enterprise",
      2,
      "Grafana changes its database when it is upgraded, and an older version does not undo that",
    ],
  ] as const
).flatMap(([names, numbers, reason]) => names.split(" ").map((packages) => ({ packages, numbers, reason })));

export type DowngradeRules = readonly DowngradeRule[];

/** @param settings by name, which may end in `*`: why it must not be downgraded, or false where it may. */
export const downgradeRules = (settings: Readonly<Record<string, string | false>> = {}): DowngradeRules => [
  ...Object.entries(settings).flatMap(([packages, reason]) => (reason === false ? [] : [{ packages, reason }])),
  ...knownRules.filter(({ packages }) => settings[packages] === undefined),
];

function matches(pattern: string, name: string): boolean {
  const [start = "", end] = pattern.split("*");
  if (end === undefined) return name === pattern;
  return name.length >= start.length + end.length && name.startsWith(start) && name.endsWith(end);
}

/** Epoch and upstream version as numbers, without the distribution's revision. */
function numbersOf(version: string): readonly number[] {
  const [, epoch = "0", upstream = ""] = /^(?:(\d+):)?(.*?)(?:-[^-]*)?$/s.exec(version) ?? [];
  return [epoch, ...(upstream.match(/\d+/g) ?? [])].map(Number);
}

function isDowngrade(from: string, to: string, numbers = all): boolean {
  const [is, becomes] = [numbersOf(from), numbersOf(to)];
  for (let at = 0; at < Math.min(numbers + 1, Math.max(is.length, becomes.length)); at += 1) {
    const [now = 0, then = 0] = [is[at], becomes[at]];
    if (now !== then) return then < now;
  }
  return false;
}

interface Downgrade {
  readonly name: string;
  readonly from: string;
  readonly to: string;
  readonly reason: string;
}

/** @param changes as a snapshot's difference: `from` is the version in the snapshot, `to` the one of now. */
export function harmfulDowngrades(
  changes: readonly Pick<SnapshotDiff["packages"][number], "name" | "from" | "to">[],
  rules: DowngradeRules,
): readonly Downgrade[] {
  return changes.flatMap(({ name, from: target, to: now }) => {
    if (target === null || now === null) return [];
    const rule = rules.find((each) => matches(each.packages, name) && isDowngrade(now, target, each.numbers));
    return rule === undefined ? [] : [{ name, from: now, to: target, reason: rule.reason }];
  });
}

/** @throws DomainError `CONFLICT` where a package that is not named in `allowed` would not survive it. */
export function refuseDowngrades(
  changes: SnapshotDiff["packages"],
  { rules, allowed = [] }: { readonly rules: DowngradeRules; readonly allowed?: readonly string[] | undefined },
): void {
  const packages = harmfulDowngrades(changes, rules).filter(({ name }) => !allowed.includes(name));
  if (packages.length === 0) return;
  const reasons = packages.map(({ name, from, to, reason }) => `${name} from ${from} to ${to} (${reason})`);
  throw new DomainError(
    "CONFLICT",
    `cannot roll back: it would downgrade ${reasons.join(", ")}; nothing was touched; back up its data, then name it in allow_downgrade`,
    { packages, retryable: false },
  );
}
