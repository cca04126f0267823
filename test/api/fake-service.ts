import type { PartContext } from "#app/part.ts";
import type { Automatic } from "#app/parts/automatic-updates.ts";
import { buildService, type PartAdapters } from "#app/parts.ts";
import { defaultSessions } from "#config/access.ts";
import type { Config } from "#config/load.ts";
import type { PublicAddress } from "#config/public-url.ts";
import type { NotificationEvent, NotifyLevel } from "#contract/alerts.ts";
import type { ApprovalPolicy } from "#domain/access/approval-rules.ts";
import type { WindowPlan } from "#domain/access/window-gate.ts";
import type { Accounts, Logins } from "#domain/ports/accounts.ts";
import type { ApprovalStore } from "#domain/ports/approvals.ts";
import type { DirectorySizes } from "#domain/ports/disk-usage.ts";
import type { BlockDevices, MountTable } from "#domain/ports/disks.ts";
import type { HostSampler, RingStore } from "#domain/ports/host-samples.ts";
import type { HostNames, TimeSettings } from "#domain/ports/host-settings.ts";
import type { NameServers } from "#domain/ports/network.ts";
import type { Links, Listeners } from "#domain/ports/network-state.ts";
import type { Processes } from "#domain/ports/processes.ts";
import type { Reboots } from "#domain/ports/reboots.ts";
import type { Runbooks } from "#domain/ports/runbooks.ts";
import type { RaidArrays } from "#domain/ports/storage.ts";
import { createFakeApprovalStore } from "../fakes/approval-store.ts";
import { createFakeAutomaticRuns } from "../fakes/automatic-runs.ts";
import { createFakeNotificationStore } from "../fakes/notification-store.ts";
import { createFakePasskeyStore } from "../fakes/passkey-store.ts";
import { createFakePlanSeals } from "../fakes/plan-seals.ts";
import { createFakeSessionStore } from "../fakes/session-store.ts";

/** What tests put in the place of the host. */
export interface ServiceFakes {
  readonly clock: PartContext["clock"];
  readonly log: PartContext["log"];
  readonly requestLog: PartContext["requestLog"];
  readonly metrics: PartContext["metrics"];
  readonly audit: PartAdapters["audit"]["log"];
  readonly table?: PartAdapters["http"]["table"];
  readonly store: PartAdapters["access"]["store"];
  readonly rateLimits: Config["rateLimits"];
  readonly hostName?: PartContext["hostName"];
  readonly host: PartAdapters["system"]["facts"];
  readonly hostSampler: HostSampler;
  readonly ringStore: RingStore;
  readonly units: PartAdapters["system"]["units"];
  readonly unitDetails: PartAdapters["system"]["details"];
  readonly unitExamination: PartAdapters["system"]["examination"];
  readonly journal: PartAdapters["logs"]["journal"];
  readonly grep: PartAdapters["logs"]["grep"];
  readonly operationStore: PartAdapters["operations"]["store"];
  readonly taskLauncher: PartAdapters["operations"]["launcher"];
  readonly self: PartAdapters["operations"]["self"];
  readonly hostUpdates: PartAdapters["updates"]["updates"];
  readonly stale: PartAdapters["updates"]["stale"];
  readonly fileSystems: PartAdapters["updates"]["fileSystems"];
  readonly processes: Processes;
  readonly blockDevices: BlockDevices;
  readonly mountTable: MountTable;
  readonly raidArrays: RaidArrays;
  readonly directorySizes: DirectorySizes;
  readonly runbooks: Runbooks;
  readonly links: Links;
  readonly listeners: Listeners;
  readonly nameServers: NameServers;
  readonly reboots: Reboots;
  readonly accounts: Accounts;
  readonly logins: Logins;
  readonly timeSettings: TimeSettings;
  readonly hostNames: HostNames;
  readonly checks: PartAdapters["health"]["checks"];
  readonly fixes: PartAdapters["health"]["fixes"];
  readonly checkPlan: PartAdapters["health"]["plan"];
  readonly checkHistory: PartAdapters["health"]["history"];
  readonly loadConnectors: PartAdapters["connectors"]["load"];
  readonly tokenLedger: PartAdapters["connectors"]["ledger"];
  readonly loadPlugins: PartAdapters["plugins"]["load"];
  readonly isSafeMode: boolean;
  readonly alerts: PartAdapters["alerts"]["alerts"];
  readonly channels: PartAdapters["alerts"]["channels"];
  /** Checks that people are notified of. */
  readonly notifyFrom?: Readonly<Record<string, NotifyLevel>>;
  readonly digest?: PartAdapters["alerts"]["digest"];
  /** Events that people are notified of, all by default. */
  readonly reported?: readonly NotificationEvent[];
  readonly usage: { readonly cpu: number };
  readonly traces: PartAdapters["traces"]["store"];
  readonly probes: PartAdapters["probes"];
  readonly addedProbes: PartAdapters["alerts"]["probes"];
  readonly automatic: Automatic | undefined;
  readonly windows?: readonly WindowPlan[];
  readonly allowedHosts: readonly string[];
  readonly publicAddress?: PublicAddress;
  readonly corsOrigins?: readonly string[];
  readonly trustedProxies: readonly string[];
  readonly planSeals?: PartAdapters["access"]["planSeals"];
  readonly sessions?: PartAdapters["access"]["sessions"];
  readonly passkeys?: PartAdapters["access"]["passkeys"];
  readonly approvalStore?: ApprovalStore;
  readonly approvals?: ApprovalPolicy;
  readonly answerFiles?: NonNullable<PartAdapters["http"]["answerFiles"]>;
  readonly metricsPublic: Config["metricsPublic"];
}

const configOf = ({ rateLimits, allowedHosts, publicAddress, corsOrigins = [], ...fakes }: ServiceFakes): Config => ({
  file: undefined,
  listen: { host: "127.0.0.1", port: 0 },
  tls: "off",
  stateDir: "/nonexistent",
  logLevel: "debug",
  rateLimits,
  allowedHosts,
  publicAddress,
  corsOrigins,
  trustedProxies: fakes.trustedProxies,
  metricsPublic: fakes.metricsPublic,
  sessions: defaultSessions,
  warnings: [],
  faultAt: (path, message) => ({ source: "settings", path: path.join("."), message }),
  settings: {},
});

/** What each part has in the place of the adapters of the host. */
const adaptersOf = (fakes: ServiceFakes): PartAdapters => ({
  audit: { log: fakes.audit, check: () => undefined, started: () => undefined, dispose: () => undefined },
  access: {
    store: fakes.store,
    check: () => undefined,
    planSeals: fakes.planSeals ?? createFakePlanSeals(),
    sessions: fakes.sessions ?? createFakeSessionStore(),
    passkeys: fakes.passkeys ?? createFakePasskeyStore(),
  },
  traces: { store: fakes.traces, tracer: undefined },
  host: () => {
    throw new Error("cannot open the host: a part has an adapter that is not faked");
  },
  operations: { store: fakes.operationStore, launcher: fakes.taskLauncher, self: fakes.self },
  updates: {
    manager: async () => (await fakes.hostUpdates())?.manager,
    updates: fakes.hostUpdates,
    stale: fakes.stale,
    fileSystems: fakes.fileSystems,
  },
  logs: { journal: fakes.journal, grep: fakes.grep },
  system: {
    facts: fakes.host,
    units: fakes.units,
    details: fakes.unitDetails,
    examination: fakes.unitExamination,
    processes: fakes.processes,
    own: { pids: [4242], unit: "steward.service" },
  },
  administration: {
    accounts: fakes.accounts,
    logins: fakes.logins,
    time: fakes.timeSettings,
    names: fakes.hostNames,
    reboots: fakes.reboots,
  },
  resources: {
    disks: { devices: fakes.blockDevices, mounts: fakes.mountTable, arrays: fakes.raidArrays },
    sizes: fakes.directorySizes,
    network: {
      links: fakes.links,
      listeners: fakes.listeners,
      nameServers: fakes.nameServers,
      upstream: { list: () => Promise.resolve(["192.0.2.9"]) },
    },
    sampler: fakes.hostSampler,
    samples: fakes.ringStore,
  },
  connectors: { load: fakes.loadConnectors, ledger: fakes.tokenLedger },
  health: { checks: fakes.checks, fixes: fakes.fixes, plan: fakes.checkPlan, history: fakes.checkHistory },
  plugins: { load: fakes.loadPlugins, takenCheckIds: ["elsewhere"] },
  windows: fakes.windows ?? [],
  approvals: {
    store: fakes.approvalStore ?? createFakeApprovalStore(),
    policy: fakes.approvals ?? { requireFor: [], approvers: 1, expireMs: 60 * 60_000 },
  },
  alerts: {
    alerts: fakes.alerts,
    notifications: createFakeNotificationStore(),
    digest: fakes.digest,
    isReported: (event) => fakes.reported?.includes(event) ?? true,
    notifyFrom: (check) => fakes.notifyFrom?.[check] ?? "never",
    channels: fakes.channels,
    evaluator: "steward",
    readings: {
      cpu_percent: () => Promise.resolve(fakes.usage.cpu),
      memory_percent: () => Promise.resolve(50),
      root_filesystem_percent: () => Promise.resolve(50),
    },
    probes: fakes.addedProbes,
  },
  automatic: { plan: fakes.automatic, runs: createFakeAutomaticRuns(), spread: () => 0.5 },
  explain: fakes.runbooks,
  http: { administrator: "root", table: fakes.table, answerFiles: fakes.answerFiles },
  probes: fakes.probes,
});

/** The service on fakes. */
export async function createFakeService(fakes: ServiceFakes) {
  const { clock, log, requestLog, metrics, isSafeMode, hostName = () => "host.example.org" } = fakes;
  let ids = 0;
  const createId = (): string => {
    ids += 1;
    return `operation-${ids}`;
  };
  const context = { config: configOf(fakes), version: "1.2.3", clock, log, requestLog, metrics, createId, hostName };
  const { parts, lifecycle } = await buildService(
    { ...context, isSafeMode, newAdminKey: false, passed: undefined },
    adaptersOf(fakes),
  );
  const { access, updates, windows, approvals, health, connectors, plugins, http } = parts;
  http.app.addHook("onClose", lifecycle.dispose);
  return {
    ...http,
    keyring: access.keyring,
    security: updates.security,
    sessions: access.sessions,
    replaceWindows: windows.gate.replace,
    replaceApprovals: approvals.rules.replace,
    drain: health.drain,
    replaceConnectors: connectors.replace,
    replacePluginDirectories: plugins.replace,
    async start(): Promise<void> {
      await lifecycle.start();
      void lifecycle.ready();
    },
    cut(): void {
      plugins.logRunning();
      http.cut();
    },
  };
}
