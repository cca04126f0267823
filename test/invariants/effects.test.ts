import { beforeAll, describe, expect, it } from "vitest";
import { operations } from "#contract/index.ts";
import type { Operation } from "#contract/operation.ts";
import { hookEvents } from "#contract/plugins.ts";
import { type Scope, scopes } from "#contract/scopes.ts";
import type { Fix } from "#domain/health/fix.ts";
import type { SecurityUpdater } from "#domain/health/fixes/apply-security-updates.ts";
import { builtInFixes } from "#domain/health/fixes-registry.ts";
import { fakeCondition } from "../api/conditions.ts";
import { createTestPlugins, pathOf, send } from "../api/harness.ts";
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
import { plainManifest } from "../fakes/plugin-directories.ts";
import { createFakeSessionStore } from "../fakes/session-store.ts";
import { createFakeTimeSync } from "../fakes/time-sync.ts";
import { createFakeUnits, runningUnit } from "../fakes/units.ts";

/*
 * No path to an effect goes around its scope. An effect is a call of a method of a port that some mutation makes, and no read and
 * no dry run: so what needs which scope follows from the rows of the operations table.
 */

const rows = Object.entries<Operation>(operations);
const { signal } = new AbortController();
type AnyFunction = (...args: unknown[]) => unknown;

/** Methods of ports that were called, as `Units.restart`, since they were taken last. */
function createRecord() {
  const calls: { readonly method: string; readonly args: readonly unknown[] }[] = [];
  return {
    ports(ports: Readonly<Record<string, object>>, only?: readonly string[]): void {
      for (const [name, port] of Object.entries(ports)) {
        for (const [method, original] of Object.entries(port) as [string, AnyFunction][]) {
          if (typeof original !== "function" || only?.includes(method) === false) continue;
          Object.assign(port, {
            [method]: (...args: unknown[]) => {
              calls.push({ method: `${name}.${method}`, args });
              return original.apply(port, args);
            },
          });
        }
      }
    },
    take: () => calls.splice(0),
    takeMethods: (): ReadonlySet<string> => new Set(calls.splice(0).map(({ method }) => method)),
  };
}
type CallRecord = ReturnType<typeof createRecord>;

/** A service whose ports have their calls recorded. */
async function startRecorded(): Promise<{ readonly service: MutableService; readonly record: CallRecord }> {
  const record = createRecord();
  const store = createFakeKeyStore();
  const alerts = createFakeAlertStore();
  const approvalStore = createFakeApprovalStore();
  const units = createFakeUnits([{ ...runningUnit("cron.service"), can: { reload: true } }]);
  const plugins = createTestPlugins();
  const sessions = createFakeSessionStore();
  const passkeys = createFakePasskeyStore();
  record.ports({
    KeyStore: store,
    AlertStore: alerts,
    ApprovalStore: approvalStore,
    Units: units,
    PluginSandbox: plugins.sandbox,
    EnabledPlugins: plugins.enabled,
    SessionStore: sessions,
    PasskeyStore: passkeys,
  });
  const given = { store, sessions, passkeys, approvalStore, alerts, units, plugins, reported: [] };
  const service = await startMutableService(given);
  // The probe that comes with the start is not part of a call.
  while (service.provider.probes() === 0) await new Promise((resolve) => setImmediate(resolve));
  record.ports({
    ChatProvider: service.provider,
    PackageManager: service.packageManager,
    PackageFiles: service.packageManager.files,
    Holds: service.packageManager.holds,
    PackageLists: service.packageManager.lists,
    Transactions: service.packageManager.transactions,
    SnapshotBackend: service.snapshots,
    Processes: service.processes,
    Reboots: service.reboots,
    TimeSettings: service.timeSettings,
    HostNames: service.hostNames,
    Notifier: service.notifiers.chat,
    EmailNotifier: service.notifiers.email,
  });
  // The other methods keep the record of an operation, whatever it does.
  record.ports({ OperationStore: service.operationStore }, ["requestCancel"]);
  record.take();
  return { service, record };
}

/** The methods that each mutation reaches, by its name, and those that some read or dry run reaches. */
const reached = new Map<string, ReadonlySet<string>>();
const harmless = new Set<string>();
const markHarmless = (methods: ReadonlySet<string>): void => {
  for (const method of methods) harmless.add(method);
};

beforeAll(async () => {
  const { service, record } = await startRecorded();
  for (const [name, operation] of rows.filter(([, { effect }]) => effect === "read")) {
    const path = pathOf(operation, { check_id: "plain", snapshot_id: "20260101-000000" });
    await send(service, { path, key: service.admin });
    markHarmless(record.takeMethods());
    // A refresh is asked for, and is what the audit log keeps.
    await send(service, { path: `${path}?refresh=true`, key: service.admin });
    if (name === "checkUpdates") reached.set(name, record.takeMethods());
    record.take();
  }
  await service.app.close();
  for (const [name] of mutations) {
    const made = await startRecorded();
    const request = { ...(await prepareMutation(made.service, name)), key: made.service.admin };
    made.record.take();
    const dry = await send(made.service, { ...request, path: `${request.path}?dry_run=true` });
    markHarmless(made.record.takeMethods());
    const real = await send(made.service, request);
    reached.set(name, made.record.takeMethods());
    expect([name, dry.status, real.status < 300]).toEqual([name, 200, true]);
    await made.service.app.close();
  }
});

const effectsOf = (name: string): readonly string[] =>
  [...(reached.get(name) ?? [])].filter((method) => !harmless.has(method));
const scopesOf = ({ scope, alsoNeeds = [] }: Operation): readonly string[] => [scope, ...alsoNeeds];
/** The ways to a method through operations: the scopes of each. */
const waysTo = (method: string): readonly (readonly string[])[] =>
  rows.filter(([name]) => effectsOf(name).includes(method)).map(([, row]) => scopesOf(row));

describe("effects of operations", () => {
  it("each mutation reaches something that no read and no dry run reaches", () => {
    // The fix of the harness does nothing: see below.
    const without = mutations.filter(([name, { doesMore }]) => doesMore !== "fix" && effectsOf(name).length === 0);
    expect(without.map(([name]) => name)).toEqual([]);
  });

  it("no effect is reached under different scopes but those that are meant", () => {
    const shared = [...new Set([...reached.keys()].flatMap(effectsOf))].flatMap((method) => {
      const ways = [...new Set(waysTo(method).map((way) => way.join(" and ")))];
      return ways.length > 1 ? [[method, ways.sort()] as const] : [];
    });
    const packages = ["packages:install", "packages:remove", "updates:apply"];
    const snapshots = [...packages, "updates:rollback"];
    expect(Object.fromEntries(shared)).toEqual({
      // An update restarts what still runs replaced files, as far as services may be restarted.
      "Units.restart": ["services:restart", "updates:apply"],
      "Units.settled": ["services:reload", "services:restart", "services:start", "services:stop", "updates:apply"],
      "Transactions.commit": packages,
      "Transactions.audit": packages,
      "SnapshotBackend.keep": packages,
      "SnapshotBackend.create": snapshots,
      "SnapshotBackend.recordChanges": snapshots,
      "SnapshotBackend.tidy": snapshots,
      "ChatProvider.chat": ["connectors:chat", "connectors:chat and health:read"],
      // The call that is approved here: anyone who approves it has its scope too.
      "HostNames.set": ["self", "system:hostname"],
    });
  });

  it("a guarded update returns to the snapshot that it took, and to no other", async () => {
    const { service, record } = await startRecorded();
    const request = await prepareMutation(service, "applyUpdates");
    let conditions = 0;
    service.becomes(() => {
      conditions += 1;
      return fakeCondition({ units: { "vital.service": conditions === 1 ? "active" : "failed" } });
    });
    const { json } = await send(service, { ...request, key: service.admin, body: { guard: true } });
    const returns = record.take().filter(({ method }) => method === "SnapshotBackend.rollback");
    expect(returns.map(({ args }) => args[0])).toEqual([(json as { snapshot_id: string }).snapshot_id]);
    await service.app.close();
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

/** Effects that no operation reaches but by a fix, and the scope that each takes. */
const ofFixesAlone: Readonly<Record<string, Scope>> = {
  "DiskCleanup.remove": "health:fix",
  "Journal.rotate": "health:fix",
  "Journal.vacuum": "health:fix",
  "OldKernels.remove": "health:fix",
  "PackageRepairs.finish": "updates:apply",
  "PackageRepairs.installMissing": "updates:apply",
  "SecurityUpdater.apply": "updates:apply",
  "TimeSync.enable": "health:fix",
  "Units.resetFailed": "services:restart",
};

/** The fixes that come with the service, on ports whose calls are recorded. */
function recordedFixes(): { readonly fixes: readonly Fix[]; readonly record: CallRecord } {
  const record = createRecord();
  const off = { canSync: true, isEnabled: false, isSynchronised: false, isContainer: false };
  const security: SecurityUpdater = {
    plan: (packages) => Promise.resolve({ packages, changes: packages, downloadBytes: 1, isGuarded: true }),
    apply: () => Promise.resolve("done"),
  };
  const kernels = [18, 19, 20].map((at) => fakePackage(`linux-image-6.1.0-${at}-amd64`, "1", { isManual: false }));
  const packages = createFakePackageManager(kernels);
  packages.missing = fakeMissingPlan({ changes: [{ name: "needed", architecture: "all", from: null, to: "1" }] });
  const units = createFakeUnits([{ name: "a.service", activeState: "failed", isLimited: true }]);
  const cleanup = createFakeDiskCleanup([{ kind: "temporary", directory: "/tmp", files: ["tmp.a"], bytes: 5 }]);
  const size = fakeJournalSize({ diskBytes: 9e9, archivedBytes: 8e9 });
  const journal = createFakeJournal([], createFakeJournalStorage(size));
  const time = createFakeTimeSync(off, { ...off, isEnabled: true, isSynchronised: true });
  record.ports({
    SecurityUpdater: security,
    PackageManager: packages,
    OldKernels: packages.oldKernels,
    PackageLists: packages.lists,
    PackageRepairs: packages.repairs,
    Units: units,
    DiskCleanup: cleanup,
    Journal: journal,
    TimeSync: time,
  });
  const fileSystems = createFakeFileSystems([fakeFileSystem({ path: "/" })]);
  const clock = createFakeClock();
  const given = { packages, clock, units, ownUnit: undefined, time, journal, cleanup, fileSystems, security };
  return { fixes: builtInFixes(given), record };
}

describe("effects of fixes", () => {
  const ids = recordedFixes().fixes.map(({ id }) => id);

  it("every fix has something to do here", () => {
    expect(Object.keys(found).sort()).toEqual([...ids].sort());
  });

  it("fixes take the scopes of all that they do, name the units that they restart, and do nothing while they plan", async () => {
    const planned = new Set<string>();
    const done = new Map<string, ReadonlySet<string>>();
    for (const id of ids) {
      const { fixes, record } = recordedFixes();
      const fix = fixes.find((each) => each.id === id) as Fix;
      const plan = await fix.plan({ status: "fail", message: "", details: found[id] ?? {} }, signal);
      expect([id, plan.steps.length > 0]).toEqual([id, true]);
      for (const method of record.takeMethods()) planned.add(method);
      for (const step of plan.steps) await step.run(signal);
      const calls = record.take();
      done.set(id, new Set(calls.map(({ method }) => method)));
      const restarted = calls.flatMap(({ method, args }) => (method === "Units.restart" ? [args[0]] : []));
      expect([id, [...new Set(restarted)]]).toEqual([id, restarted.length === 0 ? [] : plan.units]);
    }
    const reads = (method: string): boolean =>
      harmless.has(method) || planned.has(method) || method === "PackageLists.refreshedAt";
    for (const fix of recordedFixes().fixes) {
      const has = ["health:fix", ...fix.alsoNeeds];
      const effects = [...(done.get(fix.id) ?? [])].filter((method) => !reads(method));
      const ways = (method: string): readonly (readonly string[])[] => {
        const alone = ofFixesAlone[method];
        return alone === undefined ? waysTo(method) : [[alone]];
      };
      const uncovered = effects.filter(
        (method) => !ways(method).some((way) => way.every((scope) => has.includes(scope))),
      );
      expect([fix.id, uncovered]).toEqual([fix.id, []]);
      const needless = fix.alsoNeeds.filter((scope) => !effects.some((method) => ways(method).flat().includes(scope)));
      expect([fix.id, needless, effects.length > 0]).toEqual([fix.id, [], true]);
    }
    const seen = new Set([...done.values()].flatMap((methods) => [...methods]));
    expect(Object.keys(ofFixesAlone).filter((method) => !seen.has(method) || waysTo(method).length > 0)).toEqual([]);
    expect(Object.keys(ofFixesAlone).filter(reads)).toEqual([]);
  });
});

describe("hooks", () => {
  const asking: Readonly<Record<string, string>> = {
    ...{ applyUpdates: "update", installPackages: "update", removePackages: "update", purgePackages: "update" },
    ...{ rollback: "rollback", fixCheck: "fix" },
  };

  it.each(mutations)(
    "%s asks the hooks before its event, and none for a caller who lacks a scope",
    async (name, row) => {
      const { service } = await startRecorded();
      const role = { type: "hook", events: hookEvents, onFailure: "allow" } as const;
      service.plugins.directories.put("watcher", { ...plainManifest("watcher"), role });
      const enable = { method: "POST", path: "/api/v1/plugins/watcher/enable", key: service.admin } as const;
      expect((await send(service, enable)).json).toMatchObject({ success: true });
      const request = await prepareMutation(service, name);
      const before = service.plugins.sandbox.calls.length;
      for (const lacking of scopesOf(row).filter((scope) => scope !== "self")) {
        const key = service.key(scopes.filter((scope) => scope !== lacking));
        expect((await send(service, { ...request, key })).status).toBe(403);
      }
      expect(service.plugins.sandbox.calls).toHaveLength(before);
      await send(service, { ...request, key: service.admin });
      const called = service.plugins.sandbox.calls
        .slice(before)
        .flatMap(({ manifest, stdin = "{}" }) =>
          manifest.name === "watcher" ? [JSON.parse(stdin) as { event: string }] : [],
        )
        .map(({ event }) => event)
        .filter((event) => event.startsWith("pre_") && event !== "pre_check");
      const event = asking[name];
      expect([name, called]).toEqual([name, event === undefined ? [] : [`pre_${event}`]]);
      await service.app.close();
    },
  );
});
