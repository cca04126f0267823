import { expect, it } from "vitest";
import { alertNames } from "#contract/alerts.ts";
import { alertConditions, alertRouting } from "./conditions.ts";

it("the table has the alerts of the contract, with its conditions, durations and severities", () => {
  const rows = alertConditions.map(({ name, expression, durationMs, severity }) => [
    name,
    expression,
    `${durationMs / 60_000}m`,
    severity,
  ]);
  expect(rows).toEqual([
    ["HighCPUUsage", "CPU usage above 80%", "5m", "warning"],
    ["HighMemoryUsage", "memory usage above 85%", "5m", "warning"],
    ["DiskSpaceLow", "root filesystem usage above 90%", "5m", "critical"],
    ["ServiceDown", "the service's scrape target is down", "1m", "critical"],
  ]);
  expect(alertConditions.map(({ name }) => name)).toEqual(alertNames);
});

it("each expression says its threshold", () => {
  for (const { expression, threshold, metric } of alertConditions) {
    if (metric !== "scrape_target_down") expect(expression).toContain(`above ${threshold}%`);
  }
});

it("the routing is that of the contract", () => {
  expect(alertRouting).toEqual({
    groupBy: ["alertname", "severity"],
    groupWaitMs: 30_000,
    groupIntervalMs: 300_000,
    repeatIntervalMs: 14_400_000,
  });
});
