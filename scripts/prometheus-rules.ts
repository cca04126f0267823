import type { AlertCondition, AlertMetric } from "#domain/alerts/conditions.ts";
import { alertConditions } from "#domain/alerts/conditions.ts";

interface Query {
  /** What Prometheus computes, as lines. */
  readonly expression: readonly string[];
  /** When that is an alert. */
  readonly holds: (threshold: number) => string;
  /** What of it belongs into a message; none where the value says nothing more. */
  readonly value: string | undefined;
}

const isAbove = (threshold: number): string => `> ${threshold}`;
const percent = '{{ printf "%.1f" $value }} %';

/** The metrics of the table as queries over node_exporter and `up`. They count what the service itself counts. */
export const alertQueries: Readonly<Record<AlertMetric, Query>> = {
  // Waiting for a disk is idle; the last minute is what the service looks at as well.
  cpu_percent: {
    expression: [
      "100 * (1 -",
      '  sum without (cpu, mode) (rate(node_cpu_seconds_total{job="node",mode=~"idle|iowait"}[1m]))',
      '  / sum without (cpu, mode) (rate(node_cpu_seconds_total{job="node"}[1m]))',
      ")",
    ],
    holds: isAbove,
    value: percent,
  },
  memory_percent: {
    expression: ['100 * (1 - node_memory_MemAvailable_bytes{job="node"} / node_memory_MemTotal_bytes{job="node"})'],
    holds: isAbove,
    value: percent,
  },
  // As df(1) counts: what is reserved for root is neither used nor free.
  root_filesystem_percent: {
    expression: [
      '100 * (node_filesystem_size_bytes{job="node",mountpoint="/"} - node_filesystem_free_bytes{job="node",mountpoint="/"})',
      "/ (",
      '  node_filesystem_size_bytes{job="node",mountpoint="/"} - node_filesystem_free_bytes{job="node",mountpoint="/"}',
      '  + node_filesystem_avail_bytes{job="node",mountpoint="/"}',
      ")",
    ],
    holds: isAbove,
    value: percent,
  },
  // Prometheus has 0 for a target that is down.
  scrape_target_down: { expression: ['up{job="steward"}'], holds: () => "== 0", value: undefined },
};

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
/** A text in YAML, in the quotes that need nothing inside escaped. */
const quoted = (text: string): string => (text.includes('"') ? `'${text.replaceAll("'", "''")}'` : `"${text}"`);

/** A time as Prometheus writes it. */
function duration(ms: number): string {
  const units = [
    ["h", 3_600_000],
    ["m", 60_000],
    ["s", 1_000],
    ["ms", 1],
  ] as const;
  const [unit, length] = units.find((each) => ms % each[1] === 0) ?? ["ms", 1];
  return `${ms / length}${unit}`;
}

function rule({ name, metric, threshold, durationMs, severity, expression, summary }: AlertCondition): string {
  const { expression: lines, holds, value } = alertQueries[metric];
  const now = value === undefined ? "" : `, now ${value}`;
  return [
    `      - alert: ${name}`,
    "        expr: |",
    ...`${lines.join("\n")} ${holds(threshold)}`.split("\n").map((line) => `          ${line}`),
    `        for: ${duration(durationMs)}`,
    "        labels:",
    `          severity: ${severity}`,
    "        annotations:",
    `          summary: ${quoted(`${summary} on {{ $labels.instance }}`)}`,
    `          description: ${quoted(`${capital(expression)} for ${duration(durationMs)}${now}`)}`,
  ].join("\n");
}

/** The rules file for Prometheus, made from the table of conditions. */
export function prometheusRules(): string {
  return [
    "# Made by `npm run generate` from src/domain/alerts/conditions.ts.",
    "groups:",
    "  - name: steward",
    "    rules:",
    ...alertConditions.map(rule),
    "",
  ].join("\n");
}
