import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PackageFileMissing, TransactionUnseen, UpdateRefused } from "#domain/ports/packages.ts";
import { SnapshotUnusable } from "#domain/ports/snapshots.ts";
import { fakeCondition } from "../../../test/api/conditions.ts";
import { createFakeClock } from "../../../test/fakes/clock.ts";
import { createFakeConfigFiles } from "../../../test/fakes/config-files.ts";
import { createFakeFileSystems } from "../../../test/fakes/file-systems.ts";
import { createFakePackageManager, type FakePackageManager, fakePackage } from "../../../test/fakes/package-manager.ts";
import { createFakeRebootNeed } from "../../../test/fakes/reboot-need.ts";
import { createSnapshotsOf } from "../../../test/fakes/snapshot-backend.ts";
import { createFakeStaleCode, fakeStaleProcess } from "../../../test/fakes/stale-code.ts";
import { createFakeUnits, runningUnit } from "../../../test/fakes/units.ts";
import { applyUpdates } from "./apply.ts";
import type { ApplyInput, ApplyPhase, ApplyPorts } from "./apply-steps.ts";
import type { Condition } from "./condition.ts";
import { downgradeRules } from "./downgrades.ts";

const { signal } = new AbortController();
const quiet = { step: () => undefined, line: () => undefined };

const unitsWhenWell = { "server.service": "active", "peer.service": "active", "old.service": "failed" };
const well = fakeCondition({ units: unitsWhenWell });
const withServer = (activeState: string) =>
  fakeCondition({ units: { ...unitsWhenWell, "server.service": activeState } });

function setUp() {
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

const work = (phase?: ApplyPhase, savePhase: (phase: ApplyPhase) => void = () => undefined) => ({
  id: "op-1",
  progress: quiet,
  phase,
  savePhase,
  signal,
});
const versions = ({ packages }: FakePackageManager) =>
  Object.fromEntries([...packages].map(([name, { version }]) => [name, version]));
const guarded = { isGuarded: true };

describe("an update", () => {
  it("takes a snapshot and makes the changes of the plan", async () => {
    const { manager, ports, wanted } = setUp();
    expect(await applyUpdates(wanted(), ports, work())).toEqual({
      success: true,
      snapshot_id: "20260101-000000",
      packages_updated: 3,
      requires_reboot: false,
      operation_id: "op-1",
      packages: [
        { name: "editor", from: "1.0", to: "1.1" },
        { name: "library", from: "2.0", to: "2.1" },
        { name: "server", from: "3.0", to: "3.1" },
      ],
      requires_restart: [],
      error: null,
    });
    expect(versions(manager)).toEqual({ editor: "1.1", library: "2.1", server: "3.1" });
  });

  it("counts truly what a failed transaction has done, and says what it left", async () => {
    const { manager, ports, wanted } = setUp();
    manager.broken.add("library");
    expect(await applyUpdates(wanted(), ports, work())).toMatchObject({
      success: false,
      packages_updated: 1,
      packages: [{ name: "editor", from: "1.0", to: "1.1" }],
      error: "cannot configure library; library is half configured",
    });
  });

  it("changes nothing while the package manager is in use, and names who uses it", async () => {
    const { manager, ports, wanted } = setUp();
    const input = wanted();
    manager.lockedBy = { pid: 7, program: "apt-get" };
    await expect(applyUpdates(input, ports, work())).rejects.toMatchObject({
      code: "UNAVAILABLE",
      details: { holder: { pid: 7, program: "apt-get" }, retryable: true },
    });
    expect(versions(manager)).toEqual({ editor: "1.0", library: "2.0", server: "3.0" });
  });

  it("takes no snapshot when the caller wants none, or there is no way to", async () => {
    const { ports, wanted } = setUp();
    expect(await applyUpdates(wanted({ takesSnapshot: false }), ports, work())).toMatchObject({
      success: true,
      snapshot_id: "",
    });
    expect(await ports.backend?.list(signal)).toEqual([]);
  });

  it("is a success without a snapshot when there is nothing to update, and refuses what cannot be", async () => {
    const { manager, ports, wanted } = setUp();
    manager.repository.clear();
    expect(await applyUpdates(wanted(guarded), ports, work())).toMatchObject({
      success: true,
      snapshot_id: "",
      packages_updated: 0,
      error: null,
    });
    const request = { type: "packages", isSecurityOnly: false, names: ["nothing"] } as const;
    await expect(applyUpdates(wanted({ request }), ports, work())).rejects.toMatchObject({
      code: "VALIDATION_ERROR",
      details: { field: "packages", issue: "nothing is not installed" },
    });
  });
});

describe("configuration files that were changed on the host", () => {
  const dist = { file: "/etc/a.conf", offered: "/etc/a.conf.dpkg-dist", changedAt: 1 };
  const old = { file: "/etc/b.conf", offered: "/etc/b.conf.dpkg-dist", changedAt: 1 };

  it("are named where the update has laid a new version beside them, also in the place of an older one", async () => {
    const { manager, ports, wanted, configFiles } = setUp();
    configFiles.list = [dist, old];
    const { commit } = manager;
    const changing: FakePackageManager["commit"] = (...given) => {
      configFiles.list = [{ ...dist, changedAt: 2 }, old];
      return commit(...given);
    };
    const result = await applyUpdates(wanted(), { ...ports, manager: { ...manager, commit: changing } }, work());
    expect(result).toMatchObject({
      success: true,
      kept_configs: [{ file: "/etc/a.conf", offered: "/etc/a.conf.dpkg-dist" }],
    });
  });

  it("are not mentioned where there are none", async () => {
    const { ports, wanted, configFiles } = setUp();
    configFiles.list = [old];
    expect(await applyUpdates(wanted(), ports, work())).not.toHaveProperty("kept_configs");
  });
});

describe("an update of which something cannot be found out or done", () => {
  const failing = () => Promise.reject(new Error("no more files"));

  it("changes nothing without its snapshot, and says so", async () => {
    const { manager, ports, wanted } = setUp();
    const lines: string[] = [];
    const told = { ...work(), progress: { ...quiet, line: (text: string) => void lines.push(text) } };
    const without = (error: Error) => ({
      ...ports,
      backend: { ...createSnapshotsOf(manager), create: () => Promise.reject(error) },
    });
    await expect(applyUpdates(wanted(), without(new Error("ENOSPC: /var/x")), told)).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: "cannot take the snapshot: the log of the operation tells why; nothing was changed",
      details: { missing: "snapshot", retryable: true },
    });
    expect(lines).toContain("ENOSPC: /var/x");
    const gone = new PackageFileMissing("editor 1.0 is not available");
    await expect(applyUpdates(wanted(), without(gone), told)).rejects.toMatchObject({
      message: "cannot take the snapshot: editor 1.0 is not available; nothing was changed",
    });
    expect(versions(manager)).toEqual({ editor: "1.0", library: "2.0", server: "3.0" });
  });

  it("still reports what it did", async () => {
    const { manager, ports, wanted } = setUp();
    const blind = { ...ports, manager: { ...manager, audit: failing, restartNeeds: failing } };
    expect(await applyUpdates(wanted(), blind, work())).toMatchObject({
      success: false,
      snapshot_id: "20260101-000000",
      packages_updated: 3,
      error: "cannot tell what is left half-done: no more files; cannot tell what has to be restarted: no more files",
    });
  });

  it("counts nothing when it cannot be told what is installed", async () => {
    const { manager, ports, wanted } = setUp();
    const blind = { ...ports, manager: { ...manager, installed: failing } };
    expect(await applyUpdates(wanted(), blind, work())).toMatchObject({
      success: false,
      packages_updated: 0,
      packages: [],
      error: "cannot tell which packages are installed: no more files",
    });
  });

  it("reports what an earlier process has changed although the package manager is in use by now", async () => {
    const { manager, ports, wanted } = setUp();
    const plan = await manager.simulate(wanted().request, signal);
    const phase: ApplyPhase = { is: "committing", plan, snapshotId: "" };
    manager.packages.set("editor", fakePackage("editor", "1.1"));
    manager.lockedBy = { pid: 7, program: "apt-get" };
    expect(await applyUpdates(wanted(), ports, work(phase))).toMatchObject({
      success: false,
      packages_updated: 1,
      error: "the lock is held by apt-get",
    });
  });

  it("is left as it stands when what stops it stops the package manager as well", async () => {
    const { manager, ports, wanted } = setUp();
    const stop = new AbortController();
    let saved: ApplyPhase | undefined;
    const commit = () => {
      stop.abort(new Error("stopped"));
      return Promise.resolve({ isDone: false, reason: "it was ended by SIGTERM" });
    };
    const stopped = { ...work(undefined, (next) => (saved = next)), signal: stop.signal };
    await expect(applyUpdates(wanted(), { ...ports, manager: { ...manager, commit } }, stopped)).rejects.toThrow(
      "stopped",
    );
    expect(saved?.is).toBe("committing");
  });

  it("waits for a transaction whose end was not seen, and does what that has left", async () => {
    const { manager, ports, wanted } = setUp();
    const asked: string[] = [];
    const commit: typeof manager.commit = (plan, during, ...rest) => {
      asked.push(plan.changes.map(({ name }) => name).join());
      if (asked.length > 1) return manager.commit(plan, during, ...rest);
      manager.packages.set("editor", fakePackage("editor", "1.1"));
      return Promise.reject(new TransactionUnseen("systemd did not tell how it ended"));
    };
    const settle: typeof manager.settle = () => Promise.resolve(void asked.push("settle"));
    const stubborn = { ...ports, manager: { ...manager, commit, settle } };
    expect(await applyUpdates(wanted(), stubborn, work())).toMatchObject({ success: true, packages_updated: 3 });
    expect(asked).toEqual(["editor,library,server", "settle", "library,server"]);
  });
});

describe("a guarded update", () => {
  it("is rolled back when the host cannot be inspected any more", async () => {
    const { manager, ports, wanted } = setUp();
    const look = () =>
      versions(manager)["server"] === "3.1" ? Promise.reject(new Error("gone")) : Promise.resolve(well);
    const unreachable = { ...ports, condition: { ...ports.condition, look } };
    expect(await applyUpdates(wanted(guarded), unreachable, work())).toMatchObject({
      success: false,
      guard: { outcome: "rolled_back", worse: ["the host cannot be looked at"] },
    });
    expect(versions(manager)).toEqual({ editor: "1.0", library: "2.0", server: "3.0" });
  });

  it("does not watch for ever what is worse now here and now there", async () => {
    const { manager, ports, wanted, becomes } = setUp();
    let looks = 0;
    becomes(() => {
      looks += 1;
      if (looks > 1000) throw new Error("watched for ever");
      if (versions(manager)["server"] !== "3.1") return well;
      return fakeCondition({ units: { ...unitsWhenWell, [`unit-${looks}.service`]: "failed" } });
    });
    const result = await applyUpdates(wanted(guarded), ports, work());
    expect(result.guard).toMatchObject({ outcome: "rolled_back", worse: [expect.stringMatching(/^unit unit-\d+/)] });
    expect(looks).toBeLessThan(1000);
  });

  it("reports that it could not be rolled back, and what it is now", async () => {
    const { manager, ports, wanted } = setUp();
    manager.broken.add("server");
    const backend = {
      ...createSnapshotsOf(manager),
      verify: () => Promise.reject(new SnapshotUnusable("it is damaged")),
    };
    expect(await applyUpdates(wanted(guarded), { ...ports, backend }, work())).toMatchObject({
      success: false,
      snapshot_id: "20260101-000000",
      packages_updated: 2,
      guard: {
        outcome: "rollback_failed",
        message: "the update failed: cannot configure server: cannot return to 20260101-000000: it is damaged",
      },
    });
  });

  it("says that its rollback is complete only after a reboot", async () => {
    const { manager, ports, wanted } = setUp();
    manager.broken.add("server");
    const later = { isDone: true, reason: "", packages: [], filesRestored: 0, filesLeft: [], requiresReboot: true };
    const backend = { ...createSnapshotsOf(manager), rollback: () => Promise.resolve(later) };
    expect(await applyUpdates(wanted(guarded), { ...ports, backend }, work())).toMatchObject({
      guard: { outcome: "rolled_back" },
      requires_reboot: true,
      packages_updated: 2,
    });
  });

  it("rolls nothing back when nothing was changed", async () => {
    const { manager, ports, wanted } = setUp();
    const commit = () => Promise.reject(new UpdateRefused("there is no room"));
    expect(await applyUpdates(wanted(guarded), { ...ports, manager: { ...manager, commit } }, work())).toMatchObject({
      success: false,
      error: "there is no room",
      guard: { outcome: "kept", message: "nothing was changed" },
    });
    expect(await ports.backend?.list(signal)).toHaveLength(1);
  });

  it("is kept when nothing is worse", async () => {
    const { manager, ports, wanted } = setUp();
    const result = await applyUpdates(wanted(guarded), ports, work());
    expect(result).toMatchObject({ success: true, guard: { outcome: "kept", worse: [] } });
    expect(versions(manager)).toEqual({ editor: "1.1", library: "2.1", server: "3.1" });
  });

  it("is rolled back when a check or a unit is worse, and says which", async () => {
    const { manager, ports, wanted, becomes } = setUp();
    becomes(() => (manager.packages.get("server")?.version === "3.1" ? withServer("failed") : well));
    const result = await applyUpdates(wanted(guarded), ports, work());
    expect(result).toMatchObject({
      success: false,
      packages_updated: 0,
      packages: [],
      guard: {
        outcome: "rolled_back",
        worse: ["unit server.service: was active (running), now failed, result exit-code"],
        restarted: [],
        remaining: [],
      },
    });
    expect(result.error).toContain("unit server.service: was active");
    expect(versions(manager)).toEqual({ editor: "1.0", library: "2.0", server: "3.0" });
  });

  it("does not mind what is bad for a moment only", async () => {
    const { ports, wanted, becomes } = setUp();
    let looks = 0;
    becomes(() => {
      looks += 1;
      return looks === 3 ? withServer("failed") : well;
    });
    expect(await applyUpdates(wanted(guarded), ports, work())).toMatchObject({
      success: true,
      guard: { outcome: "kept" },
    });
  });

  it("is compared with the host as it is right before packages change", async () => {
    const { manager, ports, wanted, becomes } = setUp();
    let isReady = false;
    becomes(() => {
      expect(isReady || versions(manager)["server"] === "3.1").toBe(true);
      return well;
    });
    const { commit } = manager;
    const slow: FakePackageManager["commit"] = (plan, options, stop) => {
      const ready = async () => {
        isReady = true;
        await options.ready?.();
      };
      return commit(plan, { ...options, ready }, stop);
    };
    const result = await applyUpdates(wanted(guarded), { ...ports, manager: { ...manager, commit: slow } }, work());
    expect(result).toMatchObject({ success: true, guard: { outcome: "kept" } });
    expect(isReady).toBe(true);
  });

  it("is not judged where nothing was seen before, and says so", async () => {
    const { manager, ports, wanted } = setUp();
    const { commit } = manager;
    const blind: FakePackageManager["commit"] = (plan, { id, progress }, stop) => commit(plan, { id, progress }, stop);
    expect(
      await applyUpdates(wanted(guarded), { ...ports, manager: { ...manager, commit: blind } }, work()),
    ).toMatchObject({
      success: true,
      guard: { outcome: "kept", message: expect.stringContaining("was not looked at before") },
    });
  });

  it("starts what ran before once it is rolled back, and looks again", async () => {
    const { manager, ports, wanted, becomes } = setUp();
    let server = "active";
    becomes(() => {
      if (versions(manager)["server"] === "3.1") server = "inactive";
      return withServer(server);
    });
    const restart = (unit: string) => {
      expect([unit, versions(manager)["server"]]).toEqual(["server.service", "3.0"]);
      server = "active";
      return Promise.resolve();
    };
    expect(
      await applyUpdates(wanted(guarded), { ...ports, condition: { ...ports.condition, restart } }, work()),
    ).toMatchObject({
      success: false,
      guard: {
        outcome: "rolled_back",
        worse: ["unit server.service: was active (running), now inactive"],
        restarted: ["server.service"],
        remaining: [],
      },
    });
  });

  it("says what is still worse after its rollback", async () => {
    const { manager, ports, wanted, becomes } = setUp();
    let server = "active";
    becomes(() => {
      if (versions(manager)["server"] === "3.1") server = "failed";
      return withServer(server);
    });
    const restart = () => Promise.reject(new Error("its start ended with failed"));
    const lines: string[] = [];
    const told = { ...work(), progress: { ...quiet, line: (text: string) => void lines.push(text) } };
    const result = await applyUpdates(wanted(guarded), { ...ports, condition: { ...ports.condition, restart } }, told);
    const remaining = ["unit server.service: was active (running), now failed, result exit-code"];
    expect(result).toMatchObject({
      success: false,
      packages_updated: 0,
      guard: { outcome: "rolled_back_still_worse", restarted: [], remaining },
    });
    expect(result.error).toContain("still worse than before: unit server.service");
    expect(lines).toContain("cannot start server.service: its start ended with failed");
  });

  it("is rolled back when the transaction fails", async () => {
    const { manager, ports, wanted } = setUp();
    manager.broken.add("server");
    expect(await applyUpdates(wanted(guarded), ports, work())).toMatchObject({
      success: false,
      guard: { outcome: "rolled_back", worse: ["the update failed: cannot configure server"] },
    });
    expect(versions(manager)).toEqual({ editor: "1.0", library: "2.0", server: "3.0" });
  });
});

describe("an update that is interrupted", () => {
  /** Ends the process at the so-manieth call of anything outside. */
  function mortal<T extends object>(port: T, tick: () => void): T {
    return new Proxy(port, {
      get(target, name, receiver) {
        const member: unknown = Reflect.get(target, name, receiver);
        if (typeof member !== "function") return member;
        return async (...words: unknown[]) => {
          tick();
          const answer: unknown = await Reflect.apply(member, target, words);
          tick();
          return answer;
        };
      },
    });
  }

  it("ends as it would have ended, whenever and however often that happens", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 30 }), { maxLength: 6 }),
        fc.boolean(),
        fc.boolean(),
        async (deaths, isGuarded, isWorse) => {
          const { manager, ports, wanted, becomes } = setUp();
          if (isWorse) becomes(() => (manager.packages.get("server")?.version === "3.1" ? withServer("failed") : well));
          const input = wanted(isGuarded ? guarded : {});
          let phase: ApplyPhase | undefined;
          const attempt = async (left: number) => {
            let calls = left;
            const tick = (): void => {
              calls -= 1;
              if (calls <= 0) throw new Error("killed");
            };
            const backend = ports.backend && mortal(ports.backend, tick);
            return applyUpdates(
              input,
              { ...ports, manager: mortal(manager, tick), backend },
              work(phase, (next) => {
                phase = next;
                tick();
              }),
            );
          };
          for (const death of deaths) await attempt(death).catch(() => undefined);
          const result = await attempt(Number.POSITIVE_INFINITY);
          const isBack = isGuarded && isWorse;
          expect(versions(manager)).toEqual(
            isBack
              ? { editor: "1.0", library: "2.0", server: "3.0" }
              : { editor: "1.1", library: "2.1", server: "3.1" },
          );
          expect(result).toMatchObject({ success: !isBack, packages_updated: isBack ? 0 : 3 });
          expect(result.guard?.outcome).toBe(isGuarded ? (isWorse ? "rolled_back" : "kept") : undefined);
        },
      ),
      { numRuns: 300 },
    );
  });
});

describe("an update that restarts what then runs replaced code", () => {
  const stale = { restartsStale: true } as const;

  it("does so once packages have changed, and says what was restarted", async () => {
    const { ports, wanted, units, staleCode } = setUp();
    staleCode.processes = [fakeStaleProcess("web.service")];
    const result = await applyUpdates(wanted(stale), ports, work());
    expect(result).toMatchObject({ success: true, restarted: [{ unit: "web.service", success: true }] });
    expect(units.actions).toEqual(["restart web.service"]);
    // Nothing changed, so nothing is restarted.
    staleCode.processes = [fakeStaleProcess("other.service")];
    expect(await applyUpdates(wanted(stale), ports, work())).toMatchObject({ success: true, restarted: [] });
    expect(units.actions).toEqual(["restart web.service"]);
  });

  it("is no success where a service does not come up, nor where processes cannot be inspected", async () => {
    const { ports, wanted, staleCode } = setUp();
    staleCode.processes = [fakeStaleProcess("frail.service")];
    expect(await applyUpdates(wanted(stale), ports, work())).toMatchObject({
      success: false,
      packages_updated: 3,
      restarted: [{ unit: "frail.service", success: false }],
      error: "cannot restart frail.service: its job ended with: failed; it is failed",
    });
    const other = setUp();
    const code = { find: () => Promise.reject(new Error("no processes here")) };
    const blind = { ...other.ports, stale: { ...other.ports.stale, code } };
    expect(await applyUpdates(other.wanted(stale), blind, work())).toMatchObject({
      success: false,
      packages_updated: 3,
      error: "cannot restart what runs replaced code: no processes here",
    });
  });

  it("does so before the guard looks, and again after a rollback", async () => {
    const { ports, wanted, becomes, manager, units, staleCode } = setUp();
    const code = { find: () => Promise.resolve({ processes: staleCode.processes, hidden: 0 }) };
    staleCode.processes = [fakeStaleProcess("web.service")];
    becomes(() => {
      const isWorse = manager.packages.get("server")?.version === "3.1" && units.actions.length > 0;
      return isWorse ? withServer("failed") : well;
    });
    const guardedPorts = { ...ports, stale: { ...ports.stale, code } };
    const result = await applyUpdates(wanted({ ...guarded, ...stale }), guardedPorts, work());
    expect(result.guard?.outcome).toBe("rolled_back");
    expect(units.actions).toEqual(["restart web.service", "restart web.service"]);
  });
});
