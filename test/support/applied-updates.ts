import type { ApplyInput, ApplyPhase, ApplyPorts } from "#domain/updates/apply-steps.ts";
import type { Condition } from "#domain/updates/condition.ts";
import { downgradeRules } from "#domain/updates/downgrades.ts";
import { fakeCondition } from "../api/conditions.ts";
import { createFakeClock } from "../fakes/clock.ts";
import { createFakeConfigFiles } from "../fakes/config-files.ts";
import { createFakeFileSystems } from "../fakes/file-systems.ts";
import { createFakePackageManager, type FakePackageManager, fakePackage } from "../fakes/package-manager.ts";
import { createFakeRebootNeed } from "../fakes/reboot-need.ts";
import { createSnapshotsOf } from "../fakes/snapshot-backend.ts";
import { createFakeStaleCode } from "../fakes/stale-code.ts";
import { createFakeUnits, runningUnit } from "../fakes/units.ts";

export const { signal } = new AbortController();
export const quiet = { step: () => undefined, line: () => undefined };

export const unitsWhenWell = { "server.service": "active", "peer.service": "active", "old.service": "failed" };
export const well = fakeCondition({ units: unitsWhenWell });
export const withServer = (activeState: string) =>
  fakeCondition({ units: { ...unitsWhenWell, "server.service": activeState } });

export function setUp() {
  const manager = createFakePackageManager([
    fakePackage("editor", "1.0"),
    fakePackage("library", "2.0"),
    fakePackage("server", "3.0"),
  ]);
  manager.repository.set("editor", { version: "1.1", isSecurity: false });
  manager.repository.set("library", { version: "2.1", isSecurity: true });
  manager.repository.set("server", { version: "3.1", isSecurity: false });
  const clock = createFakeClock();
  const configFiles = createFakeConfigFiles();
  const units = createFakeUnits([
    runningUnit("web.service"),
    { ...runningUnit("frail.service"), jobResult: "failed", after: { activeState: "failed" } },
  ]);
  const staleCode = createFakeStaleCode([], (unit) => units.actions.includes(`restart ${unit}`));
  let condition: () => Condition = () => well;
  const ports: ApplyPorts = {
    manager,
    backend: createSnapshotsOf(manager),
    condition: { look: () => Promise.resolve(condition()), restart: () => Promise.resolve() },
    newErrors: { between: () => Promise.resolve({ errors: [], unread: [] }) },
    // Time passes by itself.
    clock: { now: clock.now, monotonicMs: clock.monotonicMs, sleep: (durationMs) => clock.advance(durationMs) },
    guard: { guardMs: 60_000, enoughMs: 60_000 },
    configFiles,
    stale: { code: staleCode, units, reboot: createFakeRebootNeed() },
    rules: downgradeRules(),
    fileSystems: createFakeFileSystems(),
  };
  const wanted = (rest: Partial<ApplyInput> = {}): ApplyInput => ({
    request: { type: "packages", isSecurityOnly: false, names: undefined },
    takesSnapshot: true,
    isGuarded: false,
    ...rest,
  });
  return {
    manager,
    units,
    staleCode,
    ports,
    configFiles,
    wanted,
    becomes: (next: () => Condition): void => {
      condition = next;
    },
  };
}

export const work = (phase?: ApplyPhase, savePhase: (phase: ApplyPhase) => void = () => undefined) => ({
  id: "op-1",
  progress: quiet,
  phase,
  savePhase,
  signal,
});
export const versions = ({ packages }: FakePackageManager) =>
  Object.fromEntries([...packages].map(([name, { version }]) => [name, version]));
export const guarded = { isGuarded: true };
