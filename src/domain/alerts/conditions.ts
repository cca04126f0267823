import type { AlertName, AlertSeverity } from "#contract/alerts.ts";

export type AlertMetric = "cpu_percent" | "memory_percent" | "root_filesystem_percent" | "scrape_target_down";

export interface AlertCondition {
  readonly name: AlertName;
  readonly metric: AlertMetric;
  /** The condition holds above this value. A target that is down counts as 1, one that is up as 0. */
  readonly threshold: number;
  readonly durationMs: number;
  readonly severity: AlertSeverity;
  readonly expression: string;
  readonly summary: string;
}

const minuteMs = 60_000;

/** All alerts: the rules for Prometheus are generated from these; without Prometheus the service evaluates them. */
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

/** How a group of alerts is notified, here and in the Alertmanager file of the package. */
export const alertRouting = {
  groupBy: ["alertname", "severity"],
  groupWaitMs: 30_000,
  groupIntervalMs: 5 * minuteMs,
  repeatIntervalMs: 4 * 60 * minuteMs,
} as const;
