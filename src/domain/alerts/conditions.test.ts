import { expect, it } from "vitest";
import { alertNames } from "#contract/alerts.ts";
import { alertConditions } from "./conditions.ts";

it("the alerts are those of the contract, with their expressions, durations and severities", () => {
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

it("the expression of each alert names its threshold", () => {
  for (const { expression, threshold, metric } of alertConditions) {
    if (metric !== "scrape_target_down") expect(expression).toContain(`above ${threshold}%`);
  }
});
