import { afterEach, describe, expect, it } from "vitest";
import { type ErrorCode, errorStatus } from "#contract/errors.ts";
import { type OperationName, operations } from "#contract/index.ts";
import { errorsOf, type Operation } from "#contract/operation.ts";
import type { KeyRecord, KeyStore } from "#domain/ports/access.ts";
import type { StoredSilence } from "#domain/ports/alerts.ts";
import { toTimestamp } from "#kernel/clock.ts";
import { createMetrics } from "#telemetry/metrics.ts";
import { createFakeAlertStore } from "../fakes/alert-store.ts";
import { createFakeAuditLog } from "../fakes/audit-log.ts";
import { createFakeCheckHistory } from "../fakes/check-history.ts";
import { createFakeJournal } from "../fakes/journal.ts";
import { createFakeKeyStore } from "../fakes/key-store.ts";
import { fakePackage } from "../fakes/package-manager.ts";
import { plainManifest } from "../fakes/plugin-folders.ts";
import { fakeProcess } from "../fakes/processes.ts";
import { fakeStaleProcess } from "../fakes/stale-code.ts";
import { createFakeTraceStore } from "../fakes/trace-store.ts";
import { createFakeUnitDetails } from "../fakes/unit-details.ts";
import { createFakeUnits } from "../fakes/units.ts";
import { pathOf, send, startTestService, type TestRequest, type TestService } from "./harness.ts";

/** How to provoke an error of one operation. */
interface Case {
  readonly request?: Partial<TestRequest>;
  /** Which service it takes; the usual one unless said. */
  readonly service?: () => Promise<TestService>;
  readonly prepare?: (service: TestService) => void | Promise<void>;
  readonly details?: Readonly<Record<string, unknown>>;
}

type Table = typeof operations;
type OwnErrors<K extends OperationName> = Table[K]["errors"][number];
type WithInput<K extends OperationName> = Table[K] extends { params: unknown } | { query: unknown } | { body: unknown }
  ? "VALIDATION_ERROR"
  : never;

/**
 * One case for each error that a row names and each that its input brings with it: one that is forgotten
 * does not compile. The errors that every operation shares are provoked below for all rows at once.
 */
type Cases = {
  readonly [K in OperationName as [OwnErrors<K> | WithInput<K>] extends [never] ? never : K]: {
    readonly [C in OwnErrors<K> | WithInput<K>]: Case;
  };
};

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
function damage(service: TestService): void {
  take(service);
  service.snapshots.damaged.add(snapshotId);
}
const messages = [{ role: "user", content: "Hello" }];
const missing = (field: string) => ({ field, issue: "Required field missing" });

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
const noJournal = {
  prepare: ({ journal }: TestService) => {
    journal.available = false;
  },
  details: { missing: "journal", retryable: true },
};
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
    VALIDATION_ERROR: { request: { path: `/api/v1/health/checks/${"x".repeat(129)}` }, details: { field: "check_id" } },
    NOT_FOUND: {},
  },
  getCheckHistory: {
    VALIDATION_ERROR: {
      request: { path: "/api/v1/health/checks/plain/history?since=yesterday" },
      details: { field: "since" },
    },
    NOT_FOUND: {},
  },
  getCheckMetrics: {
    VALIDATION_ERROR: {
      request: { path: "/api/v1/health/metrics" },
      details: { field: "check" },
    },
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
        service.fixes.mend.planned = { steps: [{ action: "wait", run: () => new Promise(() => undefined) }] };
        void send(service, { method: "POST", path: "/api/v1/health/checks/vital/fix", key: service.admin });
      },
      details: { operation_id: "operation-1" },
    },
  },
  listServices: {
    VALIDATION_ERROR: {
      request: { path: "/api/v1/system/services?status=sleeping" },
      details: { field: "status", issue: "Must be one of all, active, inactive, failed" },
    },
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
    VALIDATION_ERROR: {
      request: { path: "/api/v1/system/units?type=device" },
      details: { field: "type" },
    },
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
    VALIDATION_ERROR: {
      request: { path: "/api/v1/system/logs?grep=(" },
      details: { field: "grep", issue: "Must be a regular expression: Unterminated group" },
    },
    UNAVAILABLE: noJournal,
  },
  listLogBoots: { UNAVAILABLE: noJournal },
  listLogFields: { UNAVAILABLE: noJournal },
  listLogFieldValues: {
    VALIDATION_ERROR: { request: { path: "/api/v1/system/logs/fields/a-b" }, details: { field: "name" } },
    UNAVAILABLE: { request: { path: "/api/v1/system/logs/fields/_COMM" }, ...noJournal },
  },
  getLogUsage: { UNAVAILABLE: noJournal },
  searchPackages: {
    VALIDATION_ERROR: { request: { path: "/api/v1/packages?limit=0" }, details: { field: "limit" } },
    UNAVAILABLE: { service: withoutPackages, details: { missing: "package catalog", retryable: false } },
  },
  listPackageHistory: {
    VALIDATION_ERROR: { request: { path: "/api/v1/packages/history?limit=0" }, details: { field: "limit" } },
    UNAVAILABLE: { service: withoutPackages, details: { missing: "package catalog", retryable: false } },
  },
  getPackage: {
    VALIDATION_ERROR: { request: { path: "/api/v1/packages/-o" }, details: { field: "name" } },
    NOT_FOUND: { request: { path: "/api/v1/packages/nothing" } },
    UNAVAILABLE: { service: withoutPackages, details: { missing: "package catalog", retryable: false } },
  },
  checkUpdates: {
    VALIDATION_ERROR: {
      request: { path: "/api/v1/updates/check?refresh=perhaps" },
      details: { field: "refresh", issue: "Must be true or false" },
    },
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
  listProcesses: {
    VALIDATION_ERROR: { request: { path: "/api/v1/system/processes?sort=name" }, details: { field: "sort" } },
  },
  signalProcess: {
    VALIDATION_ERROR: {
      request: signalRequest(1),
      prepare: ({ processes }) => processes.put(fakeProcess(1)),
      details: { field: "pid", issue: "it is the first process, which all others stand on" },
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
    VALIDATION_ERROR: { request: { path: "/api/v1/system/users?limit=0" }, details: { field: "limit" } },
    UNAVAILABLE: {
      prepare({ accounts }) {
        accounts.available = false;
      },
      details: { missing: "getent", retryable: true },
    },
  },
  listLogins: {
    VALIDATION_ERROR: { request: { path: "/api/v1/system/logins?limit=0" }, details: { field: "limit" } },
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
  getDiskUsage: {
    VALIDATION_ERROR: { request: { path: "/api/v1/system/disk-usage?path=srv" }, details: { field: "path" } },
    NOT_FOUND: { request: { path: "/api/v1/system/disk-usage?path=/nothing" }, details: { path: "/nothing" } },
    UNAVAILABLE: {
      request: { path: "/api/v1/system/disk-usage?path=/root" },
      prepare: ({ folderSizes }) => void folderSizes.closed.add("/root"),
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
    UNAVAILABLE: {
      prepare({ reboots }) {
        reboots.available = false;
      },
      details: { missing: "logind", retryable: true },
    },
  },
  rebootHost: {
    VALIDATION_ERROR: {
      request: { body: { at: "2020-01-01T00:00:00Z" } },
      details: { field: "at", issue: "lies in the past" },
    },
    CONFLICT: { prepare: hang, details: { operation_id: "operation-1", retryable: true } },
    UNAVAILABLE: {
      prepare({ reboots }) {
        reboots.available = false;
      },
      details: { missing: "logind", retryable: true },
    },
  },
  cancelReboot: {
    VALIDATION_ERROR: {
      request: { path: "/api/v1/system/reboot?dry_run=perhaps" },
      details: { field: "dry_run" },
    },
    NOT_FOUND: {},
    UNAVAILABLE: {
      prepare({ reboots }) {
        reboots.available = false;
      },
      details: { missing: "logind", retryable: true },
    },
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
    UNAVAILABLE: {
      prepare({ staleCode, units }) {
        staleCode.processes = [fakeStaleProcess("cron.service")];
        units.available = false;
      },
      details: { missing: "systemd", retryable: true },
    },
  },
  restartStale: {
    VALIDATION_ERROR: {
      request: { path: "/api/v1/updates/restart-stale?dry_run=perhaps" },
      details: { field: "dry_run" },
    },
    CONFLICT: { prepare: hang, details: { operation_id: "operation-1", retryable: true } },
    UNAVAILABLE: {
      prepare({ staleCode, units }) {
        staleCode.processes = [fakeStaleProcess("cron.service")];
        units.available = false;
      },
      details: { missing: "systemd", retryable: true },
    },
  },
  createSnapshot: {
    VALIDATION_ERROR: {
      request: { body: { description: 7 } },
      details: { field: "description", issue: "Must be a string" },
    },
    CONFLICT: { prepare: hang, details: { operation_id: "operation-1" } },
    UNAVAILABLE: { service: withoutPackages, details: { missing: "snapshots", retryable: false } },
  },
  deleteSnapshot: {
    VALIDATION_ERROR: {
      request: { path: `/api/v1/updates/snapshots/${"2".repeat(65)}` },
      details: { field: "snapshot_id" },
    },
    NOT_FOUND: { request: { path: "/api/v1/updates/snapshots/20200101-000000" } },
    CONFLICT: {
      request: { path: `/api/v1/updates/snapshots/${snapshotId}` },
      prepare(service) {
        take(service);
        return hang(service);
      },
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
    VALIDATION_ERROR: {
      request: { path: `/api/v1/updates/snapshots/${"2".repeat(65)}/diff` },
      details: { field: "snapshot_id" },
    },
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
    VALIDATION_ERROR: {
      request: { path: `/api/v1/updates/rollback/${"2".repeat(65)}` },
      details: { field: "snapshot_id" },
    },
    NOT_FOUND: { request: { path: "/api/v1/updates/rollback/20200101-000000" } },
    CONFLICT: {
      request: { path: `/api/v1/updates/rollback/${snapshotId}` },
      prepare(service) {
        take(service);
        return hang(service);
      },
      details: { operation_id: "operation-1" },
    },
    UNAVAILABLE: {
      request: { path: `/api/v1/updates/rollback/${snapshotId}` },
      prepare: damage,
      details: { missing: "snapshot", retryable: false, operation_id: "operation-1" },
    },
  },
  listOperations: {
    VALIDATION_ERROR: { request: { path: "/api/v1/operations?limit=0" }, details: { field: "limit" } },
  },
  getOperation: {
    VALIDATION_ERROR: { request: { path: `/api/v1/operations/${"x".repeat(65)}` }, details: { field: "id" } },
    NOT_FOUND: {},
  },
  testConnector: {
    VALIDATION_ERROR: {
      request: { path: `/api/v1/connectors/${"x".repeat(129)}/test` },
      details: { field: "name" },
    },
    NOT_FOUND: {},
  },
  chat: {
    VALIDATION_ERROR: { details: missing("messages") },
    NOT_FOUND: { request: { body: { connector: "nobody", messages } } },
    UNAVAILABLE: {
      request: { body: { messages } },
      details: { connector: null, provider_status: null, retryable: false },
    },
  },
  explainCheck: {
    VALIDATION_ERROR: {
      request: { path: "/api/v1/health/checks/plain/explain", body: { question: "" } },
      details: { field: "question" },
    },
    NOT_FOUND: {},
    UNAVAILABLE: {
      request: { path: "/api/v1/health/checks/plain/explain" },
      details: { connector: null, provider_status: null, retryable: false },
    },
  },
  enablePlugin: {
    VALIDATION_ERROR: {
      request: { path: "/api/v1/plugins/rooted/enable" },
      prepare({ plugins }) {
        plugins.folders.put("rooted", { permissions: { ...plainManifest("rooted").permissions, user: "root" } });
      },
      details: { field: "confirm", issue: "Must be true" },
    },
    NOT_FOUND: { details: { name: "some-name" } },
  },
  disablePlugin: {
    VALIDATION_ERROR: { request: { path: `/api/v1/plugins/${"x".repeat(65)}/disable` }, details: { field: "name" } },
    NOT_FOUND: { details: { name: "some-name" } },
  },
  runPlugin: {
    VALIDATION_ERROR: {
      request: { path: "/api/v1/plugins/idle/run" },
      prepare: ({ plugins }) => void plugins.folders.put("idle"),
      details: { field: "name", issue: "Plugin is not enabled" },
    },
    NOT_FOUND: { details: { name: "some-name" } },
    UNAVAILABLE: {
      request: { path: "/api/v1/plugins/changed/run" },
      async prepare(service) {
        service.plugins.folders.put("changed");
        await send(service, { method: "POST", path: "/api/v1/plugins/changed/enable", key: service.admin });
        service.plugins.folders.touch("changed");
      },
      details: { reason: expect.stringContaining("it changed on disk"), retryable: false },
    },
  },
  silenceAlert: {
    VALIDATION_ERROR: {
      request: { body: { alert: "DiskSpaceLow", until: "2025-12-31T23:59:59Z" } },
      details: { field: "until", issue: "lies in the past" },
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
    VALIDATION_ERROR: {
      request: { path: `/api/v1/alerts/silences/${"x".repeat(65)}` },
      details: { field: "id" },
    },
    NOT_FOUND: {},
  },
  listNotifications: {
    VALIDATION_ERROR: { request: { path: "/api/v1/alerts/notifications?limit=0" }, details: { field: "limit" } },
  },
  testNotifications: {
    VALIDATION_ERROR: {
      request: { body: { channel: "paging_chat" } },
      details: { field: "channel", issue: "is not configured" },
    },
  },
  createKey: {
    VALIDATION_ERROR: { request: { body: { scopes: [] } }, details: missing("name") },
    CONFLICT: {
      request: { body: { name: "x", scopes: [] }, headers: repeated },
      prepare: (service) => callBefore(service, "/api/v1/auth/keys", { name: "x", scopes: [] }),
      details: { made: { id: expect.any(String), name: "x", scopes: "" }, retryable: false },
    },
  },
  revokeKey: {
    VALIDATION_ERROR: {
      request: { path: "/api/v1/auth/keys/x?dry_run=perhaps" },
      details: { field: "dry_run", issue: "Must be true or false" },
    },
    NOT_FOUND: {},
  },
  createToken: {
    VALIDATION_ERROR: {
      request: { body: { expires_in: "5" } },
      details: { field: "expires_in", issue: "Must be an integer" },
    },
    FORBIDDEN: { request: { body: { scopes: ["keys:admin"] } }, details: { required_scope: "keys:admin" } },
    CONFLICT: {
      request: { body: { scopes: [] }, headers: repeated },
      prepare: (service) => callBefore(service, "/api/v1/auth/tokens", { scopes: [] }),
      details: { made: { scopes: "", expires_at: "2026-01-01T01:00:00.000Z" }, retryable: false },
    },
  },
  listTraces: {
    VALIDATION_ERROR: { request: { path: "/api/v1/traces?since=yesterday" }, details: { field: "since" } },
    UNAVAILABLE: { service: withoutTraces, details: { missing: "traces", retryable: true } },
  },
  listAudit: {
    VALIDATION_ERROR: { request: { path: "/api/v1/audit?since=yesterday" }, details: { field: "since" } },
    UNAVAILABLE: {
      prepare: ({ audit }) => {
        audit.unreadable = "the disk is gone";
      },
      details: { missing: "audit", retryable: true },
    },
  },
  getTrace: {
    VALIDATION_ERROR: { request: { path: "/api/v1/traces/abc" }, details: { field: "trace_id" } },
    NOT_FOUND: { request: { path: `/api/v1/traces/${"0".repeat(31)}1` } },
    UNAVAILABLE: { request: { path: `/api/v1/traces/${"0".repeat(31)}1` }, service: withoutTraces },
  },
};

const secretReason = "the disk behind /dev/secret is on fire";
const breaks = (): never => {
  throw new Error(secretReason);
};

/** For each operation whose handler uses a port: the service with that port broken. */
type Overrides = Parameters<typeof startTestService>[0];
const broken: Partial<Record<OperationName, () => Overrides>> = {
  getCheckHistory: () => ({ checkHistory: { ...createFakeCheckHistory(), runs: breaks } }),
  getCheckMetrics: () => ({ checkHistory: { ...createFakeCheckHistory(), minutes: breaks } }),
  getSystemInfo: () => ({ host: { info: () => Promise.reject(new Error(secretReason)) } }),
  listServices: () => ({ units: { ...createFakeUnits(), list: breaks } }),
  getService: () => ({ unitDetails: { ...createFakeUnitDetails(createFakeUnits()), inspect: breaks } }),
  listUnits: () => ({ unitDetails: { ...createFakeUnitDetails(createFakeUnits()), list: breaks } }),
  restartService: () => ({ units: { ...createFakeUnits(), read: breaks } }),
  startService: () => ({ units: { ...createFakeUnits(), read: breaks } }),
  stopService: () => ({ units: { ...createFakeUnits(), read: breaks } }),
  reloadService: () => ({ units: { ...createFakeUnits(), read: breaks } }),
  enableService: () => ({ units: { ...createFakeUnits(), read: breaks } }),
  disableService: () => ({ units: { ...createFakeUnits(), read: breaks } }),
  maskService: () => ({ units: { ...createFakeUnits(), read: breaks } }),
  unmaskService: () => ({ units: { ...createFakeUnits(), read: breaks } }),
  listLogs: () => ({ journal: { ...createFakeJournal(), query: breaks } }),
  listLogBoots: () => ({ journal: { ...createFakeJournal(), boots: breaks } }),
  listLogFields: () => ({ journal: { ...createFakeJournal(), fieldNames: breaks } }),
  listLogFieldValues: () => ({ journal: { ...createFakeJournal(), fieldValues: breaks } }),
  getLogUsage: () => ({ journal: { ...createFakeJournal(), size: breaks } }),
  listConnectors: () => ({ loadConnectors: () => Promise.reject(new Error(secretReason)) }),
  testConnector: () => ({ loadConnectors: () => Promise.reject(new Error(secretReason)) }),
  listPlugins: () => ({ loadPlugins: () => Promise.reject(new Error(secretReason)) }),
  enablePlugin: () => ({ loadPlugins: () => Promise.reject(new Error(secretReason)) }),
  createKey: () => ({ store: failingAfterFirst("insertKey") }),
  revokeKey: () => ({ store: { ...createFakeKeyStore(), revokeKey: breaks } }),
  createToken: () => ({ store: { ...createFakeKeyStore(), insertToken: breaks } }),
  listAudit: () => ({
    audit: { ...createFakeAuditLog(), list: () => Promise.reject(new Error(secretReason)) },
  }),
  listTraces: () => ({ traces: { ...createFakeTraceStore(), list: () => Promise.reject(new Error(secretReason)) } }),
  getMetrics: () => ({ metrics: { ...createMetrics(), text: () => Promise.reject(new Error(secretReason)) } }),
};

/** A store that takes the admin's key and then no other. */
function failingAfterFirst(method: "insertKey"): KeyStore {
  const store = createFakeKeyStore();
  let calls = 0;
  return {
    ...store,
    [method]: (key: KeyRecord) => {
      calls += 1;
      if (calls > 1) breaks();
      store[method](key);
    },
  };
}

describe("errors of each operation", () => {
  let service: TestService | undefined;
  afterEach(async () => {
    await service?.app.close();
    service = undefined;
  });

  for (const [name, codes] of Object.entries(cases)) {
    const operation: Operation = operations[name as OperationName];
    for (const [code, given] of Object.entries<Case>(codes)) {
      it(`${name} answers ${code}`, async () => {
        service = await (given.service ?? startTestService)();
        await given.prepare?.(service);
        const key = code === "FORBIDDEN" ? service.key(["system:read"]) : service.admin;
        const reply = await send(service, { method: operation.method, path: pathOf(operation), key, ...given.request });
        expect(reply.json).toMatchObject({
          error: { code, message: expect.any(String), ...(given.details && { details: given.details }) },
        });
        expect(reply.status).toBe(errorStatus[code as ErrorCode]);
      });
    }
  }

  it.each(Object.entries(broken))(
    "%s answers INTERNAL_ERROR and gives nothing away when a port breaks",
    async (name, overrides) => {
      service = await startTestService(overrides());
      const operation: Operation = operations[name as OperationName];
      const key = service.admin;
      const query = name === "getCheckMetrics" ? "?check=plain" : "";
      const path = pathOf(operation, { name: "cron", check_id: "plain", id: key.slice(4, 12) }) + query;
      const body = name === "createKey" ? { name: "x", scopes: [] } : undefined;
      const reply = await send(service, { method: operation.method, path, key, body });
      expect(reply.status).toBe(500);
      expect(reply.json).toMatchObject({ error: { code: "INTERNAL_ERROR" } });
      expect(reply.text).not.toContain(secretReason);
      expect(reply.text).toContain(String(reply.headers["x-request-id"]));
      const logged = service.logLines().filter(({ level }) => level === "error");
      expect(JSON.stringify(logged)).toContain(secretReason);
    },
  );

  it("lists for every operation the errors that its scope and input bring with them", () => {
    for (const [name, operation] of Object.entries<Operation>(operations)) {
      const needsKey = operation.scope !== "public";
      const codes = errorsOf(operation);
      expect([name, codes.includes("UNAUTHORIZED"), codes.includes("INTERNAL_ERROR")]).toEqual([name, needsKey, true]);
    }
  });
});
