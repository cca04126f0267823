import { type OperationName, operations } from "#contract/index.ts";
import type { Operation } from "#contract/operation.ts";
import { toTimestamp } from "#kernel/clock.ts";
import { createFakeChatProvider, type FakeChatProvider } from "../fakes/chat-provider.ts";
import { fakeListed } from "../fakes/package-catalog.ts";
import { fakePackage } from "../fakes/package-manager.ts";
import { fakeProcess } from "../fakes/processes.ts";
import { fakeStaleProcess } from "../fakes/stale-code.ts";
import type { ServiceFakes } from "./fake-service.ts";
import { pathOf, send, startTestService, type TestRequest, type TestService } from "./harness.ts";

type Table = typeof operations;
export type MutationName = {
  [K in OperationName]: Table[K]["effect"] extends "read" ? never : K;
}[OperationName];

/** A service whose mutations can all succeed: it has a connector `local` besides what the harness gives it. */
export interface MutableService extends TestService {
  readonly provider: FakeChatProvider;
}

export async function startMutableService(
  overrides: Parameters<typeof startTestService>[0] = {},
): Promise<MutableService> {
  const provider = createFakeChatProvider();
  const connectors = [
    { name: "local", provider: "Fake", model: "fake-1", timeoutMs: 120_000, access: { provider } },
  ] as const;
  const loadConnectors: ServiceFakes["loadConnectors"] = () =>
    Promise.resolve({ plan: { default: "local", connectors, budgetOf: () => undefined }, discovery: undefined });
  return Object.assign(await startTestService({ loadConnectors, ...overrides }), { provider });
}

type Params = Readonly<Record<string, string>>;

/** How a mutation succeeds. */
interface Success {
  /** Path parameters. */
  readonly params?: Params | ((service: MutableService) => Params | Promise<Params>);
  readonly body?: unknown;
  /** Before each call, so that there is something to do. */
  readonly prepare?: (service: MutableService) => void | Promise<void>;
}

const snapshotId = "20260101-000000";

async function takeSnapshot({ snapshots }: TestService): Promise<void> {
  const { signal } = new AbortController();
  if ((await snapshots.list(signal)).some(({ id }) => id === snapshotId)) return;
  const progress = { step: () => undefined, line: () => undefined };
  await snapshots.create({ id: snapshotId, description: "", kind: "manual", changes: [], progress }, signal);
}

async function enablePlugin(service: TestService): Promise<void> {
  if ((await service.plugins.folders.find()).length === 0) service.plugins.folders.put("tool");
  const request: TestRequest = { method: "POST", path: "/api/v1/plugins/tool/enable", key: service.admin };
  await send(service, request);
}

const installViewer = ({ packageManager }: TestService): void =>
  void packageManager.packages.set("viewer", fakePackage("viewer", "1.0"));

/** A call of each mutation that succeeds: one that is forgotten does not compile. */
const successes: Readonly<Record<MutationName, Success>> = {
  fixCheck: {
    params: { check_id: "vital" },
    prepare({ checks, fixes }) {
      checks.vital.finds = "fail";
      fixes.mend.planned = { steps: [{ action: "mend it", run: () => Promise.resolve("mended") }] };
    },
  },
  restartService: { params: { name: "cron.service" } },
  startService: {
    params: { name: "cron.service" },
    prepare: ({ units }) => units.become("cron.service", { activeState: "inactive", subState: "dead" }),
  },
  stopService: {
    params: { name: "cron.service" },
    prepare: ({ units }) => units.become("cron.service", { activeState: "active", subState: "running" }),
  },
  reloadService: {
    params: { name: "cron.service" },
    prepare: ({ units }) => units.become("cron.service", { activeState: "active", subState: "running" }),
  },
  enableService: {
    params: { name: "cron.service" },
    prepare: ({ units }) => units.become("cron.service", { unitFileState: "disabled", loadState: "loaded" }),
  },
  disableService: {
    params: { name: "cron.service" },
    prepare: ({ units }) => units.become("cron.service", { unitFileState: "enabled", loadState: "loaded" }),
  },
  maskService: {
    params: { name: "cron.service" },
    prepare: ({ units }) => units.become("cron.service", { unitFileState: "enabled", loadState: "loaded" }),
  },
  unmaskService: {
    params: { name: "cron.service" },
    prepare: ({ units }) => units.become("cron.service", { unitFileState: "masked", loadState: "masked" }),
  },
  applyUpdates: {
    prepare({ packageManager, staleCode }) {
      const { version = "1.0" } = packageManager.packages.get("editor") ?? {};
      packageManager.repository.set("editor", { version: `${version}.1`, isSecurity: false });
      staleCode.processes = [fakeStaleProcess("cron.service")];
    },
    body: { restart_stale: true },
  },
  signalProcess: {
    params: { pid: "7" },
    body: { signal: "TERM", start_time: toTimestamp(fakeProcess(7).startedAt) },
    prepare: ({ processes }) => processes.put(fakeProcess(7, { unit: "cron.service" })),
  },
  installPackages: {
    prepare({ packageManager }) {
      packageManager.packages.delete("viewer");
      packageManager.catalog.listed.set("viewer", fakeListed("viewer"));
    },
    body: { packages: ["viewer"] },
  },
  removePackages: { prepare: installViewer, body: { packages: ["viewer"] } },
  purgePackages: { prepare: installViewer, body: { packages: ["viewer"] } },
  setTime: {
    prepare: ({ timeSettings }) => timeSettings.become({ timezone: "Etc/UTC" }),
    body: { timezone: "Europe/Berlin" },
  },
  setHostname: { prepare: ({ hostNames }) => hostNames.become({ permanent: "web1" }), body: { hostname: "web2" } },
  holdPackages: { prepare: installViewer, body: { packages: ["viewer"] } },
  unholdPackages: {
    prepare: ({ packageManager }) => {
      packageManager.packages.set("viewer", fakePackage("viewer", "1.0", { isHeld: true }));
    },
    body: { packages: ["viewer"] },
  },
  rebootHost: { prepare: ({ reboots }) => reboots.become({ kind: "", scheduledAt: null }) },
  cancelReboot: { prepare: ({ reboots }) => reboots.become({ kind: "reboot", scheduledAt: 1_800_000_000_000 }) },
  restartStale: {
    prepare({ staleCode }) {
      staleCode.processes = [fakeStaleProcess("cron.service")];
    },
  },
  createSnapshot: { body: { description: "by hand" } },
  deleteSnapshot: { params: { snapshot_id: snapshotId }, prepare: takeSnapshot },
  rollback: { params: { snapshot_id: snapshotId }, prepare: takeSnapshot },
  testConnector: { params: { name: "local" } },
  chat: { body: { connector: "local", messages: [{ role: "user", content: "Hello" }] } },
  explainCheck: { params: { check_id: "plain" } },
  enablePlugin: { params: { name: "tool" }, prepare: ({ plugins }) => void plugins.folders.put("tool") },
  disablePlugin: { params: { name: "tool" }, prepare: enablePlugin },
  runPlugin: { params: { name: "tool" }, prepare: enablePlugin },
  createKey: { body: { name: "made", scopes: ["system:read"], expires_at: "2026-01-01T00:30:00Z" } },
  revokeKey: { params: ({ key }) => ({ id: key([]).slice(4, 12) }) },
  createToken: { body: { scopes: [] } },
  silenceAlert: { body: { alert: "DiskSpaceLow", until: "2026-01-02T00:00:00Z" } },
  removeSilence: {
    async params(service) {
      const body = { alert: "DiskSpaceLow", until: "2026-01-02T00:00:00Z" };
      const made = await send(service, { method: "POST", path: "/api/v1/alerts/silences", key: service.admin, body });
      return { id: (made.json as { id: string }).id };
    },
  },
  testNotifications: {},
};

/** Prepares a call of a mutation that succeeds, and says how it is made. */
export async function prepareMutation(service: MutableService, name: MutationName): Promise<TestRequest> {
  const { params, body, prepare } = successes[name];
  await prepare?.(service);
  const operation: Operation = operations[name];
  const path = pathOf(operation, typeof params === "function" ? await params(service) : params);
  return { method: operation.method, path, ...(body !== undefined && { body }) };
}

/** The mutations of the operations table. */
export const mutations = Object.entries<Operation>(operations).filter(([, { effect }]) => effect !== "read") as [
  MutationName,
  Operation,
][];
