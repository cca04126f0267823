import type { Effect } from "#contract/effects.ts";
import type { OperationName } from "#contract/index.ts";
import type { HookEvent } from "#contract/plugins.ts";
import type { SecurityUpdater } from "#domain/health/fixes/apply-security-updates.ts";
import type { CredentialCodec, KeyStore, WindowStore } from "#domain/ports/access.ts";
import type { Accounts } from "#domain/ports/accounts.ts";
import type { AlertStore } from "#domain/ports/alerts.ts";
import type { ApprovalStore } from "#domain/ports/approvals.ts";
import type { AuditLog } from "#domain/ports/audit.ts";
import type { AutomaticRuns } from "#domain/ports/automatic-runs.ts";
import type { BackupFolders } from "#domain/ports/backup-folders.ts";
import type { BackupSnapshots } from "#domain/ports/backup-snapshots.ts";
import type { Calendar } from "#domain/ports/calendar.ts";
import type { CheckHistory } from "#domain/ports/check-history.ts";
import type { ClockOffsets } from "#domain/ports/clock-offsets.ts";
import type { ChatProvider, ConnectorDiscovery, TokenLedger } from "#domain/ports/connectors.ts";
import type { Conntrack } from "#domain/ports/conntrack.ts";
import type { Containers } from "#domain/ports/containers.ts";
import type { FolderSizes } from "#domain/ports/disk-usage.ts";
import type { BlockDevices, MountTable } from "#domain/ports/disks.ts";
import type { FileSystemHealth } from "#domain/ports/file-system-health.ts";
import type { HostFacts, RebootNeed, TimeSync } from "#domain/ports/host.ts";
import type { HostNames, TimeSettings } from "#domain/ports/host-settings.ts";
import type { Grep, Journal } from "#domain/ports/journal.ts";
import type { KernelTaint } from "#domain/ports/kernel-taint.ts";
import type { Logins } from "#domain/ports/logins.ts";
import type {
  CertificateFiles,
  DefaultRoutes,
  ListeningSockets,
  NameServers,
  PacketFilter,
  SshServer,
} from "#domain/ports/network.ts";
import type { Links, Listeners } from "#domain/ports/network-state.ts";
import type { NotificationStore, Notifier } from "#domain/ports/notifications.ts";
import type { OperationStore, TaskLauncher } from "#domain/ports/operations.ts";
import type { PackageCatalog } from "#domain/ports/package-catalog.ts";
import type { ConfigFiles, OldKernels, PackageFiles, PackageManager } from "#domain/ports/packages.ts";
import type { PasskeyStore, WebAuthn } from "#domain/ports/passkeys.ts";
import type { PlanSeals } from "#domain/ports/plans.ts";
import type {
  ConfirmedPlugins,
  EnabledPlugins,
  PluginFolders,
  PluginPermissions,
  PluginRunner,
  PluginSandbox,
} from "#domain/ports/plugins.ts";
import type { Pressure } from "#domain/ports/pressure.ts";
import type { ProcessFiles } from "#domain/ports/process-files.ts";
import type { Processes } from "#domain/ports/processes.ts";
import type { Reboots } from "#domain/ports/reboots.ts";
import type { SessionStore } from "#domain/ports/sessions.ts";
import type { SmartDisks } from "#domain/ports/smart-disks.ts";
import type { SnapshotBackend } from "#domain/ports/snapshots.ts";
import type { StaleCode } from "#domain/ports/stale.ts";
import type { DiskCleanup, FileSystems, RaidArrays } from "#domain/ports/storage.ts";
import type { Temperatures } from "#domain/ports/temperatures.ts";
import type { ThinPools } from "#domain/ports/thin-pools.ts";
import type { Timers } from "#domain/ports/timers.ts";
import type { TraceStore } from "#domain/ports/traces.ts";
import type { UnitDetails } from "#domain/ports/unit-details.ts";
import type { UnitExamination } from "#domain/ports/unit-examination.ts";
import type { UnitMemories } from "#domain/ports/unit-memory.ts";
import type { Units } from "#domain/ports/units.ts";
import type { Clock } from "#kernel/clock.ts";

/** The ports of the domain. One that is missing here fails `effects.test.ts`. */
interface Ports {
  readonly AlertStore: AlertStore;
  readonly AuditLog: AuditLog;
  readonly AutomaticRuns: AutomaticRuns;
  readonly BlockDevices: BlockDevices;
  readonly Calendar: Calendar;
  readonly CertificateFiles: CertificateFiles;
  readonly ChatProvider: ChatProvider;
  readonly CheckHistory: CheckHistory;
  readonly Clock: Clock;
  readonly ConfigFiles: ConfigFiles;
  readonly ConfirmedPlugins: ConfirmedPlugins;
  readonly ConnectorDiscovery: ConnectorDiscovery;
  readonly CredentialCodec: CredentialCodec;
  readonly DefaultRoutes: DefaultRoutes;
  readonly DiskCleanup: DiskCleanup;
  readonly EnabledPlugins: EnabledPlugins;
  readonly FileSystems: FileSystems;
  readonly FolderSizes: FolderSizes;
  readonly Grep: Grep;
  readonly HostFacts: HostFacts;
  readonly Journal: Journal;
  readonly KeyStore: KeyStore;
  readonly ListeningSockets: ListeningSockets;
  readonly Links: Links;
  readonly Listeners: Listeners;
  readonly MountTable: MountTable;
  readonly NameServers: NameServers;
  readonly NotificationStore: NotificationStore;
  readonly Notifier: Notifier;
  readonly OperationStore: OperationStore;
  readonly OldKernels: OldKernels;
  readonly PackageCatalog: PackageCatalog;
  readonly PackageFiles: PackageFiles;
  readonly PackageManager: PackageManager;
  readonly PacketFilter: PacketFilter;
  readonly PluginFolders: PluginFolders;
  readonly PluginRunner: PluginRunner;
  readonly PluginSandbox: PluginSandbox;
  readonly RaidArrays: RaidArrays;
  readonly RebootNeed: RebootNeed;
  readonly SecurityUpdater: SecurityUpdater;
  readonly SnapshotBackend: SnapshotBackend;
  readonly SshServer: SshServer;
  readonly Reboots: Reboots;
  readonly Accounts: Accounts;
  readonly Logins: Logins;
  readonly TimeSettings: TimeSettings;
  readonly HostNames: HostNames;
  readonly StaleCode: StaleCode;
  readonly TaskLauncher: TaskLauncher;
  readonly TimeSync: TimeSync;
  readonly TokenLedger: TokenLedger;
  readonly TraceStore: TraceStore;
  readonly UnitDetails: UnitDetails;
  readonly UnitExamination: UnitExamination;
  readonly Units: Units;
  readonly Pressure: Pressure;
  readonly KernelTaint: KernelTaint;
  readonly Timers: Timers;
  readonly ThinPools: ThinPools;
  readonly FileSystemHealth: FileSystemHealth;
  readonly SmartDisks: SmartDisks;
  readonly UnitMemories: UnitMemories;
  readonly ProcessFiles: ProcessFiles;
  readonly Processes: Processes;
  readonly Conntrack: Conntrack;
  readonly Temperatures: Temperatures;
  readonly BackupFolders: BackupFolders;
  readonly BackupSnapshots: BackupSnapshots;
  readonly Containers: Containers;
  readonly ClockOffsets: ClockOffsets;
  readonly WindowStore: WindowStore;
  readonly SessionStore: SessionStore;
  readonly PasskeyStore: PasskeyStore;
  readonly WebAuthn: WebAuthn;
  readonly PlanSeals: PlanSeals;
  readonly ApprovalStore: ApprovalStore;
}

type Methods<P> = {
  readonly [M in keyof P as NonNullable<P[M]> extends (...args: never[]) => unknown ? M : never]-?: readonly Effect[];
};

/** It reads, or writes what only the service itself has: its records, its history. */
const none: readonly Effect[] = [];
/** One call serves several ends: who reaches it says which. */
const snapshots = ["change_snapshots", "roll_back", "install_packages", "remove_packages"] as const;
const changes = ["change_packages", "install_packages", "remove_packages"] as const;
const returns = ["roll_back", "undo_update", "install_packages", "remove_packages"] as const;

/** What each method of each port does: a new method does not compile before it is here. */
export const portEffects: { readonly [P in keyof Ports]: Methods<Ports[P]> } = {
  AlertStore: {
    alerts: none,
    saveAlert: none,
    forgetAlert: none,
    silences: none,
    saveSilence: ["silence_alerts"],
    forgetSilence: ["silence_alerts"],
  },
  AuditLog: { record: none, begin: none, list: none, verify: none },
  AutomaticRuns: { last: none, save: none },
  Calendar: { latest: none, next: none },
  CertificateFiles: { read: none },
  ChatProvider: { chat: ["ask_models"], stream: ["ask_models"], probe: ["probe_models"] },
  CheckHistory: {
    aliveUntil: none,
    state: none,
    series: none,
    apply: none,
    forget: none,
    runs: none,
    transitions: none,
    hours: none,
    minutes: none,
    pointHours: none,
  },
  Clock: { now: none, monotonicMs: none, every: none, sleep: none },
  ConfigFiles: { offered: none },
  ConfirmedPlugins: { has: none },
  ConnectorDiscovery: { find: none },
  CredentialCodec: { mint: none, parse: none, proves: none },
  DefaultRoutes: { list: none },
  DiskCleanup: { find: none, remove: ["remove_files"] },
  EnabledPlugins: { all: none, save: ["choose_plugins"], remove: ["choose_plugins"] },
  FileSystems: { list: none, holding: none },
  Grep: { matching: none },
  HostFacts: { info: none, memory: none, cpuPercent: none, swapTraffic: none, fileHandles: none, zombies: none },
  Journal: {
    query: none,
    follow: none,
    histogram: none,
    facets: none,
    templates: none,
    context: none,
    export: none,
    boots: none,
    fieldNames: none,
    fieldValues: none,
    size: none,
    rotate: ["remove_files"],
    vacuum: ["remove_files"],
  },
  ApprovalStore: { list: none, save: ["decide_approvals"], remove: none },
  KeyStore: {
    keys: none,
    tokens: none,
    insertKey: ["change_keys"],
    revokeKey: ["change_keys"],
    insertToken: ["make_tokens"],
    deleteTokens: ["change_keys", "make_tokens"],
    touchKeys: none,
  },
  ListeningSockets: { open: none, listening: none, owners: none },
  NameServers: { list: none, ask: none },
  NotificationStore: {
    notifications: none,
    saveNotification: none,
    forgetNotification: none,
    components: none,
    saveComponent: none,
    forgetComponent: none,
    checks: none,
    saveCheck: none,
    together: none,
  },
  Notifier: { send: ["send_notifications"] },
  OldKernels: { plan: none, remove: ["remove_old_kernels"] },
  OperationStore: {
    create: none,
    ids: none,
    read: none,
    claim: none,
    write: none,
    requestCancel: ["cancel_operations"],
    withdrawCancel: none,
    isCancelRequested: none,
    appendLog: none,
    tail: none,
    remove: none,
  },
  PackageCatalog: { search: none, show: none, requiring: none, filesOf: none, history: none },
  PackageFiles: {
    present: none,
    configFiles: none,
    fileName: none,
    fetch: snapshots,
    identify: none,
    restore: returns,
    missing: none,
    prefetch: snapshots,
  },
  PackageManager: {
    installed: none,
    faults: none,
    updates: none,
    security: none,
    refreshedAt: none,
    release: none,
    refresh: ["refresh_package_lists"],
    simulate: none,
    planChange: none,
    unremovable: none,
    commit: changes,
    settle: none,
    repair: changes,
    audit: none,
    restartNeeds: none,
    otherUpdaters: none,
    holdsLack: none,
    setHolds: ["hold_packages"],
    finish: ["change_packages"],
    planMissing: none,
    installMissing: ["change_packages"],
  },
  PacketFilter: { inputChains: none },
  PluginFolders: { find: none, read: none },
  // A monitoring plugin of the settings, as the check that the settings make of it.
  PluginRunner: { run: none },
  PluginSandbox: { run: ["run_plugins"], tryStart: none },
  RaidArrays: { list: none },
  RebootNeed: { reasons: none },
  SecurityUpdater: { plan: none, apply: ["change_packages", "change_snapshots", "undo_update"] },
  SnapshotBackend: {
    folder: none,
    list: none,
    lacking: none,
    keep: snapshots,
    create: snapshots,
    recordChanges: snapshots,
    remove: snapshots,
    diff: none,
    compareFile: none,
    verify: none,
    rollback: returns,
    tidy: snapshots,
  },
  SshServer: { config: none },
  // What a task does is done by ports again.
  Accounts: { list: none },
  Logins: { sessions: none, recent: none },
  TimeSettings: { state: none, timezones: none, set: ["set_time"] },
  HostNames: { state: none, set: ["set_hostname"] },
  Reboots: { state: none, schedule: ["reboot_host"], cancel: ["reboot_host"] },
  StaleCode: { find: none },
  TaskLauncher: { launch: none, isAlive: none },
  TimeSync: { state: none, enable: ["set_clock"] },
  TokenLedger: { used: none, add: none, forget: none },
  TraceStore: { add: none, list: none, trace: none },
  UnitDetails: { inspect: none, list: none },
  UnitExamination: { exposure: none, listening: none },
  Units: {
    list: none,
    failed: none,
    states: none,
    read: none,
    loaded: none,
    resetFailed: ["restart_units"],
    restart: ["restart_units", "restart_stale"],
    start: ["start_units"],
    stop: ["stop_units"],
    reload: ["reload_units"],
    enable: ["enable_units"],
    disable: ["enable_units"],
    mask: ["mask_units"],
    unmask: ["mask_units"],
    alsoChanged: none,
    restartDetached: ["restart_units"],
    settled: none,
  },
  Pressure: { read: none },
  KernelTaint: { flags: none },
  Timers: { list: none },
  ThinPools: { arePresent: none, list: none },
  FileSystemHealth: { of: none, pools: none },
  SmartDisks: { canList: none, list: none },
  UnitMemories: { list: none },
  ProcessFiles: { busiest: none },
  Processes: {
    sample: none,
    units: none,
    users: none,
    read: none,
    io: none,
    ioOfAll: none,
    commands: none,
    signal: ["signal_processes"],
  },
  BlockDevices: { list: none },
  MountTable: { read: none },
  FolderSizes: { measure: none },
  Links: { links: none, routes: none },
  Listeners: { list: none },
  Conntrack: { usage: none },
  Temperatures: { list: none },
  BackupFolders: { newest: none },
  BackupSnapshots: { newest: none },
  Containers: { engines: none, list: none },
  ClockOffsets: { canRead: none, read: none },
  WindowStore: { load: none, save: none },
  SessionStore: {
    sessions: none,
    put: ["make_sessions"],
    remove: ["end_sessions"],
    touch: none,
    code: none,
    insertCode: ["make_sessions"],
    takeCode: ["make_sessions"],
    forgetCodes: none,
  },
  PasskeyStore: { list: none, put: ["change_passkeys", "make_sessions"], remove: ["change_passkeys"] },
  WebAuthn: { userHandle: none, challenge: none, verifyRegistration: none, verifyAssertion: none },
  PlanSeals: { newId: none, digest: none, sign: none, isSigned: none, userOf: none, use: none },
};

/**
 * What a plugin may do beyond its sandbox is given to it by whoever enables it, as its manifest asks for it: a new permission
 * does not compile before it is said here who gives it.
 */
export const permissionEffects: Readonly<Record<keyof PluginPermissions, Effect>> = {
  user: "choose_plugins",
  network: "choose_plugins",
  read: "choose_plugins",
  write: "choose_plugins",
  memoryBytes: "choose_plugins",
  tasks: "choose_plugins",
};

const changers = ["applyUpdates", "installPackages", "removePackages", "purgePackages"] as const;

/**
 * The mutations whose callers have a hook called, by event. A hook runs what was enabled, and only refuses: it does nothing
 * with the rights of the caller. Checks run by themselves, so theirs are called for nobody.
 */
export const hookCallers: Readonly<Record<HookEvent, readonly OperationName[]>> = {
  pre_check: [],
  post_check: [],
  pre_fix: ["fixCheck"],
  post_fix: ["fixCheck"],
  pre_update: [...changers, "fixCheck"],
  post_update: [...changers, "fixCheck"],
  pre_rollback: ["rollback"],
  post_rollback: ["rollback"],
};

/** A call of a method of a port that does something. */
export interface PortCall {
  readonly method: string;
  readonly effects: readonly Effect[];
  readonly args: readonly unknown[];
}

type AnyFunction = (...args: unknown[]) => unknown;

/** Has the calls of a port recorded that do something, from now on. */
export function recordCalls<P extends keyof Ports>(name: P, port: Ports[P], calls: PortCall[]): void {
  const methods = port as unknown as Record<string, AnyFunction>;
  for (const [method, does] of Object.entries<readonly Effect[]>(portEffects[name])) {
    const original = methods[method];
    if (does.length === 0 || original === undefined) continue;
    methods[method] = (...args) => {
      calls.push({ method: `${name}.${method}`, effects: does, args });
      return original.apply(port, args);
    };
  }
}
