import type { PackageHistory } from "#contract/packages.ts";
import { unreadNames } from "#domain/common/page.ts";
import { toTimestamp } from "#kernel/clock.ts";
import { formatBytes } from "#kernel/text.ts";
import { diskSpaceUsed, inodesUsed } from "./disk-space-around.ts";
import { busiestProcesses, deletedFiles, largestProcesses, processesNamed } from "./processes-around.ts";
import { ask, type Surrounding } from "./reads.ts";
import { changedUnits, listeners } from "./units-around.ts";

const few = { checks: 12, transactions: 8, changes: 12, packages: 6, writers: 8, series: 6 } as const;
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
/** Times before now, and how much earlier a figure may be from. */
const looks = [
  { ago: "10 min", ms: 10 * minuteMs, withinMs: 5 * minuteMs },
  { ago: "1 h", ms: hourMs, withinMs: 10 * minuteMs },
  { ago: "6 h", ms: 6 * hourMs, withinMs: 20 * minuteMs },
  { ago: "1 d", ms: 24 * hourMs, withinMs: hourMs },
  { ago: "7 d", ms: 7 * 24 * hourMs, withinMs: 2 * hourMs },
] as const;

/** Whether it came slowly or at once: the figures of the check, such as the use of the fullest file system, at some earlier times. */
const figuresBefore: Surrounding = {
  title: "Figures of the check at earlier times",
  scope: "health:read",
  // What is asked about a unit alone is not a check.
  concerns: ({ check_id: check }) => check !== "",
  async read(reads, { check_id: check, checked_at: now }, context) {
    const found = new Map<string, string[]>();
    for (const { ago, ms, withinMs } of looks) {
      const until = Date.parse(now) - ms;
      const query = { check, since: toTimestamp(until - withinMs), until: toTimestamp(until) };
      const { series } = await ask(reads, "getCheckMetrics", query, context);
      for (const each of series) {
        const value = each.points.at(-1)?.value;
        if (value === undefined) continue;
        const values = found.get(each.name) ?? [];
        values.push(`${Math.round(value * 100) / 100}${each.unit} ${ago} ago`);
        found.set(each.name, values);
      }
    }
    return { lines: [...found].slice(0, few.series).map(([name, values]) => `${name}: ${values.join(", ")}`) };
  },
};

/** Calls that change nothing of the host: questions, tries, and how somebody signs in. */
const changesNothing = /^(?:explainCheck|diagnose|chat|test[A-Z].*)$|Session|Ticket|Code|Passkey/;

type Transaction = PackageHistory["transactions"][number];

const versionsOf = ({ from, to }: Transaction["packages"][number]): string => {
  if (from === null || to === null)
    return [from ?? to]
      .flatMap((version) => version ?? [])
      .map((each) => ` ${each}`)
      .join("");
  return ` ${from} -> ${to}`;
};

function lineOfTransaction({ started_at: at, command, packages, error }: Transaction): string {
  const named = packages
    .slice(0, few.packages)
    .map((changed) => `${changed.action} ${changed.name}${versionsOf(changed)}`);
  const rest = packages.length > named.length ? ` and ${packages.length - named.length} more` : "";
  const failed = error === null ? "" : `, error: ${error}`;
  return `${at} ${named.join(", ")}${rest}${failed}${command === null ? "" : ` (${command})`}`;
}

/** In the order in which they have space. */
export const surroundings: readonly Surrounding[] = [
  {
    title: "Host",
    scope: "system:read",
    concerns: () => true,
    async read(reads, _, context) {
      const { os, cpu, memory } = await ask(reads, "getSystemInfo", {}, context);
      return {
        lines: [
          `${os.name} ${os.version}, kernel ${os.kernel}`,
          `${cpu.threads} processors, memory ${memory.percent_used} % used of ${formatBytes(memory.total_bytes)}`,
        ],
      };
    },
  },
  figuresBefore,
  processesNamed,
  busiestProcesses,
  largestProcesses,
  diskSpaceUsed,
  deletedFiles,
  inodesUsed,
  {
    title: "Units with most entries in the journal",
    scope: "logs:read",
    concerns: ({ check_id: id }) => id === "journal_size",
    async read(reads, _, context) {
      const query = { fields: "unit", limit: few.writers, since: new Date(0).toISOString() };
      const { facets, total, unread = [] } = await ask(reads, "getLogFacets", query, context);
      return {
        lines: [
          `all: ${total} entries`,
          ...(facets.unit ?? []).map(({ value, count }) => `${value}: ${count} entries`),
          ...(unread.length === 0 ? [] : [`not read: ${unreadNames(unread)}`]),
        ],
      };
    },
  },
  listeners,
  changedUnits,
  {
    title: "Other checks that fail or warn",
    scope: "health:read",
    concerns: () => true,
    async read(reads, { check_id: own }, context) {
      const { results } = await ask(reads, "listChecks", {}, context);
      const troubled = results.filter(
        ({ check_id: id, status }) => id !== own && (status === "fail" || status === "warn"),
      );
      const lines = troubled.map(
        ({ check_id: id, status, since, message }) => `${id} ${status} since ${since}: ${message}`,
      );
      return { lines: lines.slice(0, few.checks) };
    },
  },
  {
    title: "Packages changed recently",
    scope: "packages:read",
    concerns: () => true,
    async read(reads, _, context) {
      const { transactions } = await ask(reads, "listPackageHistory", { limit: few.transactions }, context);
      return { lines: transactions.map(lineOfTransaction) };
    },
  },
  {
    title: "Changes through this service recently",
    scope: "audit:read",
    concerns: () => true,
    async read(reads, _, context) {
      const { entries } = await ask(reads, "listAudit", { limit: 100, outcome: "ok" }, context);
      const lines = entries
        .filter(({ method, dry_run: isDry, operation }) => method !== null && !isDry && !changesNothing.test(operation))
        .map(({ time, operation, target, key_name: key }) => {
          const about = Object.values(target).join(" ");
          return `${time} ${operation} ${about} by ${key ?? "nobody known"}`;
        });
      return { lines: lines.slice(0, few.changes) };
    },
  },
];
