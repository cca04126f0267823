import { expect, it } from "vitest";
import { checks, dayMs, hourMs, simulateHistory } from "./support/check-history-days.ts";
import { directoryPerTest } from "./support/directories.ts";

const at = directoryPerTest();

// It writes 1.8 million runs.
it("a month of 40 checks takes less than 5 MB, restarts included", async () => {
  const { bytes, rows, history, now, dispose } = await simulateHistory(at(), 31);
  expect(bytes).toBeLessThan(5e6);
  expect(rows.runs).toBeLessThanOrEqual(checks * 62);
  // Three of them change at every run.
  expect(rows.transitions).toBeLessThanOrEqual(3 * 1060 + 37 * 250);
  expect(rows.hours).toBeLessThanOrEqual(checks * (30 * 24 + 3));
  expect(rows.series).toBe(50);
  expect(rows.minutes).toBeLessThanOrEqual(2 * 24 * 60 + 61);
  expect(rows.point_hours).toBeLessThanOrEqual(31 * 24);
  const [, , month] = history.uptime("check_0", now);
  expect(month?.timeMs.unknown).toBeLessThan(2 * hourMs);
  expect(Math.abs((month?.timeMs.pass ?? 0) - (month?.timeMs.warn ?? 0))).toBeLessThan(hourMs);
  expect(history.days("check_5", now - 30 * dayMs, now)).toHaveLength(30);
  // Six minutes a week are missing by the restarts, and ten without the service.
  const [figures] = history.minutes({ checkId: "check_0", since: now - dayMs, until: now });
  expect(figures?.points.length).toBeGreaterThan(1400);
  dispose();
}, 3_600_000);
