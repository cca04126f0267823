import { DomainError } from "#domain/common/error.ts";
import type { SnapshotDiff } from "#domain/ports/snapshots.ts";

interface DowngradeRule {
  /** A name, or its beginning and `*`. */
  readonly packages: string;
  /** How many leading numbers of a version decide; all of them unless given. */
  readonly numbers?: number;
  readonly reason: string;
}

/** What does not start, or loses data, where a newer version has run; by the names of its packages. */
const knownRules: readonly DowngradeRule[] = [
  {
    names: ["mysql-server*", "mysql-community-server*", "percona-server-server*"],
    reason: "MySQL upgrades its data dictionary when it starts, and an older server does not start on it",
  },
  { names: ["mariadb-server*"], numbers: 2, reason: "an older series of MariaDB does not read newer system tables" },
  { names: ["postgresql*-server"], numbers: 1, reason: "PostgreSQL reads no data directory of another major version" },
  {
    names: ["mongodb*-server", "mongodb-org-server"],
    numbers: 2,
    reason: "MongoDB reads no data files of a newer series",
  },
  {
    names: ["redis", "redis-server"],
    numbers: 2,
    reason: "Redis may not load a dump that a newer version has written",
  },
  {
    names: ["valkey", "valkey-server"],
    numbers: 2,
    reason: "Valkey may not load a dump that a newer version has written",
  },
  { names: ["elasticsearch", "opensearch"], reason: "a node does not start on data of a newer version" },
  {
    names: ["influxdb", "influxdb2"],
    numbers: 2,
    reason: "InfluxDB changes its stored data when it is upgraded",
  },
  {
    names: ["clickhouse-server"],
    numbers: 2,
    reason: "ClickHouse does not read parts that a newer version has written",
  },
  { names: ["cassandra"], numbers: 1, reason: "Cassandra reads no tables of a newer major version" },
  {
    names: ["rabbitmq-server"],
    numbers: 2,
    reason: "RabbitMQ does not start with feature flags that it does not know",
  },
  { names: ["etcd", "etcd-server"], numbers: 2, reason: "etcd refuses data of a newer minor version" },
  {
    names: ["slapd", "openldap-servers"],
    numbers: 2,
    reason: "OpenLDAP may not read a database that a newer series has written",
  },
  { names: ["gitlab-ce", "gitlab-ee"], numbers: 2, reason: "GitLab does not undo migrations of its database" },
  {
    names: ["grafana", "grafana-enterprise"],
    numbers: 2,
    reason: "Grafana changes its database when it is upgraded, and an older version does not undo that",
  },
].flatMap(({ names, ...rule }) => names.map((packages) => ({ packages, ...rule })));

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

function isDowngrade(from: string, to: string, numbers = Number.POSITIVE_INFINITY): boolean {
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
