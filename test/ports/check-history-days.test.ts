import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { checks, dayMs, hourMs, type Simulated, simulateHistory } from "./support/check-history-days.ts";

let stateDir: string;
let simulated: Simulated | undefined;
beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), "steward-history-"));
});
afterEach(() => {
  simulated?.dispose();
  rmSync(stateDir, { recursive: true, force: true });
});

it("days of 40 checks take a row for a run only in the last hour, and hours of figures of two days", async () => {
  simulated = await simulateHistory(stateDir, 1);
  const { bytes, rows, history, now } = simulated;
  expect(bytes).toBeLessThan(3e6);
  expect(rows.runs).toBeLessThanOrEqual(checks * 62);
  expect(rows.transitions).toBeLessThanOrEqual(3 * 1060 + 37 * 10);
  expect(rows.hours).toBeLessThanOrEqual(checks * 24);
  expect(rows.series).toBe(50);
  expect(rows.minutes).toBeLessThanOrEqual(24 * 60);
  expect(rows.point_hours).toBeLessThanOrEqual(24);
  const [day] = history.uptime("check_0", now);
  expect(day?.timeMs.unknown).toBeLessThan(hourMs / 4);
  const changes = history.days("check_5", now - dayMs, now)[0]?.changes ?? 0;
  // The first run, and the first after ten minutes without the service.
  expect(history.transitions("check_5", now - dayMs, 100).total - changes).toBe(2);
});
