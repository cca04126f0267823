import { credentialCodec } from "#adapters/keystore/codec.ts";
import { createWebAuthn } from "#adapters/webauthn/index.ts";
import { composeService } from "#app/compose.ts";
import { createAccessPart } from "#app/parts/access.ts";
import { createAccountsPart } from "#app/parts/accounts.ts";
import { createAlertsPart } from "#app/parts/alerts.ts";
import { createApprovalsPart } from "#app/parts/approvals.ts";
import { createAuditPart } from "#app/parts/audit.ts";
import { type Automatic, createAutomaticPart } from "#app/parts/automatic-updates.ts";
import { createConnectorsPart } from "#app/parts/connectors.ts";
import { createDisksPart, createDiskUsagePart } from "#app/parts/disks.ts";
import { createHealthPart } from "#app/parts/health.ts";
import { createHostSettingsPart } from "#app/parts/host-settings.ts";
import { createHttpPart } from "#app/parts/http.ts";
import { createLogsPart } from "#app/parts/logs.ts";
import { createNetworkPart } from "#app/parts/network.ts";
import { createOperationsPart } from "#app/parts/operations.ts";
import { createHookPoints, createPluginsPart } from "#app/parts/plugins.ts";
import { createProcessesPart } from "#app/parts/processes.ts";
import { createRebootPart } from "#app/parts/reboot.ts";
import { createRunbooksPart } from "#app/parts/runbooks.ts";
import { createSystemPart } from "#app/parts/system.ts";
import { createSystemMetricsPart } from "#app/parts/system-metrics.ts";
import { createTracesPart } from "#app/parts/traces.ts";
import { createPackagesPart, createUpdatesPart } from "#app/parts/updates.ts";
import { createWindowsPart } from "#app/parts/windows.ts";
import { defaultSessions } from "#config/access.ts";
import type { PublicAddress } from "#config/public-url.ts";
import type { NotificationEvent, NotifyLevel } from "#contract/alerts.ts";
import type { ApprovalPolicy } from "#domain/access/approval-rules.ts";
import type { WindowPlan } from "#domain/access/window-gate.ts";
import { createProber, type Probed } from "#domain/health/prober.ts";
import type { Accounts, Logins } from "#domain/ports/accounts.ts";
import type { ApprovalStore } from "#domain/ports/approvals.ts";
import type { FolderSizes } from "#domain/ports/disk-usage.ts";
import type { BlockDevices, MountTable } from "#domain/ports/disks.ts";
import type { HostSampler, RingStore } from "#domain/ports/host-samples.ts";
import type { HostNames, TimeSettings } from "#domain/ports/host-settings.ts";
import type { NameServers } from "#domain/ports/network.ts";
import type { Links, Listeners } from "#domain/ports/network-state.ts";
import type { Processes } from "#domain/ports/processes.ts";
import type { Reboots } from "#domain/ports/reboots.ts";
import type { Runbooks } from "#domain/ports/runbooks.ts";
import type { RaidArrays } from "#domain/ports/storage.ts";
import { downgradeRules } from "#domain/updates/downgrades.ts";
import { createFakeApprovalStore } from "../fakes/approval-store.ts";
import { createFakeAutomaticRuns } from "../fakes/automatic-runs.ts";
import { createFakeNotificationStore } from "../fakes/notification-store.ts";
import { createFakePasskeyStore } from "../fakes/passkey-store.ts";
import { createFakePlanSeals } from "../fakes/plan-seals.ts";
import { createFakeSessionStore } from "../fakes/session-store.ts";

type Access = Parameters<typeof createAccessPart>[0];
type Alerts = Parameters<typeof createAlertsPart>[0];
type Audit = Parameters<typeof createAuditPart>[0];
type Connectors = Parameters<typeof createConnectorsPart>[0];
type Health = Parameters<typeof createHealthPart>[0];
type Http = Parameters<typeof createHttpPart>[0];
type Logs = Parameters<typeof createLogsPart>[0];
type Operations = Parameters<typeof createOperationsPart>[0];
type Plugins = Parameters<typeof createPluginsPart>[0];
type System = Parameters<typeof createSystemPart>[0];
type Traces = Parameters<typeof createTracesPart>[0];
type Updates = Parameters<typeof createUpdatesPart>[0];

/** What tests put in the place of the host. */
export interface ServiceFakes {
  readonly clock: Health["clock"];
  readonly log: Http["logs"]["log"];
  readonly requestLog: Http["logs"]["requestLog"];
  readonly metrics: Http["metrics"];
  readonly audit: Audit["audit"];
  readonly table?: Http["table"];
  readonly store: Access["store"];
  readonly rateLimits: Access["rateLimits"];
  readonly hostName?: Access["hostName"];
  readonly host: System["host"];
  readonly hostSampler: HostSampler;
  readonly ringStore: RingStore;
  readonly units: System["units"];
  readonly unitDetails: System["details"];
  readonly unitExamination: System["examination"];
  readonly journal: Logs["journal"];
  readonly grep: Logs["grep"];
  readonly operationStore: Operations["store"];
  readonly taskLauncher: Operations["launcher"];
  readonly self: Operations["self"];
  readonly hostUpdates: Updates["host"];
  readonly stale: Updates["stale"];
  readonly fileSystems: Updates["fileSystems"];
  readonly processes: Processes;
  readonly blockDevices: BlockDevices;
  readonly mountTable: MountTable;
  readonly raidArrays: RaidArrays;
  readonly folderSizes: FolderSizes;
  readonly runbooks: Runbooks;
  readonly links: Links;
  readonly listeners: Listeners;
  readonly nameServers: NameServers;
  readonly reboots: Reboots;
  readonly accounts: Accounts;
  readonly logins: Logins;
  readonly timeSettings: TimeSettings;
  readonly hostNames: HostNames;
  readonly checks: Health["checks"];
  readonly fixes: Health["fixes"];
  readonly checkPlan: Health["plan"];
  readonly checkHistory: Health["history"];
  readonly loadConnectors: Connectors["load"];
  readonly tokenLedger: Connectors["ledger"];
  readonly loadPlugins: Plugins["load"];
  readonly isSafeMode: boolean;
  readonly alerts: Alerts["alerts"];
  readonly channels: Alerts["channels"];
  /** Checks that people are told of. */
  readonly notifyFrom?: Readonly<Record<string, NotifyLevel>>;
  readonly digest?: Alerts["digest"];
  /** Events that people are told of, all by default. */
  readonly reported?: readonly NotificationEvent[];
  readonly usage: { readonly cpu: number };
  readonly traces: Traces["store"];
  readonly probes: Omit<Probed["probes"], "llm">;
  readonly addedProbes: Probed["added"];
  readonly automatic: Automatic | undefined;
  readonly windows?: readonly WindowPlan[];
  readonly allowedHosts: readonly string[];
  readonly publicAddress?: PublicAddress;
  readonly corsOrigins?: readonly string[];
  readonly trustedProxies: readonly string[];
  readonly planSeals?: Access["planSeals"];
  readonly sessions?: Access["sessions"];
  readonly passkeys?: Access["passkeys"];
  readonly approvalStore?: ApprovalStore;
  readonly approvals?: ApprovalPolicy;
  readonly answerFiles?: NonNullable<Http["answerFiles"]>;
  readonly metricsPublic: Http["settings"]["metricsPublic"];
}

/** The service on fakes. */
export function createFakeService(fakes: ServiceFakes) {
  const { clock, log, metrics } = fakes;
  const prober = createProber(clock);
  let ids = 0;
  const createId = (): string => {
    ids += 1;
    return `operation-${ids}`;
  };
  const context = { version: "1.2.3", clock, log, metrics, createId };
  const hookPoints = createHookPoints(context);
  const { store, rateLimits, hostName = () => "host.example.org" } = fakes;
  const windows = createWindowsPart({ clock, windows: fakes.windows ?? [], hostName });
  const access = createAccessPart({
    clock,
    store,
    codec: credentialCodec,
    hostName,
    rateLimits,
    prober,
    metrics,
    planSeals: fakes.planSeals ?? createFakePlanSeals(),
    sessions: fakes.sessions ?? createFakeSessionStore(),
    passkeys: fakes.passkeys ?? createFakePasskeyStore(),
    webauthn: createWebAuthn(),
    sessionLimits: defaultSessions,
  });
  const operations = createOperationsPart({
    ...context,
    store: fakes.operationStore,
    launcher: fakes.taskLauncher,
    self: fakes.self,
    audit: fakes.audit,
    tracer: undefined,
    hasEnded: access.hasEnded,
  });
  const approvals = createApprovalsPart({
    ...context,
    store: fakes.approvalStore ?? createFakeApprovalStore(),
    policy: fakes.approvals ?? { requireFor: [], approvers: 1, expireMs: 60 * 60_000 },
    hostName,
    keyring: access.keyring,
    hasEnded: access.hasEnded,
    plans: access.plans,
    windows,
    operations,
    audit: fakes.audit,
  });
  const connectors = createConnectorsPart({
    ...context,
    load: fakes.loadConnectors,
    ledger: fakes.tokenLedger,
    prober,
  });
  const health = createHealthPart({
    ...context,
    checks: fakes.checks,
    fixes: fakes.fixes,
    plan: fakes.checkPlan,
    history: fakes.checkHistory,
    hookPoints,
    prober,
    firstAnswer: connectors.firstAnswer,
  });
  const plugins = createPluginsPart({
    ...context,
    load: fakes.loadPlugins,
    isSafeMode: fakes.isSafeMode,
    hookPoints,
    takenCheckIds: ["elsewhere"],
    health,
  });
  const updates = createUpdatesPart({
    ...context,
    host: fakes.hostUpdates,
    operations: operations.operations,
    hookPoints,
    takesSnapshot: true,
    stale: fakes.stale,
    fileSystems: fakes.fileSystems,
    rules: downgradeRules(),
  });
  const reboot = createRebootPart({ ...context, reboots: fakes.reboots, operations: operations.operations });
  const alerts = createAlertsPart({
    ...context,
    alerts: fakes.alerts,
    notifications: createFakeNotificationStore(),
    digest: fakes.digest,
    isReported: (event) => fakes.reported?.includes(event) ?? true,
    notifyFrom: (check) => fakes.notifyFrom?.[check] ?? "never",
    health,
    windows: windows.gate,
    channels: fakes.channels,
    evaluator: "steward",
    readings: {
      cpu_percent: () => Promise.resolve(fakes.usage.cpu),
      memory_percent: () => Promise.resolve(50),
      root_filesystem_percent: () => Promise.resolve(50),
    },
    host: "host.example.org",
    probes: fakes.addedProbes,
  });
  const logs = createLogsPart({
    clock,
    log,
    journal: fakes.journal,
    grep: fakes.grep,
    snapshotTime: updates.snapshotTime,
  });
  const back = {
    windows,
    approvals,
    audit: createAuditPart({ audit: fakes.audit, clock, log }),
    access,
    traces: createTracesPart({ store: fakes.traces }),
    system: createSystemPart({
      clock,
      logs,
      ...{ host: fakes.host, units: fakes.units, ownUnit: "steward.service" },
      ...{ details: fakes.unitDetails, examination: fakes.unitExamination },
    }),
    systemMetrics: createSystemMetricsPart({ clock, host: fakes.hostSampler, store: fakes.ringStore }),
    processes: createProcessesPart({
      clock,
      processes: fakes.processes,
      units: fakes.units,
      own: { pids: [4242], unit: "steward.service" },
    }),
    accounts: createAccountsPart({ clock, logs, accounts: fakes.accounts, logins: fakes.logins }),
    hostSettings: createHostSettingsPart({ clock, time: fakes.timeSettings, names: fakes.hostNames }),
    disks: createDisksPart({
      devices: fakes.blockDevices,
      mounts: fakes.mountTable,
      arrays: fakes.raidArrays,
    }),
    diskUsage: createDiskUsagePart({ clock, folders: fakes.folderSizes }),
    network: createNetworkPart({
      links: fakes.links,
      listeners: fakes.listeners,
      nameServers: fakes.nameServers,
      upstream: { list: () => Promise.resolve(["192.0.2.9"]) },
    }),
    reboot,
    runbooks: createRunbooksPart(fakes.runbooks),
    logs,
    operations,
    packages: createPackagesPart({ manager: async () => (await fakes.hostUpdates())?.manager }),
    updates,
    automatic: createAutomaticPart({
      ...context,
      ...updates.automatic,
      plan: fakes.automatic,
      host: fakes.hostUpdates,
      units: fakes.units,
      reboot: reboot.reboot,
      runs: createFakeAutomaticRuns(),
      audit: fakes.audit,
      post: alerts.post,
      windows: windows.gate,
      spread: () => 0.5,
      hostName: "host.example.org",
    }),
    connectors,
    health,
    plugins,
    alerts,
  };
  const { http, parts } = composeService(context, back, {
    prober,
    http: (ports) =>
      createHttpPart({
        ...context,
        ...ports,
        logs: { log, requestLog: fakes.requestLog },
        tracer: undefined,
        settings: { corsOrigins: [], publicAddress: undefined, ...fakes },
        administrator: "root",
        ...(fakes.table && { table: fakes.table }),
        ...(fakes.answerFiles && { answerFiles: fakes.answerFiles }),
        tls: { current: () => undefined, names: () => [] },
      }),
    probes: () => fakes.probes,
  });
  http.app.addHook("onClose", parts.dispose);
  return {
    ...http,
    keyring: access.keyring,
    security: updates.security,
    sessions: access.sessions,
    replaceWindows: windows.gate.replace,
    replaceApprovals: approvals.rules.replace,
    drain: health.drain,
    replaceConnectors: connectors.replace,
    replacePluginFolders: plugins.replace,
    async start(): Promise<void> {
      await parts.start();
      void parts.ready();
    },
    cut(): void {
      plugins.tellLeft();
      http.cut();
    },
  };
}
