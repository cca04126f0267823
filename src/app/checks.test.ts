import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import type { Exec } from "#adapters/exec/index.ts";
import { loadConfig } from "#config/load.ts";
import { reservedCheckIds } from "#domain/health/registry.ts";
import type { RootSide } from "#root/request.ts";
import { createFakeHostFacts } from "../../test/fakes/host-facts.ts";
import { createFakeJournal } from "../../test/fakes/journal.ts";
import { createFakePackageManager } from "../../test/fakes/package-manager.ts";
import { createFakeTimers } from "../../test/fakes/timers.ts";
import { createFakeUnitDetails } from "../../test/fakes/unit-details.ts";
import { createFakeUnits } from "../../test/fakes/units.ts";
import { createHostChecks } from "./checks.ts";

const directory = mkdtempSync(join(tmpdir(), "steward-checks-"));
afterAll(() => rmSync(directory, { recursive: true }));

/** Every program says that it has run. */
const exec: Exec = () => Promise.resolve({ exitCode: 0, stdout: "ran", stderr: "", truncated: false });

const notHere = (): Promise<never> => Promise.reject(new Error("not here"));

/** All checks of a host of fakes. @param asked takes the tasks that root is asked for. */
function checksOf(settings: object, asked: string[] = []) {
  const rootSide = {
    request(task: string) {
      asked.push(task);
      return notHere();
    },
  } as unknown as RootSide;
  const file = join(directory, "config.yaml");
  writeFileSync(file, JSON.stringify(settings));
  const config = loadConfig({ file, environment: {}, isRoot: false, builtInCheckIds: reservedCheckIds });
  const units = createFakeUnits();
  const host = {
    facts: {
      ...createFakeHostFacts(),
      memoryPercent: () => 0,
      diskPercent: () => Promise.resolve(0),
      cpuTimes: () => ({ atMs: 0, busy: 0, total: 0, ioWait: 0 }),
      dispose: () => undefined,
    },
    systemd: {
      units,
      timers: createFakeTimers(),
      details: createFakeUnitDetails(units),
      probe: notHere,
      dispose: () => undefined,
    },
    journal: createFakeJournal(),
    packages: createFakePackageManager(),
  };
  return createHostChecks({ config, host, exec, rootSide, certificatePaths: () => [] }).checks;
}

it("a plugin of the settings takes the name of a newer built-in check, and runs as root only if it says so", async () => {
  const asked: string[] = [];
  const command = ["/usr/lib/nagios/plugins/check_smart"];
  const checks = checksOf({ health: { checks: { smart: { command }, lvm_thin: { command, user: "root" } } } }, asked);
  const named = (id: string) => checks.filter((check) => check.id === id);
  const { signal } = new AbortController();
  const [smart] = named("smart");
  expect(named("smart")).toHaveLength(1);
  expect(await smart?.run({ ignore: [] }, signal)).toMatchObject({ status: "pass", message: "ran" });
  expect(asked).toEqual([]);
  await expect(named("lvm_thin")[0]?.run({ ignore: [] }, signal)).rejects.toThrow("not here");
  expect(asked).toEqual(["monitoring.run"]);
});

it("a closed list of checks judges updates", () => {
  const byRule = Map.groupBy(checksOf({}), ({ guardedBy }) => guardedBy);
  const idsOf = (rule: "change" | "failure") => (byRule.get(rule) ?? []).map(({ id }) => id).toSorted();
  expect(idsOf("failure")).toEqual(["disk_space", "inode_usage", "kernel_errors", "memory"]);
  expect(idsOf("change")).toEqual([
    ...["apt_status", "dns_resolution", "network_connectivity", "read_only_filesystems", "ssh_config"],
    "unit_restart_loops",
  ]);
});
