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

const folder = mkdtempSync(join(tmpdir(), "steward-checks-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Every program says that it has run. */
const exec: Exec = () => Promise.resolve({ exitCode: 0, stdout: "ran", stderr: "", truncated: false });

it("gives the place of a younger check to a plugin of that name in the settings, which root does not run", async () => {
  const asked: string[] = [];
  const rootSide = {
    request: (task: string) => {
      asked.push(task);
      return Promise.reject(new Error("not here"));
    },
  } as unknown as RootSide;
  const command = ["/usr/lib/nagios/plugins/check_smart"];
  const text = JSON.stringify({ health: { checks: { smart: { command }, lvm_thin: { command, user: "root" } } } });
  const file = join(folder, "config.yaml");
  writeFileSync(file, text);
  const config = loadConfig({
    file,
    environment: {},
    isRoot: false,
    builtInCheckIds: reservedCheckIds,
  });
  const systemd = {
    units: createFakeUnits(),
    timers: createFakeTimers(),
    details: createFakeUnitDetails(createFakeUnits()),
    probe: () => Promise.reject(new Error()),
    dispose: () => undefined,
  };
  const host = {
    facts: {
      ...createFakeHostFacts(),
      memoryPercent: () => 0,
      diskPercent: () => Promise.resolve(0),
      dispose: () => undefined,
    },
    systemd,
    journal: createFakeJournal(),
    packages: createFakePackageManager(),
  };
  const { checks } = createHostChecks({ config, host, exec, rootSide, certificatePaths: () => [] });
  const named = (id: string) => checks.filter((check) => check.id === id);
  const { signal } = new AbortController();
  const [smart] = named("smart");
  expect(named("smart")).toHaveLength(1);
  expect(await smart?.run({ ignore: [] }, signal)).toMatchObject({ status: "pass", message: "ran" });
  expect(asked).toEqual([]);
  await expect(named("lvm_thin")[0]?.run({ ignore: [] }, signal)).rejects.toThrow("not here");
  expect(asked).toEqual(["monitoring.run"]);
});
