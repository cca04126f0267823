import { expect, it } from "vitest";
import { checkPlan, pluginSettings } from "./checks.ts";

it("turns the settings of checks into milliseconds and leaves out what is not said", () => {
  expect(checkPlan({})).toEqual({ checks: {} });
  const health = {
    interval: "2m",
    checks: {
      disk_space: { warn: 70, fail: 90, interval: "500ms", timeout: "10s", ignore: ["/mnt"] },
      firewall: { enabled: false, interval: "1h" },
      memory: { interval: "1d" },
    },
  };
  expect(checkPlan({ health })).toEqual({
    intervalMs: 120_000,
    checks: {
      disk_space: { warn: 70, fail: 90, intervalMs: 500, timeoutMs: 10_000, ignore: ["/mnt"] },
      firewall: { isEnabled: false, intervalMs: 3_600_000 },
      memory: { intervalMs: 86_400_000 },
    },
  });
});

it("makes checks of plugins, whose times are in the plan as those of any check", () => {
  const health = {
    checks: {
      disk_space: { warn: 70 },
      backup_age: {
        command: ["/usr/bin/check", "-w", "5"],
        name: "Age of the backup",
        severity: "high" as const,
        interval: "15m",
        timeout: "20s",
        enabled: false,
      },
      other: { command: ["/usr/bin/other"], user: "root" as const },
    },
  };
  const named = { name: "Age of the backup", severity: "high" };
  expect(pluginSettings({ health })).toEqual([
    { id: "backup_age", command: ["/usr/bin/check", "-w", "5"], isRoots: false, ...named },
    { id: "other", command: ["/usr/bin/other"], isRoots: true },
  ]);
  expect(checkPlan({ health }).checks).toEqual({
    disk_space: { warn: 70 },
    backup_age: { isEnabled: false, intervalMs: 900_000, timeoutMs: 20_000 },
    other: {},
  });
  expect(pluginSettings({})).toEqual([]);
});
