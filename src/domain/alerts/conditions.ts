import type { AlertName, AlertSeverity } from "#contract/alerts.ts";

/** What a condition looks at: a share in percent that may not exceed the threshold, or whether the service can be scraped. */
export type AlertMetric = "cpu_percent" | "memory_percent" | "root_filesystem_percent" | "scrape_target_down";

/** When there is an alert. */
export interface AlertCondition {
  readonly name: AlertName;
  readonly metric: AlertMetric;
  /** The value above which it holds. A target that is down counts as 1, one that is up as 0. */
  readonly threshold: number;
  /** How long it has to hold without a break. */
  readonly durationMs: number;
  readonly severity: AlertSeverity;
  /** The condition in words. */
  readonly expression: string;
  /** What has happened, for whoever is told. */
  readonly summary: string;
}

const minuteMs = 60_000;

/** The one table of alerts: the rules for Prometheus are generated from it, and without Prometheus the service evaluates it itself. */
export const alertConditions = [
  {
    name: "HighCPUUsage",
    metric: "cpu_percent",
    threshold: 80,
    durationMs: 5 * minuteMs,
    severity: "warning",
    expression: "CPU usage above 80%",
    summary: "The processors are more than 80 % busy",
  },
  {
    name: "HighMemoryUsage",
    metric: "memory_percent",
    threshold: 85,
    durationMs: 5 * minuteMs,
    severity: "warning",
    expression: "memory usage above 85%",
    summary: "More than 85 % of memory is used",
  },
  {
    name: "DiskSpaceLow",
    metric: "root_filesystem_percent",
    threshold: 90,
    durationMs: 5 * minuteMs,
    severity: "critical",
    expression: "root filesystem usage above 90%",
    summary: "More than 90 % of the root file system is used",
  },
  {
    name: "ServiceDown",
    metric: "scrape_target_down",
    threshold: 0,
    durationMs: minuteMs,
    severity: "critical",
    expression: "the service's scrape target is down",
    summary: "Steward does not answer Prometheus",
  },
] as const satisfies readonly AlertCondition[];

/** How alerts of one group are told, here and in the Alertmanager file that is shipped. */
export const alertRouting = {
  groupBy: ["alertname", "severity"],
  groupWaitMs: 30_000,
  groupIntervalMs: 5 * minuteMs,
  repeatIntervalMs: 4 * 60 * minuteMs,
} as const;
