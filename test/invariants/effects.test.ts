import { afterEach, describe, expect, it } from "vitest";
import { type Effect, effects, scopesOf } from "#contract/effects.ts";
import { operations } from "#contract/index.ts";
import type { Operation } from "#contract/operation.ts";
import { hookEvents } from "#contract/plugins.ts";
import { scopes } from "#contract/scopes.ts";
import type { Fix } from "#domain/health/fix.ts";
import type { SecurityUpdater } from "#domain/health/fixes/apply-security-updates.ts";
import { builtInFixes } from "#domain/health/fixes-registry.ts";
import { fakeCondition } from "../api/conditions.ts";
import { createTestPlugins, pathOf, send, type TestService } from "../api/harness.ts";
import { type MutableService, mutations, prepareMutation, startMutableService } from "../api/mutations.ts";
import { createFakeAlertStore } from "../fakes/alert-store.ts";
import { createFakeApprovalStore } from "../fakes/approval-store.ts";
import { createFakeClock } from "../fakes/clock.ts";
import { createFakeDiskCleanup } from "../fakes/disk-cleanup.ts";
import { createFakeFileSystems, fakeFileSystem } from "../fakes/file-systems.ts";
import { createFakeJournal, createFakeJournalStorage, fakeJournalSize } from "../fakes/journal.ts";
import { createFakeKeyStore } from "../fakes/key-store.ts";
import { createFakePackageManager, fakeMissingPlan, fakePackage } from "../fakes/package-manager.ts";
import { createFakePasskeyStore } from "../fakes/passkey-store.ts";
import { plainManifest } from "../fakes/plugin-folders.ts";
import { createFakeSessionStore } from "../fakes/session-store.ts";
import { createFakeTimeSync } from "../fakes/time-sync.ts";
import { createFakeUnits, runningUnit } from "../fakes/units.ts";
import { hookCallers, type PortCall, permissionEffects, portEffects, recordCalls } from "./port-effects.ts";
import { portNames, read } from "./project.ts";

const rows = Object.entries<Operation>(operations);
const { signal } = new AbortController();

/** Each call was to be expected, and each effect was seen. */
function expectEffects(name: string, calls: readonly PortCall[], does: readonly Effect[]): void {
  const unexpected = calls.filter((call) => !call.effects.some((effect) => does.includes(effect)));
  expect([name, unexpected.map(({ method }) => method)]).toEqual([name, []]);
  const unseen = does.filter((effect) => !calls.some((call) => call.effects.includes(effect)));
  expect([name, unseen]).toEqual([name, []]);
}

describe("effects", () => {
  it("are said of every method of every port", () => {
    expect(Object.keys(portEffects).sort()).toEqual([...portNames(), "SecurityUpdater"].sort());
  });

  it("are each reached by a port, and take a scope of the list", () => {
    const reached = Object.values(portEffects).flatMap((methods) => Object.values<readonly Effect[]>(methods).flat());
    for (const [effect, { scope }] of Object.entries(effects)) {
      expect([effect, reached.includes(effect as Effect)]).toEqual([effect, true]);
      expect([effect, [...scopes, "self"].includes(scope)]).toEqual([effect, true]);
    }
    for (const effect of Object.values(permissionEffects)) expect(effects[effect].scope).toBe("plugins:write");
  });

  it.each(rows)("of %s are covered by its scopes", (name, { scope, alsoNeeds = [], does, doesMore, effect }) => {
    for (const required of scopesOf(does ?? []))
      expect([name, [scope, ...alsoNeeds]]).toEqual([name, expect.arrayContaining([required])]);
    // A mutation that says nothing of what it does could do anything.
    if (effect !== "read") expect((does?.length ?? 0) > 0 || doesMore !== undefined).toBe(true);
  });

  it("are in the reference, with every operation and every fix", () => {
    const page = read("docs/reference/operations.md");
    for (const effect of Object.keys(effects)) expect(page).toContain(`| \`${effect}\` |`);
  });
});

const services: TestService[] = [];
afterEach(async () => {
  for (const { app } of services.splice(0)) await app.close();
});

/** A service whose ports have their calls recorded. */
async function startRecorded(): Promise<{ readonly service: MutableService; readonly calls: PortCall[] }> {
  const calls: PortCall[] = [];
  const store = createFakeKeyStore();
  const alerts = createFakeAlertStore();
  const approvalStore = createFakeApprovalStore();
  const units = createFakeUnits([{ ...runningUnit("cron.service"), can: { reload: true } }]);
  const plugins = createTestPlugins();
  recordCalls("KeyStore", store, calls);
  recordCalls("AlertStore", alerts, calls);
  recordCalls("ApprovalStore", approvalStore, calls);
  recordCalls("Units", units, calls);
  recordCalls("PluginSandbox", plugins.sandbox, calls);
  recordCalls("EnabledPlugins", plugins.enabled, calls);
  // People are told of what is found and what fails, whoever began it.
  const sessions = createFakeSessionStore();
  recordCalls("SessionStore", sessions, calls);
  const passkeys = createFakePasskeyStore();
  recordCalls("PasskeyStore", passkeys, calls);
  const service = await startMutableService({
    store,
    sessions,
    passkeys,
    approvalStore,
    alerts,
    units,
    plugins,
    reported: [],
  });
  services.push(service);
  // The probe that comes with the start is nobody's call.
  while (service.provider.probes() === 0) await new Promise((resolve) => setImmediate(resolve));
  recordCalls("ChatProvider", service.provider, calls);
  recordCalls("PackageManager", service.packageManager, calls);
  recordCalls("SnapshotBackend", service.snapshots, calls);
  recordCalls("Processes", service.processes, calls);
  recordCalls("Reboots", service.reboots, calls);
  recordCalls("TimeSettings", service.timeSettings, calls);
  recordCalls("HostNames", service.hostNames, calls);
  recordCalls("OperationStore", service.operationStore, calls);
  recordCalls("Notifier", service.notifiers.chat, calls);
  recordCalls("Notifier", service.notifiers.email, calls);
  calls.length = 0;
  return { service, calls };
}

describe("what an operation does", () => {
  it.each(mutations)("%s says, and nothing else", async (name, { does: own = [], doesMore }) => {
    // The call that is approved here renames the host.
    const does = doesMore === "approved" ? [...own, ...operations.setHostname.does] : own;
    const { service, calls } = await startRecorded();
    const request = await prepareMutation(service, name);
    calls.length = 0;
    const { status } = await send(service, { ...request, key: service.admin });
    expect([name, status < 300]).toEqual([name, true]);
    // Returning to the snapshot takes an update that made something worse: see below.
    expectEffects(
      name,
      calls,
      does.filter((effect) => effect !== "undo_update"),
    );
  });

  it.each(mutations)("%s does not do on a dry run", async (name) => {
    const { service, calls } = await startRecorded();
    const request = await prepareMutation(service, name);
    calls.length = 0;
    const { status } = await send(service, { ...request, path: `${request.path}?dry_run=true`, key: service.admin });
    expect([name, status, calls]).toEqual([name, 200, []]);
  });

  it("is nothing where it reads, but what it says", async () => {
    for (const [name, operation] of rows.filter(([, { effect }]) => effect === "read")) {
      const { service, calls } = await startRecorded();
      const path = pathOf(operation, { check_id: "plain", snapshot_id: "20260101-000000" });
      await send(service, { path, key: service.admin });
      expect([name, calls]).toEqual([name, []]);
      await send(service, { path: `${path}?refresh=true`, key: service.admin });
      expectEffects(name, calls, operation.does ?? []);
    }
  });

  it("with a guard is undone by a return to the snapshot that it took, and to no other", async () => {
    const { service, calls } = await startRecorded();
    const { path } = await prepareMutation(service, "applyUpdates");
    let looks = 0;
    service.becomes(() => {
      looks += 1;
      return fakeCondition({ units: { "vital.service": looks === 1 ? "active" : "failed" } });
    });
    calls.length = 0;
    const { json } = await send(service, {
      method: "POST",
      path,
      key: service.admin,
      body: { guard: true, restart_stale: true },
    });
    // The guard takes its time, in which the service looks at its models.
    const own = calls.filter(({ method }) => method !== "ChatProvider.probe");
    expectEffects("applyUpdates", own, operations.applyUpdates.does);
    const returned = calls.filter(({ method }) => method === "SnapshotBackend.rollback").map(({ args }) => args[0]);
    expect(new Set(returned)).toEqual(new Set([(json as { snapshot_id: string }).snapshot_id]));
  });
});

/** What a check finds that each fix has something to do about: a fix that is missing fails the first test below. */
const found: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  apply_security_updates: { updates: [{ name: "libtls", held: false }] },
  apt_fix_dependencies: { unmet_dependencies: [{ name: "needy", needs: "needed" }] },
  apt_fix_dpkg: { unfinished: [{ name: "slow" }] },
  disk_cleanup: { file_systems: [{ path: "/", status: "fail" }] },
  enable_time_sync: {},
  refresh_package_lists: {},
  systemd_restart_failed: { units: [{ name: "a.service", result: "exit-code" }] },
  vacuum_journal: { warn_gb: 1 },
};

/** The fixes that come with the service, on ports whose calls are recorded. */
function recordedFixes(): { readonly fixes: readonly Fix[]; readonly calls: PortCall[] } {
  const calls: PortCall[] = [];
  const off = { canSync: true, isEnabled: false, isSynchronised: false, isContainer: false };
  const security: SecurityUpdater = {
    plan: (packages) => Promise.resolve({ packages, changes: packages, downloadBytes: 1, isGuarded: true }),
    apply: () => Promise.resolve("done"),
  };
  const kernels = [18, 19, 20].map((at) => fakePackage(`linux-image-6.1.0-${at}-amd64`, "1", { isManual: false }));
  const packages = createFakePackageManager(kernels);
  packages.missing = fakeMissingPlan({ changes: [{ name: "needed", architecture: "all", from: null, to: "1" }] });
  const units = createFakeUnits([{ name: "a.service", activeState: "failed", isLimited: true }]);
  const cleanup = createFakeDiskCleanup([{ kind: "temporary", folder: "/tmp", files: ["tmp.a"], bytes: 5 }]);
  const size = fakeJournalSize({ diskBytes: 9e9, archivedBytes: 8e9 });
  const journal = createFakeJournal([], createFakeJournalStorage(size));
  const time = createFakeTimeSync(off, { ...off, isEnabled: true, isSynchronised: true });
  recordCalls("SecurityUpdater", security, calls);
  recordCalls("PackageManager", packages, calls);
  recordCalls("OldKernels", packages.oldKernels, calls);
  recordCalls("Units", units, calls);
  recordCalls("DiskCleanup", cleanup, calls);
  recordCalls("Journal", journal, calls);
  recordCalls("TimeSync", time, calls);
  const fixes = builtInFixes({
    packages,
    clock: createFakeClock(),
    units,
    ownUnit: undefined,
    time,
    journal,
    cleanup,
    fileSystems: createFakeFileSystems([fakeFileSystem({ path: "/" })]),
    security,
  });
  return { fixes, calls };
}

describe("what a fix does", () => {
  const ids = recordedFixes().fixes.map(({ id }) => id);

  it("is tried for every fix", () => {
    expect(Object.keys(found).sort()).toEqual([...ids].sort());
  });

  it.each(ids)("%s says, and nothing else, and nothing while it plans", async (id) => {
    const { fixes, calls } = recordedFixes();
    const fix = fixes.find((each) => each.id === id);
    const plan = await fix?.plan({ status: "fail", message: "", details: found[id] ?? {} }, signal);
    expect([id, plan?.steps.length === 0, calls]).toEqual([id, false, []]);
    for (const step of plan?.steps ?? []) await step.run(signal);
    expectEffects(id, calls, fix?.does ?? []);
  });

  it("to units is said by its plan, each of them", async () => {
    for (const { id } of recordedFixes().fixes.filter(({ does }) => does.includes("restart_units"))) {
      const { fixes, calls } = recordedFixes();
      const plan = await fixes
        .find((each) => each.id === id)
        ?.plan({ status: "fail", message: "", details: found[id] ?? {} }, signal);
      for (const step of plan?.steps ?? []) await step.run(signal);
      const touched = calls.filter(({ effects: does }) => does.includes("restart_units")).map(({ args }) => args[0]);
      expect([id, new Set(touched)]).toEqual([id, new Set(plan?.units)]);
    }
  });
});

describe("hooks", () => {
  /** A service with a hook that is called for everything. */
  async function startHooked(): Promise<MutableService> {
    const { service } = await startRecorded();
    service.plugins.folders.put("watcher", {
      ...plainManifest("watcher"),
      role: { type: "hook", events: hookEvents, onFailure: "allow" },
    });
    const enable = { method: "POST", path: "/api/v1/plugins/watcher/enable", key: service.admin } as const;
    expect((await send(service, enable)).json).toMatchObject({ success: true });
    return service;
  }
  const eventsOf = ({ plugins }: MutableService): readonly string[] =>
    plugins.sandbox.calls.flatMap(({ manifest, stdin }) =>
      manifest.name === "watcher" ? [(JSON.parse(stdin ?? "{}") as { event: string }).event] : [],
    );

  it.each(mutations)("are called by %s as the table says", async (name) => {
    const service = await startHooked();
    const request = await prepareMutation(service, name);
    const before = eventsOf(service).length;
    await send(service, { ...request, key: service.admin });
    const called = eventsOf(service)
      .slice(before)
      .filter((event) => !event.endsWith("_check"));
    for (const event of called) {
      const callers = hookCallers[event as keyof typeof hookCallers];
      expect([event, callers]).toEqual([event, expect.arrayContaining([name])]);
    }
    const expected = hookEvents.filter((event) => event.startsWith("pre_") && hookCallers[event].includes(name));
    if (name !== "fixCheck") expect(called.filter((event) => event.startsWith("pre_"))).toEqual(expected);
  });

  it.each(mutations)("are not called for a caller who lacks a scope of %s", async (name, operation) => {
    const service = await startHooked();
    const request = await prepareMutation(service, name);
    const before = eventsOf(service).length;
    const needed = [operation.scope, ...(operation.alsoNeeds ?? [])];
    for (const lacking of needed.filter((scope) => scope !== "self")) {
      const key = service.key(scopes.filter((scope) => scope !== lacking));
      expect((await send(service, { ...request, key })).status).toBe(403);
    }
    expect(eventsOf(service).slice(before)).toEqual([]);
  });
});
