import { expect } from "vitest";
import type { ErrorCode } from "#contract/errors.ts";
import { type OperationName, operations } from "#contract/index.ts";
import type { Operation } from "#contract/operation.ts";
import { scopes } from "#contract/scopes.ts";
import { queuedState } from "#domain/operations/state.ts";
import type { StoredSilence } from "#domain/ports/alerts.ts";
import { toTimestamp } from "#kernel/clock.ts";
import { createFakeAlertStore } from "../fakes/alert-store.ts";
import { fakePackage } from "../fakes/package-manager.ts";
import { plainManifest } from "../fakes/plugin-directories.ts";
import { fakeProcess } from "../fakes/processes.ts";
import { createFakeSessionStore } from "../fakes/session-store.ts";
import { fakeStaleProcess } from "../fakes/stale-code.ts";
import { createFakeTraceStore } from "../fakes/trace-store.ts";
import { createFakeUnits } from "../fakes/units.ts";
import { pathOf, send, startTestService, type TestReply, type TestRequest, type TestService } from "./harness.ts";
import { registerPasskey } from "./passkeys.ts";

/** How to provoke an error of one operation. */
interface ErrorCase {
  readonly request?: Partial<TestRequest> | ((service: TestService) => Partial<TestRequest>);
  /** Which service it takes; the usual one unless said. */
  readonly service?: () => Promise<TestService>;
  readonly prepare?: (service: TestService) => void | Promise<void>;
  readonly details?: Readonly<Record<string, unknown>>;
}

type Table = typeof operations;
type OwnErrors<K extends OperationName> = Table[K]["errors"][number];
/**
 * One case for each error that a row names: one that is forgotten does not compile. Input that a schema refuses is the same for all
 * rows (`validation.api.test.ts`); what a handler refuses of it may be here.
 */
type Cases = {
  readonly [K in OperationName as [OwnErrors<K>] extends [never] ? never : K]: {
    readonly [C in OwnErrors<K>]: ErrorCase;
  };
} & { readonly [K in OperationName]?: { readonly VALIDATION_ERROR?: ErrorCase } };

const unavailable = async (): Promise<TestService> => {
  const units = createFakeUnits();
  units.available = false;
  return startTestService({ units });
};
const withoutPackages = (): Promise<TestService> => startTestService({ hostUpdates: () => Promise.resolve(undefined) });

const withoutTraces = (): Promise<TestService> => {
  const traces = createFakeTraceStore();
  traces.available = false;
  return startTestService({ traces });
};

const snapshotId = "20260101-000000";
const offer = ({ repository }: TestService["packageManager"]): void => {
  repository.set("editor", { version: "1.1", isSecurity: false });
};
/** Registers a passkey too many. */
let oneTooMany: Partial<TestRequest> = {};
const noLogind = {
  prepare({ reboots }: TestService) {
    reboots.available = false;
  },
  details: { missing: "logind", retryable: true },
};
const noSystemdForStale = {
  prepare({ staleCode, units }: TestService) {
    staleCode.processes = [fakeStaleProcess("cron.service")];
    units.available = false;
  },
  details: { missing: "systemd", retryable: true },
};
/** An update that never ends. */
async function hang(service: TestService): Promise<void> {
  offer(service.packageManager);
  service.packageManager.hangs = true;
  const headers = { prefer: "respond-async" };
  await send(service, { method: "POST", path: "/api/v1/updates/apply", key: service.admin, headers });
}
function take({ snapshots }: TestService): void {
  const progress = { step: () => undefined, line: () => undefined };
  const options = { id: snapshotId, description: "", kind: "manual", changes: [], progress } as const;
  void snapshots.create(options, new AbortController().signal);
}
function hangWithSnapshot(service: TestService): Promise<void> {
  take(service);
  return hang(service);
}
function damage(service: TestService): void {
  take(service);
  service.snapshots.damaged.add(snapshotId);
}
const messages = [{ role: "user", content: "Hello" }];

const someSilence = (id: string): StoredSilence => ({
  id,
  alert: "DiskSpaceLow",
  until: Date.parse("2026-01-02T00:00:00Z"),
  comment: "",
  createdAt: 0,
  createdBy: "",
});

const repeated = { "idempotency-key": "repeated" };
/** The first call of two with the same idempotency key. */
async function callBefore(service: TestService, path: string, body: unknown): Promise<void> {
  await send(service, { method: "POST", path, key: service.admin, headers: repeated, body });
}

const noService = (verb: string) => ({
  request: { path: `/api/v1/system/services/cron.socket/${verb}` },
  details: { field: "name", issue: "not the name of a service unit" },
});

/** The errors that every change of a service has. */
const serviceErrors = (verb: string) => ({
  VALIDATION_ERROR: {
    request: { path: `/api/v1/system/services/masked/${verb}` },
    details: { field: "name", issue: "unit is masked" },
  },
  NOT_FOUND: { request: { path: `/api/v1/system/services/nothing/${verb}` } },
  UNAVAILABLE: { service: unavailable, details: { missing: "systemd", retryable: true } },
});

const noTimedated = {
  prepare({ timeSettings }: TestService) {
    timeSettings.available = false;
  },
  details: { missing: "systemd-timedated", retryable: true },
};
const noHostnamed = {
  prepare({ hostNames }: TestService) {
    hostNames.available = false;
  },
  details: { missing: "systemd-hostnamed", retryable: true },
};
const signalRequest = (pid: number) => ({
  path: `/api/v1/system/processes/${pid}/signal`,
  body: { signal: "TERM", start_time: toTimestamp(fakeProcess(pid).startedAt) },
});
/** Well-formed, and of no entry. */
const unknownCursor = encodeURIComponent(`s=${"a".repeat(32)};i=1;b=${"b".repeat(32)};m=1;t=1;x=1`);
const noJournal = {
  prepare: ({ journal }: TestService) => {
    journal.available = false;
  },
  details: { missing: "journal", retryable: true },
};
/** Something that another key has decided already. */
const decidedApproval = (doing: "approve" | "deny" | "cancel"): ErrorCase => ({
  request: { path: `/api/v1/approvals/operation-1/${doing}` },
  async prepare(service) {
    const other = service.key(scopes);
    const [proposer, approver] = doing === "cancel" ? [service.admin, other] : [other, service.admin];
    service.service.replaceApprovals({ requireFor: ["system:hostname"], approvers: 1, expireMs: 3_600_000 });
    const body = { hostname: "web2" };
    await send(service, { method: "POST", path: "/api/v1/system/hostname", key: proposer, body });
    await send(service, { method: "POST", path: "/api/v1/approvals/operation-1/approve", key: approver });
  },
  details: { reason: "decided", retryable: false },
});

/** The errors of changes of packages that are named. */
const packageErrors = (issue: string) => ({
  VALIDATION_ERROR: { request: { body: { packages: ["nothing"] } }, details: { field: "packages", issue } },
  CONFLICT: {
    request: { body: { packages: ["editor"] } },
    prepare: hang,
    details: { operation_id: "operation-1", retryable: true },
  },
  UNAVAILABLE: {
    request: { body: { packages: ["editor"] } },
    prepare({ packageManager }: TestService) {
      offer(packageManager);
      packageManager.lockedBy = { pid: 7, program: "apt-get" };
    },
    details: { holder: { pid: 7, program: "apt-get" }, retryable: true, operation_id: "operation-1" },
  },
});

const holdErrors = (isHeld: boolean) => ({
  VALIDATION_ERROR: {
    request: { body: { packages: ["nothing"] } },
    details: { field: "packages", issue: "nothing is not installed" },
  },
  UNAVAILABLE: {
    request: { body: { packages: ["editor"] } },
    prepare({ packageManager }: TestService) {
      packageManager.packages.set("editor", fakePackage("editor", "1.0", { isHeld: !isHeld }));
      packageManager.lockedBy = { pid: 7, program: "apt-get" };
    },
    details: { holder: { pid: 7, program: "apt-get" }, retryable: true },
  },
});

const cases: Cases = {
  holdPackages: holdErrors(true),
  unholdPackages: holdErrors(false),
  installPackages: packageErrors("nothing is not a package"),
  removePackages: packageErrors("nothing is not installed"),
  purgePackages: packageErrors("nothing is not installed"),
  getReadiness: { UNAVAILABLE: { prepare: ({ service }) => service.drain(), details: { retryable: true } } },
  getCheck: {
    NOT_FOUND: {},
  },
  getCheckHistory: {
    NOT_FOUND: {},
  },
  getCheckMetrics: {
    NOT_FOUND: { request: { path: "/api/v1/health/metrics?check=nothing" } },
  },
  fixCheck: {
    VALIDATION_ERROR: {
      request: { path: "/api/v1/health/checks/plain/fix" },
      details: { field: "check_id", issue: "there is no fix for this check" },
    },
    NOT_FOUND: {},
    CONFLICT: {
      request: { path: "/api/v1/health/checks/vital/fix" },
      prepare(service) {
        const { vital } = service.checks;
        vital.finds = "fail";
        service.fixes.repair.planned = { steps: [{ action: "wait", run: () => new Promise(() => undefined) }] };
        void send(service, { method: "POST", path: "/api/v1/health/checks/vital/fix", key: service.admin });
      },
      details: { operation_id: "operation-1" },
    },
  },
  listServices: {
    UNAVAILABLE: { service: unavailable, details: { missing: "systemd", retryable: true } },
  },
  getService: {
    VALIDATION_ERROR: {
      request: { path: "/api/v1/system/services/cron.socket" },
      details: { field: "name", issue: "not the name of a service unit" },
    },
    NOT_FOUND: { request: { path: "/api/v1/system/services/nothing" } },
    UNAVAILABLE: { service: unavailable, details: { missing: "systemd", retryable: true } },
  },
  listUnits: {
    UNAVAILABLE: { service: unavailable, details: { missing: "systemd", retryable: true } },
  },
  restartService: serviceErrors("restart"),
  startService: serviceErrors("start"),
  stopService: { ...serviceErrors("stop"), VALIDATION_ERROR: noService("stop") },
  reloadService: serviceErrors("reload"),
  enableService: serviceErrors("enable"),
  disableService: { ...serviceErrors("disable"), VALIDATION_ERROR: noService("disable") },
  maskService: { ...serviceErrors("mask"), VALIDATION_ERROR: noService("mask") },
  unmaskService: { ...serviceErrors("unmask"), VALIDATION_ERROR: noService("unmask") },
  listLogs: {
    UNAVAILABLE: noJournal,
  },
  getLogHistogram: {
    UNAVAILABLE: noJournal,
  },
  getLogFacets: {
    UNAVAILABLE: noJournal,
  },
  getLogTemplates: {
    VALIDATION_ERROR: {
      request: { path: "/api/v1/system/logs/templates?status=new" },
      details: { field: "status", issue: "Must be given together with compare" },
    },
    NOT_FOUND: { request: { path: "/api/v1/system/logs/templates?compare=boot" } },
    UNAVAILABLE: noJournal,
  },
  getLogContext: {
    VALIDATION_ERROR: { request: { path: "/api/v1/system/logs/context?cursor=s" }, details: { field: "cursor" } },
    NOT_FOUND: { request: { path: `/api/v1/system/logs/context?cursor=${unknownCursor}` } },
    UNAVAILABLE: { request: { path: `/api/v1/system/logs/context?cursor=${unknownCursor}` }, ...noJournal },
  },
  exportLogs: {
    VALIDATION_ERROR: { request: { path: "/api/v1/system/logs/export?format=csv" }, details: { field: "format" } },
    UNAVAILABLE: { request: { path: "/api/v1/system/logs/export" }, ...noJournal },
  },
  listLogBoots: { UNAVAILABLE: noJournal },
  listLogFields: { UNAVAILABLE: noJournal },
  listLogFieldValues: {
    UNAVAILABLE: { request: { path: "/api/v1/system/logs/fields/_COMM" }, ...noJournal },
  },
  getLogUsage: { UNAVAILABLE: noJournal },
  searchPackages: {
    UNAVAILABLE: { service: withoutPackages, details: { missing: "package catalog", retryable: false } },
  },
  listPackageHistory: {
    UNAVAILABLE: { service: withoutPackages, details: { missing: "package catalog", retryable: false } },
  },
  getPackage: {
    NOT_FOUND: { request: { path: "/api/v1/packages/nothing" } },
    UNAVAILABLE: { service: withoutPackages, details: { missing: "package catalog", retryable: false } },
  },
  checkUpdates: {
    UNAVAILABLE: { service: withoutPackages, details: { missing: "package manager", retryable: false } },
  },
  applyUpdates: {
    VALIDATION_ERROR: {
      request: { body: { packages: ["nothing"] } },
      details: { field: "packages", issue: "nothing is not installed" },
    },
    CONFLICT: { prepare: hang, details: { operation_id: "operation-1", retryable: true } },
    UNAVAILABLE: {
      prepare({ packageManager }) {
        offer(packageManager);
        packageManager.lockedBy = { pid: 7, program: "apt-get" };
      },
      details: { holder: { pid: 7, program: "apt-get" }, retryable: true, operation_id: "operation-1" },
    },
  },
  signalProcess: {
    VALIDATION_ERROR: {
      request: signalRequest(1),
      prepare: ({ processes }) => processes.put(fakeProcess(1)),
      details: { field: "pid", issue: "it is the init process" },
    },
    NOT_FOUND: { request: signalRequest(8) },
    CONFLICT: {
      request: { ...signalRequest(7), body: { signal: "TERM", start_time: "2020-01-01T00:00:00Z" } },
      details: { start_time: toTimestamp(fakeProcess(7).startedAt) },
    },
    UNAVAILABLE: {
      request: signalRequest(7),
      prepare: ({ processes }) => processes.put(fakeProcess(7, { onSignal: "is forbidden" })),
      details: { missing: "rights", retryable: false },
    },
  },
  listUsers: {
    UNAVAILABLE: {
      prepare({ accounts }) {
        accounts.available = false;
      },
      details: { missing: "getent", retryable: true },
    },
  },
  getTime: { UNAVAILABLE: noTimedated },
  setTime: {
    VALIDATION_ERROR: {
      request: { body: { timezone: "Mars/Olympus" } },
      details: {
        field: "timezone",
        issue: "the host has no time zone Mars/Olympus (timedatectl list-timezones has them)",
      },
    },
    UNAVAILABLE: { ...noTimedated, request: { body: { ntp: false } } },
  },
  getHostname: { UNAVAILABLE: noHostnamed },
  setHostname: {
    VALIDATION_ERROR: {
      request: { body: { hostname: "localhost" } },
      details: { field: "hostname", issue: "this name means every host itself" },
    },
    UNAVAILABLE: { ...noHostnamed, request: { body: { hostname: "web2" } } },
  },
  listDisks: {
    UNAVAILABLE: {
      prepare({ blockDevices }) {
        blockDevices.missing = "lsblk";
      },
      details: { missing: "lsblk", retryable: false },
    },
  },
  getRunbook: {
    NOT_FOUND: { request: { path: "/api/v1/runbooks/none" }, details: { id: "none" } },
  },
  getDiskUsage: {
    NOT_FOUND: { request: { path: "/api/v1/system/disk-usage?path=/nothing" }, details: { path: "/nothing" } },
    UNAVAILABLE: {
      request: { path: "/api/v1/system/disk-usage?path=/root" },
      prepare: ({ directorySizes }) => void directorySizes.closed.add("/root"),
      details: { missing: "rights", retryable: false },
    },
  },
  getNetwork: {
    UNAVAILABLE: {
      prepare({ links }) {
        links.isMissing = true;
      },
      details: { missing: "/sys/class/net", retryable: false },
    },
  },
  getReboot: {
    UNAVAILABLE: noLogind,
  },
  rebootHost: {
    VALIDATION_ERROR: {
      request: { body: { at: "2020-01-01T00:00:00Z" } },
      details: { field: "at", issue: "is in the past" },
    },
    CONFLICT: { prepare: hang, details: { operation_id: "operation-1", retryable: true } },
    UNAVAILABLE: noLogind,
  },
  cancelReboot: {
    NOT_FOUND: {},
    UNAVAILABLE: noLogind,
  },
  getAutomaticUpdates: {
    UNAVAILABLE: {
      prepare({ packageManager, units }) {
        packageManager.updaters = ["apt-daily-upgrade.timer"];
        units.available = false;
      },
      details: { missing: "systemd", retryable: true },
    },
  },
  listStale: {
    UNAVAILABLE: noSystemdForStale,
  },
  restartStale: {
    CONFLICT: { prepare: hang, details: { operation_id: "operation-1", retryable: true } },
    UNAVAILABLE: noSystemdForStale,
  },
  createSnapshot: {
    CONFLICT: { prepare: hang, details: { operation_id: "operation-1" } },
    UNAVAILABLE: { service: withoutPackages, details: { missing: "snapshots", retryable: false } },
  },
  deleteSnapshot: {
    NOT_FOUND: { request: { path: "/api/v1/updates/snapshots/20200101-000000" } },
    CONFLICT: {
      request: { path: `/api/v1/updates/snapshots/${snapshotId}` },
      prepare: hangWithSnapshot,
      details: { operation_id: "operation-1" },
    },
    UNAVAILABLE: {
      request: { path: `/api/v1/updates/snapshots/${snapshotId}` },
      prepare(service) {
        take(service);
        service.launcher.fault = new Error("no more processes");
      },
      details: { reason: "not_begun", retryable: true },
    },
  },
  diffSnapshot: {
    NOT_FOUND: { request: { path: "/api/v1/updates/snapshots/..%2f..%2fetc/diff" } },
    UNAVAILABLE: {
      request: { path: `/api/v1/updates/snapshots/${snapshotId}/diff` },
      prepare: damage,
      details: { missing: "snapshot", retryable: false },
    },
  },
  diffSnapshotFile: {
    VALIDATION_ERROR: {
      request: { path: `/api/v1/updates/snapshots/${snapshotId}/diff/file?path=/usr/bin/apt` },
      details: { field: "path" },
    },
    NOT_FOUND: { request: { path: `/api/v1/updates/snapshots/${snapshotId}/diff/file?path=/etc/../root/.profile` } },
    UNAVAILABLE: {
      request: { path: `/api/v1/updates/snapshots/${snapshotId}/diff/file?path=/etc/hosts` },
      prepare: damage,
      details: { missing: "snapshot", retryable: false },
    },
  },
  rollback: {
    NOT_FOUND: { request: { path: "/api/v1/updates/rollback/20200101-000000" } },
    CONFLICT: {
      request: { path: `/api/v1/updates/rollback/${snapshotId}` },
      prepare: hangWithSnapshot,
      details: { operation_id: "operation-1" },
    },
    UNAVAILABLE: {
      request: { path: `/api/v1/updates/rollback/${snapshotId}` },
      prepare: damage,
      details: { missing: "snapshot", retryable: false, operation_id: "operation-1" },
    },
  },
  getOperation: {
    NOT_FOUND: {},
  },
  getPlugin: {
    NOT_FOUND: {},
  },
  getConnector: {
    NOT_FOUND: {},
  },
  getSnapshot: {
    NOT_FOUND: { request: { path: "/api/v1/updates/snapshots/20200101-000000" } },
  },
  canI: {
    VALIDATION_ERROR: { request: { path: "/api/v1/auth/can?operation=restart" }, details: { field: "operation" } },
  },
  getApproval: {
    NOT_FOUND: {},
  },
  approve: {
    NOT_FOUND: {},
    CONFLICT: decidedApproval("approve"),
  },
  deny: {
    NOT_FOUND: {},
    CONFLICT: decidedApproval("deny"),
  },
  cancelApproval: {
    NOT_FOUND: {},
    CONFLICT: decidedApproval("cancel"),
  },
  getKey: {
    NOT_FOUND: {},
  },
  getAlert: {
    NOT_FOUND: {},
  },
  getSilence: {
    NOT_FOUND: {},
  },
  cancelOperation: {
    NOT_FOUND: {},
    CONFLICT: {
      request: { path: "/api/v1/operations/ended" },
      prepare({ operationStore }) {
        const spec = {
          id: "ended",
          kind: "snapshots.create",
          input: {},
          createdAt: 0,
          keyId: null,
          idempotencyKey: null,
        };
        operationStore.create(spec);
        operationStore.write("ended", { ...queuedState, status: "done", finishedAt: 1 });
      },
      details: { reason: "ended", operation_id: "ended", status: "done", retryable: false },
    },
  },
  testConnector: {
    NOT_FOUND: {},
  },
  chat: {
    NOT_FOUND: { request: { body: { connector: "nobody", messages } } },
    UNAVAILABLE: {
      request: { body: { messages } },
      details: { connector: null, provider_status: null, retryable: false },
    },
  },
  explainCheck: {
    NOT_FOUND: {},
    UNAVAILABLE: {
      request: { path: "/api/v1/health/checks/plain/explain" },
      details: { connector: null, provider_status: null, retryable: false },
    },
  },
  diagnose: {
    NOT_FOUND: { request: { body: { check: "none" } }, details: { check: "none" } },
    UNAVAILABLE: {
      request: { body: { question: "Why is it slow?" } },
      details: { connector: null, provider_status: null, retryable: false },
    },
  },
  enablePlugin: {
    VALIDATION_ERROR: {
      request: { path: "/api/v1/plugins/rooted/enable" },
      prepare({ plugins }) {
        plugins.directories.put("rooted", { permissions: { ...plainManifest("rooted").permissions, user: "root" } });
      },
      details: { field: "confirm", issue: "Must be true" },
    },
    NOT_FOUND: { details: { name: "some-name" } },
  },
  disablePlugin: {
    NOT_FOUND: { details: { name: "some-name" } },
  },
  runPlugin: {
    VALIDATION_ERROR: {
      request: { path: "/api/v1/plugins/idle/run" },
      prepare: ({ plugins }) => void plugins.directories.put("idle"),
      details: { field: "name", issue: "Plugin is not enabled" },
    },
    NOT_FOUND: { details: { name: "some-name" } },
    UNAVAILABLE: {
      request: { path: "/api/v1/plugins/changed/run" },
      async prepare(service) {
        service.plugins.directories.put("changed");
        await send(service, { method: "POST", path: "/api/v1/plugins/changed/enable", key: service.admin });
        service.plugins.directories.touch("changed");
      },
      details: { reason: expect.stringContaining("it changed on disk"), retryable: false },
    },
  },
  silenceAlert: {
    VALIDATION_ERROR: {
      request: { body: { alert: "DiskSpaceLow", until: "2025-12-31T23:59:59Z" } },
      details: { field: "until", issue: "is in the past" },
    },
    CONFLICT: {
      request: { body: { alert: "DiskSpaceLow", until: "2026-01-02T00:00:00Z" } },
      service: () => {
        const alerts = createFakeAlertStore();
        for (let count = 0; count < 100; count += 1) alerts.saveSilence(someSilence(`silence-${count}`));
        return startTestService({ alerts });
      },
    },
  },
  removeSilence: {
    NOT_FOUND: {},
  },
  testNotifications: {
    VALIDATION_ERROR: {
      request: { body: { channel: "paging_chat" } },
      details: { field: "channel", issue: "is not configured" },
    },
  },
  createKey: {
    CONFLICT: {
      request: { body: { name: "x", scopes: [] }, headers: repeated },
      prepare: (service) => callBefore(service, "/api/v1/auth/keys", { name: "x", scopes: [] }),
      details: { made: { id: expect.any(String), name: "x", scopes: "" }, retryable: false },
    },
  },
  revokeKey: {
    NOT_FOUND: {},
  },
  createToken: {
    FORBIDDEN: { request: { body: { scopes: ["keys:admin"] } }, details: { required_scope: "keys:admin" } },
    CONFLICT: {
      request: { body: { scopes: [] }, headers: repeated },
      prepare: (service) => callBefore(service, "/api/v1/auth/tokens", { scopes: [] }),
      details: { made: { scopes: "", expires_at: "2026-01-01T01:00:00.000Z" }, retryable: false },
    },
  },
  createSession: {
    VALIDATION_ERROR: { request: { body: {} }, details: { field: "key", issue: "Give a key, a code or a passkey" } },
    UNAUTHORIZED: { request: { body: { key: "hello" } } },
    RATE_LIMITED: {
      request: { body: { code: "hello" } },
      async prepare(service) {
        for (let count = 0; count < 60; count += 1)
          await send(service, { method: "POST", path: "/api/v1/auth/sessions", body: { code: "hello" } });
      },
      details: { retry_after_seconds: 60 },
    },
    UNAVAILABLE: {
      service: () => {
        const sessions = createFakeSessionStore();
        sessions.fault = Object.assign(new Error("disk full"), {
          code: "ENOSPC",
          path: "/var/lib/steward/sessions.db",
        });
        return startTestService({ sessions });
      },
      request: ({ admin }) => ({ body: { key: admin } }),
      details: { missing: "disk space" },
    },
  },
  endSession: {
    NOT_FOUND: {},
  },
  createCode: {
    FORBIDDEN: {
      request: ({ service, admin, clock }) => ({
        key: service.keyring.createToken(admin.slice(4, 12), [], clock.now() + 1000),
      }),
    },
  },
  createTicket: { FORBIDDEN: {} },
  getPasskeyCreationOptions: { FORBIDDEN: {} },
  createPasskey: {
    CONFLICT: {
      async prepare(service) {
        for (let count = 0; count < 16; count += 1) await registerPasskey(service);
        const { session, body } = await registerPasskey(service);
        oneTooMany = { headers: session, body };
      },
      request: () => oneTooMany,
    },
  },
  removePasskey: {
    NOT_FOUND: {},
  },
  listTraces: {
    UNAVAILABLE: { service: withoutTraces, details: { missing: "traces", retryable: true } },
  },
  listAudit: {
    UNAVAILABLE: {
      prepare: ({ audit }) => {
        audit.unreadable = "the disk is gone";
      },
      details: { missing: "audit", retryable: true },
    },
  },
  getTrace: {
    NOT_FOUND: { request: { path: `/api/v1/traces/${"0".repeat(31)}1` } },
    UNAVAILABLE: { request: { path: `/api/v1/traces/${"0".repeat(31)}1` }, service: withoutTraces },
  },
};

/** Every error that a row has by itself or by its input, with how it is provoked. */
export const errorCases = Object.entries(cases).flatMap(([name, codes]) =>
  Object.entries<ErrorCase>(codes).map(([code, given]) => [name as OperationName, code as ErrorCode, given] as const),
);

/** Provokes an error in a service of its own, which `started` gets to end it. */
export async function provokeError(
  [name, code, given]: (typeof errorCases)[number],
  started: (service: TestService) => void,
): Promise<TestReply> {
  const service = await (given.service ?? startTestService)();
  started(service);
  await given.prepare?.(service);
  const key = code === "FORBIDDEN" ? service.key(["system:read"]) : service.admin;
  const request = typeof given.request === "function" ? given.request(service) : given.request;
  const isInSession = request?.headers?.["x-steward-session"] !== undefined;
  const credential = isInSession ? {} : { key };
  const operation: Operation = operations[name];
  return send(service, { method: operation.method, path: pathOf(operation), ...credential, ...request });
}
