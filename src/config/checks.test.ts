import { expect, it } from "vitest";
import { backupTargets, checkFaults, checkPlan, pluginSettings } from "./checks.ts";

it("settings of checks: isolated is set for the host, and for single checks", () => {
  const health = { isolated: true, checks: { dns_resolution: { isolated: false } } };
  expect(checkPlan({ health })).toEqual({ isIsolated: true, checks: { dns_resolution: { isIsolated: false } } });
});

it("settings of checks: durations are in milliseconds", () => {
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

it("settings of checks: a command makes a check of a monitoring plugin", () => {
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

it("settings of checks: backup targets have ages in hours", () => {
  const targets = [
    { name: "db", folder: "/srv/db", pattern: "*.zst", warn: "90m" },
    { name: "files", unit: "files.timer", fail: "3d" },
    { name: "system", snapper: "root" },
  ];
  expect(backupTargets({ health: { checks: { backup_age: { targets } } } })).toEqual([
    { name: "db", kind: "folder", folder: "/srv/db", pattern: "*.zst", warn: 1.5 },
    { name: "files", kind: "unit", unit: "files.timer", fail: 72 },
    { name: "system", kind: "snapper", config: "root" },
  ]);
  expect(backupTargets({})).toEqual([]);
});

it.each([
  [[{ name: "db" }], ["targets.0.name"]],
  [[{ name: "db", folder: "/srv", unit: "db.timer" }], ["targets.0.name"]],
  [[{ name: "db", unit: "db.timer", snapper: "root" }], ["targets.0.name"]],
  [[{ name: "db", folder: "srv" }], ["targets.0.folder"]],
  [[{ name: "db", unit: "db.timer", pattern: "*" }], ["targets.0.pattern"]],
  [
    [
      { name: "db", folder: "/srv" },
      { name: "db", unit: "db.timer" },
    ],
    ["targets.1.name"],
  ],
])("settings of checks: a backup target is refused as %j", (targets, expected) => {
  const faults = checkFaults({ health: { checks: { backup_age: { targets } } } }, [], ([, , , ...path], message) => ({
    source: "",
    path: path.join("."),
    message,
  }));
  expect(faults.map(({ path }) => path)).toEqual(expected);
});

it("settings of checks: learning is a time, and only for new_errors", () => {
  expect(checkPlan({ health: { checks: { new_errors: { learning: "14d" } } } }).checks).toEqual({
    new_errors: { learningMs: 14 * 24 * 3_600_000 },
  });
  const faults = checkFaults(
    { health: { checks: { memory: { learning: "14d" } } } },
    [],
    ([, , , ...path], message) => ({
      source: "",
      path: path.join("."),
      message,
    }),
  );
  expect(faults).toEqual([{ source: "", path: "learning", message: "can be given only for new_errors" }]);
});

it("settings of checks: targets are only for backup_age", () => {
  const targets = [{ name: "db", folder: "/srv" }];
  const at = ([, , id, key]: readonly string[], message: string) => ({ source: "", path: `${id}.${key}`, message });
  expect(checkFaults({ health: { checks: { memory: { targets } } } }, [], at)).toEqual([
    { source: "", path: "memory.targets", message: "can be given only for backup_age" },
  ]);
});

it("settings of checks: thresholds are given by mount point, in bytes or inodes", () => {
  const checks = {
    disk_space: {
      margin: 5,
      free_below: { warn: "10GB", fail: "512MiB" },
      mounts: { "/srv": { warn: 95, free_below: { warn: "1TB" } } },
    },
    inode_usage: { free_below: { fail: 1000 } },
    cpu_load: { over: "10m" as const },
    network_connectivity: { isolated: true },
  };
  expect(checkPlan({ health: { checks } }).checks).toEqual({
    disk_space: {
      margin: 5,
      freeBelow: { warn: 10e9, fail: 512 * 2 ** 20 },
      mounts: { "/srv": { warn: 95, freeBelow: { warn: 1e12 } } },
    },
    inode_usage: { freeBelow: { fail: 1000 } },
    cpu_load: { overMs: 600_000 },
    network_connectivity: { isIsolated: true },
  });
});

it.each([
  ["disk_space", { free_below: { warn: 5 } }, "disk_space.free_below.warn", "must be a size, such as 10GB"],
  [
    "inode_usage",
    { mounts: { "/srv": { free_below: { fail: "5GB" } } } },
    "inode_usage.mounts./srv.free_below.fail",
    "must be a number",
  ],
  ["memory", { over: "5m" as const }, "memory.over", "can be given only for cpu_load"],
  [
    "memory",
    { isolated: true },
    "memory.isolated",
    "can be given only for network_connectivity and dns_resolution and time_sync and security_updates",
  ],
  ["memory", { mounts: {} }, "memory.mounts", "can be given only for disk_space and inode_usage"],
  ["memory", { free_below: {} }, "memory.free_below", "can be given only for disk_space and inode_usage"],
])("settings of checks: %s is refused with %j", (id, settings, path, message) => {
  const at = ([, , ...keys]: readonly string[], what: string) => ({ source: "", path: keys.join("."), message: what });
  expect(checkFaults({ health: { checks: { [id]: settings } } }, [], at)).toEqual([{ source: "", path, message }]);
});
