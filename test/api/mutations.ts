import { type OperationName, operations } from "#contract/index.ts";
import type { Operation } from "#contract/operation.ts";
import type { FixPlan } from "#domain/health/fix.ts";
import type { UnitVerb } from "#domain/ports/units.ts";
import { toTimestamp } from "#kernel/clock.ts";
import { createFakeChatProvider, type FakeChatProvider } from "../fakes/chat-provider.ts";
import { fakeListed } from "../fakes/package-catalog.ts";
import { fakePackage } from "../fakes/package-manager.ts";
import { fakeProcess } from "../fakes/processes.ts";
import { fakeStaleProcess } from "../fakes/stale-code.ts";
import type { ServiceFakes } from "./fake-service.ts";
import { pathOf, send, startTestService, type TestRequest, type TestService } from "./harness.ts";
import { registerPasskey } from "./passkeys.ts";

type Table = typeof operations;

/** What nobody does with a key in a header: it is in the body, or a session asks. */
const withoutKey = ["createSession", "elevateSession", "createPasskey"] as const;

export type MutationName = Exclude<
  {
    [K in OperationName]: Table[K]["effect"] extends "read" ? never : K;
  }[OperationName],
  (typeof withoutKey)[number]
>;

/** A service whose mutations can all succeed: it has a connector `local` besides what the harness gives it. */
export interface MutableService extends TestService {
  readonly provider: FakeChatProvider;
}

export async function startMutableService(
  overrides: Parameters<typeof startTestService>[0] = {},
  ...beforeStart: Parameters<typeof startTestService> extends [unknown?, ...infer Rest] ? Rest : never
): Promise<MutableService> {
  const provider = createFakeChatProvider();
  const loadConnectors: ServiceFakes["loadConnectors"] = () => Promise.resolve(answering(provider));
  return Object.assign(await startTestService({ loadConnectors, ...overrides }, ...beforeStart), { provider });
}

type Params = Readonly<Record<string, string>>;

/** How a mutation succeeds, and what makes it another one. */
interface Success {
  /** Path parameters. */
  readonly params?: Params | ((service: MutableService) => Params | Promise<Params>);
  readonly body?: unknown;
  /** Before each call, so that there is something to do. */
  readonly prepare?: (service: MutableService) => void | Promise<void>;
  /** Times and sizes move, of which the plan is still the same. */
  readonly resized?: (service: MutableService) => void;
  /** The host moves, so that the plan is another one; or why that cannot be. */
  readonly changed: ((service: MutableService, request: TestRequest) => unknown) | string;
}

const snapshotId = "20260101-000000";

async function takeSnapshot({ snapshots }: TestService): Promise<void> {
  const { signal } = new AbortController();
  if ((await snapshots.list(signal)).some(({ id }) => id === snapshotId)) return;
  const progress = { step: () => undefined, line: () => undefined };
  await snapshots.create({ id: snapshotId, description: "", kind: "manual", changes: [], progress }, signal);
}

async function enablePlugin(service: TestService): Promise<void> {
  if ((await service.plugins.directories.find()).length === 0) service.plugins.directories.put("tool");
  const request: TestRequest = { method: "POST", path: "/api/v1/plugins/tool/enable", key: service.admin };
  await send(service, request);
}

const repairing = (action: string, digested: string): FixPlan => ({
  steps: [{ action, run: () => Promise.resolve("repaired") }],
  digested: [digested],
});

const installViewer = ({ packageManager }: TestService): void =>
  void packageManager.packages.set("viewer", fakePackage("viewer", "1.0"));

/** Proposes to rename the host, as a key that may do no more. */
async function propose(
  service: MutableService,
  key: string = service.key(["propose:system:hostname"]),
): Promise<{ id: string }> {
  service.hostNames.become({ permanent: "web1" });
  const body = { hostname: "web2" };
  const made = await send(service, { method: "POST", path: "/api/v1/system/hostname", key, body });
  return { id: (made.json as { id: string }).id };
}

const ofArguments = "its plan is of its arguments and the key alone";
const isThereOrNot = "what it is about never changes: it is there or not";

const joinCron = ({ units }: TestService, verb: UnitVerb): void =>
  units.join("cron.service", [{ name: "backup.service", verb }]);

const answering = (provider: FakeChatProvider, name = "local", model = "fake-1") =>
  ({
    plan: {
      default: name,
      connectors: [{ name, provider: "Fake", model, timeoutMs: 120_000, access: { provider } }],
      budgetOf: () => undefined,
    },
    discovery: undefined,
  }) as const;

const newerViewer = ({ packageManager }: TestService): void =>
  void packageManager.packages.set("viewer", fakePackage("viewer", "2.0"));

/** A call of each mutation that succeeds: one that is forgotten does not compile. */
const successes: Readonly<Record<MutationName, Success>> = {
  fixCheck: {
    params: { check_id: "vital" },
    prepare({ checks, fixes }) {
      checks.vital.finds = "fail";
      fixes.repair.planned = repairing("repair it (5 bytes)", "repair it");
    },
    resized: ({ fixes }) => {
      fixes.repair.planned = repairing("repair it (7 bytes)", "repair it");
    },
    changed: ({ fixes }) => {
      fixes.repair.planned = repairing("repair it (5 bytes)", "repair the other one");
    },
  },
  restartService: {
    params: { name: "cron.service" },
    resized: ({ units }) => units.become("cron.service", { memoryBytes: 9e6, restarts: 3, since: 1_767_225_600_000 }),
    changed: (service) => joinCron(service, "restart"),
  },
  startService: {
    params: { name: "cron.service" },
    prepare: ({ units }) => units.become("cron.service", { activeState: "inactive", subState: "dead" }),
    changed: (service) => joinCron(service, "start"),
  },
  stopService: {
    params: { name: "cron.service" },
    prepare: ({ units }) => units.become("cron.service", { activeState: "active", subState: "running" }),
    changed: (service) => joinCron(service, "stop"),
  },
  reloadService: {
    params: { name: "cron.service" },
    prepare: ({ units }) => units.become("cron.service", { activeState: "active", subState: "running" }),
    changed: (service) => joinCron(service, "reload"),
  },
  enableService: {
    params: { name: "cron.service" },
    prepare: ({ units }) => units.become("cron.service", { unitFileState: "disabled", loadState: "loaded" }),
    changed: ({ units }) => units.become("cron.service", { unitFileState: "enabled" }),
  },
  disableService: {
    params: { name: "cron.service" },
    prepare: ({ units }) => units.become("cron.service", { unitFileState: "enabled", loadState: "loaded" }),
    changed: ({ units }) => units.become("cron.service", { unitFileState: "disabled" }),
  },
  maskService: {
    params: { name: "cron.service" },
    prepare: ({ units }) => units.become("cron.service", { unitFileState: "enabled", loadState: "loaded" }),
    changed: ({ units }) => units.become("cron.service", { unitFileState: "masked", loadState: "masked" }),
  },
  unmaskService: {
    params: { name: "cron.service" },
    prepare: ({ units }) => units.become("cron.service", { unitFileState: "masked", loadState: "masked" }),
    changed: ({ units }) => units.become("cron.service", { unitFileState: "enabled", loadState: "loaded" }),
  },
  applyUpdates: {
    prepare({ packageManager, staleCode }) {
      const { version = "1.0" } = packageManager.packages.get("editor") ?? {};
      packageManager.repository.set("editor", { version: `${version}.1`, isSecurity: false });
      staleCode.processes = [fakeStaleProcess("cron.service")];
    },
    body: { restart_stale: true },
    changed: ({ packageManager }) => packageManager.repository.set("editor", { version: "9.0", isSecurity: false }),
  },
  signalProcess: {
    params: { pid: "7" },
    body: { signal: "TERM", start_time: toTimestamp(fakeProcess(7).startedAt) },
    prepare: ({ processes }) => processes.put(fakeProcess(7, { unit: "cron.service" })),
    resized: ({ processes }) =>
      processes.put(fakeProcess(7, { unit: "cron.service", memoryBytes: 9e6, cpuPercent: 50 })),
    changed: ({ processes }) => processes.put(fakeProcess(7, { unit: "cron.service", name: "another" })),
  },
  installPackages: {
    prepare({ packageManager }) {
      packageManager.packages.delete("viewer");
      packageManager.catalog.listed.set("viewer", fakeListed("viewer"));
    },
    body: { packages: ["viewer"] },
    changed: ({ packageManager }) =>
      packageManager.catalog.listed.set("viewer", fakeListed("viewer", { version: "2.0" })),
  },
  removePackages: {
    prepare: installViewer,
    body: { packages: ["viewer"] },
    changed({ packageManager }) {
      packageManager.comesAlong = [
        { name: "library", architecture: "amd64", from: "2.0", to: null, isSecurity: false },
      ];
    },
  },
  purgePackages: { prepare: installViewer, body: { packages: ["viewer"] }, changed: newerViewer },
  setTime: {
    prepare: ({ timeSettings }) => timeSettings.become({ timezone: "Etc/UTC" }),
    body: { timezone: "Europe/Berlin" },
    changed: ({ timeSettings }) => timeSettings.become({ timezone: "Asia/Tokyo" }),
  },
  setHostname: {
    prepare: ({ hostNames }) => hostNames.become({ permanent: "web1" }),
    body: { hostname: "web2" },
    changed: ({ hostNames }) => hostNames.become({ permanent: "web3" }),
  },
  holdPackages: { prepare: installViewer, body: { packages: ["viewer"] }, changed: newerViewer },
  unholdPackages: {
    prepare: ({ packageManager }) => {
      packageManager.packages.set("viewer", fakePackage("viewer", "1.0", { isHeld: true }));
    },
    body: { packages: ["viewer"] },
    changed: installViewer,
  },
  rebootHost: {
    prepare: ({ reboots }) => reboots.become({ kind: "", scheduledAt: null }),
    changed: ({ reboots }) => reboots.become({ users: ["ada"] }),
  },
  cancelReboot: {
    prepare: ({ reboots }) => reboots.become({ kind: "reboot", scheduledAt: 1_800_000_000_000 }),
    changed: ({ reboots }) => reboots.become({ scheduledAt: 1_900_000_000_000 }),
  },
  restartStale: {
    prepare({ staleCode }) {
      staleCode.processes = [fakeStaleProcess("cron.service")];
    },
    changed({ staleCode }) {
      staleCode.processes = [fakeStaleProcess("cron.service"), fakeStaleProcess("web.service")];
    },
  },
  createSnapshot: { body: { description: "by hand" }, changed: "it is of all that is there" },
  deleteSnapshot: { params: { snapshot_id: snapshotId }, prepare: takeSnapshot, changed: isThereOrNot },
  rollback: {
    params: { snapshot_id: snapshotId },
    prepare: takeSnapshot,
    changed: ({ packageManager }) => packageManager.packages.set("editor", fakePackage("editor", "9.0")),
  },
  testConnector: {
    params: { name: "local" },
    changed: ({ service, provider }) => service.replaceConnectors(answering(provider, "local", "fake-2")),
  },
  chat: {
    body: { connector: "local", messages: [{ role: "user", content: "Hello" }] },
    changed: ({ service, provider }) => service.replaceConnectors(answering(provider, "local", "fake-2")),
  },
  explainCheck: {
    params: { check_id: "plain" },
    resized: ({ checks }) => {
      checks.plain.finds = "warn";
    },
    changed: ({ service, provider }) => service.replaceConnectors(answering(provider, "local", "fake-2")),
  },
  diagnose: {
    body: { check: "plain" },
    resized: ({ checks }) => {
      checks.plain.finds = "warn";
    },
    changed: ({ service, provider }) => service.replaceConnectors(answering(provider, "local", "fake-2")),
  },
  enablePlugin: {
    params: { name: "tool" },
    prepare: ({ plugins }) => void plugins.directories.put("tool"),
    changed: ({ plugins }) => plugins.directories.touch("tool"),
  },
  disablePlugin: {
    params: { name: "tool" },
    prepare: enablePlugin,
    changed: ({ plugins }) => plugins.enabled.remove("tool"),
  },
  runPlugin: {
    params: { name: "tool" },
    prepare: enablePlugin,
    async changed(service) {
      service.plugins.directories.put("tool", { command: ["/etc/steward/plugins/tool/other"] });
      await enablePlugin(service);
    },
  },
  createKey: {
    body: { name: "made", scopes: ["system:read"], expires_at: "2026-01-01T00:30:00Z" },
    changed: ofArguments,
  },
  revokeKey: {
    params: ({ key }) => ({ id: key([]).slice(4, 12) }),
    changed: ({ service }, { path }) => service.keyring.revoke(path.slice(-8)),
  },
  createToken: { body: { scopes: [] }, changed: ofArguments },
  createCode: { changed: ofArguments },
  endSession: {
    params: ({ service, admin }) => ({ id: service.sessions.begin(admin.slice(4, 12), null).session.id }),
    changed: isThereOrNot,
  },
  removePasskey: {
    params: async (service) => ({ id: (await registerPasskey(service, { key: service.key([]) })).id }),
    changed: isThereOrNot,
  },
  approve: { params: propose, changed: ({ hostNames }) => hostNames.become({ permanent: "web3" }) },
  deny: { params: propose, changed: "whatever the call would do, it does not" },
  cancelApproval: {
    async params(service) {
      // Root proposes what the settings have others approve.
      service.service.replaceApprovals({ requireFor: ["system:hostname"], approvers: 1, expireMs: 3_600_000 });
      const made = await propose(service, service.admin);
      service.service.replaceApprovals({ requireFor: [], approvers: 1, expireMs: 3_600_000 });
      return made;
    },
    changed: "whatever the call would do, it does not",
  },
  silenceAlert: { body: { alert: "DiskSpaceLow", until: "2026-01-02T00:00:00Z" }, changed: ofArguments },
  removeSilence: {
    async params(service) {
      const body = { alert: "DiskSpaceLow", until: "2026-01-02T00:00:00Z" };
      const made = await send(service, { method: "POST", path: "/api/v1/alerts/silences", key: service.admin, body });
      return { id: (made.json as { id: string }).id };
    },
    changed: isThereOrNot,
  },
  testNotifications: { changed: "its channels are those that the service has started with" },
  cancelOperation: {
    params({ operationStore, clock, launcher }) {
      const id = `to-cancel-${operationStore.ids().length}`;
      // What is to be cancelled does not begin meanwhile.
      Object.assign(launcher, { launch: () => new Promise(() => undefined) });
      operationStore.create({
        ...{ id, kind: "of.a.test", input: {}, keyId: null, idempotencyKey: null },
        createdAt: clock.now(),
      });
      return { id };
    },
    changed: isThereOrNot,
  },
};

/** Prepares a call of a mutation that succeeds, and says how it is made. */
export async function prepareMutation(service: MutableService, name: MutationName): Promise<TestRequest> {
  const { params, body, prepare } = successes[name];
  await prepare?.(service);
  const operation: Operation = operations[name];
  const path = pathOf(operation, typeof params === "function" ? await params(service) : params);
  return { method: operation.method, path, ...(body !== undefined && { body }) };
}

/** What moves the host, so that the plan of a mutation is another one; or why nothing does. */
export const changedOf = (name: MutationName): Success["changed"] => successes[name].changed;

/** Moves sizes on the host, of which the plan of a mutation is the same. */
export const resize = (service: MutableService, name: MutationName): void => successes[name].resized?.(service);

/** The mutations of the operations table that are called with a key. */
export const mutations = Object.entries<Operation>(operations).filter(
  ([name, { effect }]) => effect !== "read" && !withoutKey.some((each) => each === name),
) as [MutationName, Operation][];
