import type { FastifyInstance } from "fastify";
import { expect } from "vitest";
import type { CheckStatus } from "#contract/checks.ts";
import type { ErrorBody } from "#contract/error-body.ts";
import type { ErrorCode } from "#contract/errors.ts";
import { apiBase } from "#contract/limits.ts";
import type { Operation } from "#contract/operation.ts";
import { roles } from "#contract/scopes.ts";
import type { Check, Outcome } from "#domain/health/check.ts";
import type { Fix, FixPlan } from "#domain/health/fix.ts";
import { runTask } from "#domain/operations/task.ts";
import type { TaskLauncher } from "#domain/ports/operations.ts";
import type { ConfirmedPlugins } from "#domain/ports/plugins.ts";
import type { Condition } from "#domain/updates/condition.ts";
import { downgradeRules } from "#domain/updates/downgrades.ts";
import { createNewErrors } from "#domain/updates/new-errors.ts";
import { asVerbs, updateKinds, updateVerbs } from "#domain/updates/verbs.ts";
import { createLogs } from "#telemetry/logger.ts";
import { createMetrics } from "#telemetry/metrics.ts";
import { createFakeAccounts } from "../fakes/accounts.ts";
import { createFakeAlertStore, type FakeAlertStore } from "../fakes/alert-store.ts";
import { createFakeAuditLog } from "../fakes/audit-log.ts";
import { createFakeBlockDevices } from "../fakes/block-devices.ts";
import { createFakeCheckHistory, type FakeCheckHistory } from "../fakes/check-history.ts";
import { createFakeClock } from "../fakes/clock.ts";
import { createFakeConfigFiles } from "../fakes/config-files.ts";
import { createFakeDirectorySizes, fakeMeasured } from "../fakes/directory-sizes.ts";
import { createFakeEnabledPlugins, type FakeEnabledPlugins } from "../fakes/enabled-plugins.ts";
import { createFakeFileSystems } from "../fakes/file-systems.ts";
import { createFakeGrep, type FakeGrep } from "../fakes/grep.ts";
import { createFakeHostFacts } from "../fakes/host-facts.ts";
import { createFakeHostNames } from "../fakes/host-names.ts";
import { createFakeHostSampler } from "../fakes/host-sampler.ts";
import { createFakeJournal, type FakeJournal } from "../fakes/journal.ts";
import { createFakeKeyStore } from "../fakes/key-store.ts";
import { createFakeLinks } from "../fakes/links.ts";
import { createFakeListeners } from "../fakes/listeners.ts";
import { createFakeLogins } from "../fakes/logins.ts";
import { createFakeMountTable } from "../fakes/mount-table.ts";
import { createFakeNameServers } from "../fakes/name-servers.ts";
import { createFakeNotifier } from "../fakes/notifier.ts";
import { createFakeOperationStore } from "../fakes/operation-store.ts";
import { createFakePackageManager, fakePackage } from "../fakes/package-manager.ts";
import { createFakePluginDirectories, type FakePluginDirectories } from "../fakes/plugin-directories.ts";
import { createFakePluginSandbox, type FakePluginSandbox } from "../fakes/plugin-sandbox.ts";
import { createFakeProbe } from "../fakes/probe.ts";
import { createFakeProcesses, type FakeProcesses, fakeProcess } from "../fakes/processes.ts";
import { createFakeRaidArrays } from "../fakes/raid-arrays.ts";
import { createFakeRebootNeed } from "../fakes/reboot-need.ts";
import { createFakeReboots } from "../fakes/reboots.ts";
import { createFakeRingStore } from "../fakes/ring-store.ts";
import { createFakeRunbooks } from "../fakes/runbooks.ts";
import { createSnapshotsOf } from "../fakes/snapshot-backend.ts";
import { createFakeStaleCode } from "../fakes/stale-code.ts";
import { createFakeTaskLauncher } from "../fakes/task-launcher.ts";
import { createFakeTimeSettings } from "../fakes/time-settings.ts";
import { createFakeTokenLedger } from "../fakes/token-ledger.ts";
import { createFakeTraceStore, type FakeTraceStore } from "../fakes/trace-store.ts";
import { createFakeUnitDetails } from "../fakes/unit-details.ts";
import { createFakeUnitExamination } from "../fakes/unit-examination.ts";
import { createFakeUnits, type FakeUnits } from "../fakes/units.ts";
import { fakeCondition } from "./conditions.ts";
import { holdToDocument } from "./documented.ts";
import { createFakeService, type ServiceFakes } from "./fake-service.ts";

/** A check that finds what it is asked to. */
export interface TestCheck extends Check {
  /** What it finds from now on; a function is run each time. */
  finds: CheckStatus | (() => Promise<Outcome>);
  readonly runs: () => number;
}

/** A fix that does what it is asked to. */
export interface TestFix extends Fix {
  alsoNeeds: Fix["alsoNeeds"];
  /** What it would do from now on. */
  planned: FixPlan | (() => Promise<FixPlan>);
}

function createTestFix(id: string, rest: Partial<Fix> = {}): TestFix {
  const fix: TestFix = {
    id,
    summary: `Does ${id}`,
    risk: "moderate",
    kind: "services",
    endsOnFailure: true,
    ...rest,
    alsoNeeds: [],
    mayFindNothing: true,
    planned: { steps: [] },
    plan: () => (typeof fix.planned === "function" ? fix.planned() : Promise.resolve(fix.planned)),
  };
  return fix;
}

function createTestCheck(id: string, severity: Check["severity"] = "medium", fixes: readonly string[] = []): TestCheck {
  let runs = 0;
  const check: TestCheck = {
    id,
    fixes,
    name: `Check of ${id}`,
    category: "system",
    severity,
    finds: "pass",
    runs: () => runs,
    async run() {
      runs += 1;
      const { finds } = check;
      if (typeof finds === "function") return finds();
      return { status: finds, message: `${id} is ${finds}`, details: { run: runs } };
    },
  };
  return check;
}

/** The service in this process, on fakes, with everything that a test may want to look at. */
export type TestService = Awaited<ReturnType<typeof startTestService>>;

/** The plugins of a host, to be changed by a test. */
export interface TestPlugins {
  readonly directories: FakePluginDirectories;
  readonly sandbox: FakePluginSandbox;
  readonly enabled: FakeEnabledPlugins;
  /** Root's own list; undefined: the service is root. */
  readonly confirmed?: ConfirmedPlugins;
}

export const createTestPlugins = (): TestPlugins => ({
  directories: createFakePluginDirectories(),
  sandbox: createFakePluginSandbox(),
  enabled: createFakeEnabledPlugins(),
});

const installed = [
  ["editor", "1.0"],
  ["library", "2.0"],
  ["server", "3.0"],
] as const;

const units = [
  {
    name: "cron.service",
    description: "Runs jobs",
    activeState: "active",
    subState: "running",
    unitFileState: "enabled",
    mainPid: 7,
    can: { reload: true },
  },
  { name: "backup.service", description: "Backs up" },
  { name: "broken.service", activeState: "failed", subState: "failed", result: "exit-code" },
  { name: "masked.service", loadState: "masked", unitFileState: "masked" },
  {
    name: "never-starts.service",
    jobResult: "failed",
    after: { activeState: "failed", subState: "failed", result: "exit-code" },
  },
];

/** Starts the service; what is not given is faked. */
export async function startTestService(
  overrides: Partial<ServiceFakes> & {
    units?: FakeUnits;
    journal?: FakeJournal;
    grep?: FakeGrep;
    checkHistory?: FakeCheckHistory;
    alerts?: FakeAlertStore;
    plugins?: TestPlugins;
    processes?: FakeProcesses;
    traces?: FakeTraceStore;
  } = {},
  beforeStart: (app: FastifyInstance) => void = holdToDocument,
) {
  const clock = createFakeClock();
  const fakeUnits = overrides.units ?? createFakeUnits(units);
  const journal = overrides.journal ?? createFakeJournal();
  const grep = overrides.grep ?? createFakeGrep();
  const audit = createFakeAuditLog();
  const checks = {
    plain: createTestCheck("plain"),
    vital: createTestCheck("vital", "critical", ["repair", "rebuild"]),
  };
  const fixes = {
    repair: createTestFix("repair"),
    rebuild: createTestFix("rebuild", { risk: "risky", kind: "packages" }),
  };
  const packageManager = createFakePackageManager(installed.map(([name, version]) => fakePackage(name, version)));
  const snapshots = createSnapshotsOf(packageManager, clock);
  const operationStore = createFakeOperationStore();
  const launcher = createFakeTaskLauncher();
  let condition = (): Condition => fakeCondition();
  const guardClock = { now: clock.now, monotonicMs: clock.monotonicMs, sleep: (ms: number) => clock.advance(ms) };
  const isRestarted = (unit: string): boolean => fakeUnits.actions.includes(`restart ${unit}`);
  const reboots = createFakeReboots();
  const accounts = createFakeAccounts();
  const logins = createFakeLogins();
  const timeSettings = createFakeTimeSettings();
  const hostNames = createFakeHostNames();
  const blockDevices = createFakeBlockDevices();
  const mountTable = createFakeMountTable();
  const runbooks = createFakeRunbooks();
  const directorySizes = createFakeDirectorySizes([fakeMeasured("/srv")]);
  const links = createFakeLinks();
  const listeners = createFakeListeners();
  const processes =
    overrides.processes ?? createFakeProcesses([fakeProcess(7, { unit: "cron.service", user: "root", name: "cron" })]);
  const staleCode = createFakeStaleCode([], isRestarted);
  const stale = { code: staleCode, units: fakeUnits, reboot: createFakeRebootNeed() };
  const { fileSystems = createFakeFileSystems() } = overrides;
  const verbs = updateVerbs({
    manager: packageManager,
    backend: snapshots,
    condition: { look: () => Promise.resolve(condition()), restart: () => Promise.resolve() },
    newErrors: createNewErrors(journal),
    clock: guardClock,
    guard: { guardMs: 60_000, enoughMs: 60_000 },
    configFiles: createFakeConfigFiles(),
    keepSnapshots: 3,
    stale,
    rules: downgradeRules(),
    fileSystems,
  });
  /** Does what was launched, in this process. */
  const taskLauncher: TaskLauncher = {
    isAlive: launcher.isAlive,
    async launch(id) {
      // So that who starts it has started to wait; one that cannot be started is noticed by and by.
      setImmediate(() => void clock.advance(1_000));
      await launcher.launch(id);
      const self = launcher.begin();
      const ports = { id, store: operationStore, launcher, kinds: updateKinds, verbs: asVerbs(verbs), clock, self };
      const done = runTask({ ...ports, signal: new AbortController().signal, onTrouble: () => undefined });
      // Who waits for it looks again after a while; one that could not even begin has ended, as its process would have.
      const over = done.catch(() => launcher.kill(self));
      void over.then(() => clock.advance(1_000));
    },
  };
  const checkHistory = overrides.checkHistory ?? createFakeCheckHistory();
  const plugins = overrides.plugins ?? createTestPlugins();
  const lines: string[] = [];
  const alertStore = overrides.alerts ?? createFakeAlertStore();
  const notifiers = { chat: createFakeNotifier(), email: createFakeNotifier(["ops@example.org"]) };
  const { traces = createFakeTraceStore() } = overrides;
  const usage = { cpu: 10 };
  const hostSampler = createFakeHostSampler(clock);
  const ringStore = createFakeRingStore();
  const probes = { cli: createFakeProbe(), ops: createFakeProbe(), security: createFakeProbe() };
  const service = await createFakeService({
    clock,
    ...createLogs({ level: "debug", writer: { write: (line) => void lines.push(line) } }),
    metrics: createMetrics(),
    store: createFakeKeyStore(),
    host: createFakeHostFacts(),
    hostSampler,
    ringStore,
    audit,
    probes: { cli: probes.cli.probe, ops: probes.ops.probe, security: probes.security.probe },
    checks: [checks.plain, checks.vital],
    fixes: [fixes.repair, fixes.rebuild],
    checkPlan: { checks: {} },
    operationStore,
    taskLauncher,
    self: launcher.begin(),
    fileSystems,
    stale,
    hostUpdates: () => Promise.resolve({ manager: packageManager, backend: snapshots }),
    blockDevices,
    mountTable,
    raidArrays: createFakeRaidArrays(),
    directorySizes,
    runbooks,
    links,
    listeners,
    nameServers: createFakeNameServers({ "192.0.2.53": undefined }),
    reboots,
    accounts,
    logins,
    timeSettings,
    hostNames,
    loadConnectors: () =>
      Promise.resolve({
        plan: { default: undefined, connectors: [], budgetOf: () => undefined },
        discovery: undefined,
      }),
    unitDetails: createFakeUnitDetails(fakeUnits),
    unitExamination: createFakeUnitExamination(),
    tokenLedger: createFakeTokenLedger(),
    loadPlugins: () => Promise.resolve(plugins),
    isSafeMode: false,
    automatic: {
      calendar: { latest: () => undefined, next: () => undefined },
      ...{ durationMs: 3_600_000, what: "security", isGuarded: true, reboot: "never", notify: "changes" },
    },
    addedProbes: {},
    channels: new Map([
      ["chat", notifiers.chat],
      ["email", notifiers.email],
    ]),
    usage,
    rateLimits: "off",
    allowedHosts: [],
    trustedProxies: [],
    metricsPublic: "loopback",
    ...overrides,
    traces,
    alerts: alertStore,
    processes,
    units: fakeUnits,
    journal,
    grep,
    checkHistory,
  });
  beforeStart(service.app);
  await service.app.ready();
  await service.start();
  const key = (scopes: readonly string[], expiresAt: number | null = null): string =>
    service.keyring.create({ name: "test", scopes, expiresAt }).text;
  return {
    app: service.app,
    service,
    clock,
    units: fakeUnits,
    journal,
    grep,
    audit,
    probes,
    /** `plain` of severity medium and `vital` of severity critical, unless others were given. */
    checks,
    /** Both for `vital`: `repair`, which it takes unless it says otherwise, and the risky `rebuild`. */
    fixes,
    /** Has `editor`, `library` and `server` installed; what the repository offers is for a test to say. */
    packageManager,
    snapshots,
    alertStore,
    notifiers,
    /** What the host measures of itself for the alerts, in percent. */
    usage,
    operationStore,
    launcher,
    /** How a guarded update finds the host from now on. */
    becomes(next: typeof condition): void {
      condition = next;
    },
    checkHistory,
    traces,
    plugins,
    staleCode,
    processes,
    blockDevices,
    mountTable,
    directorySizes,
    runbooks,
    links,
    listeners,
    reboots,
    accounts,
    logins,
    timeSettings,
    hostNames,
    hostSampler,
    ringStore,
    logLines: () => lines.map((line) => JSON.parse(line) as Record<string, unknown>),
    key,
    admin: key(roles.admin),
  };
}

/** A request in a shape that is easy to write. */
export interface TestRequest {
  readonly method?: "GET" | "POST" | "DELETE" | "PUT" | "PATCH" | "HEAD" | "OPTIONS";
  readonly path: string;
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent as it is, as application/json unless a header says otherwise. */
  readonly text?: string;
  readonly from?: string;
}

export interface TestReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly text: string;
  /** The body read as JSON. */
  readonly json: unknown;
}

/** Sends a request to the service in this process. */
export async function send({ app }: Pick<TestService, "app">, request: TestRequest): Promise<TestReply> {
  const { method = "GET", path, key, headers, body, text, from = "192.0.2.1" } = request;
  const payload = text ?? (body === undefined ? undefined : JSON.stringify(body));
  const reply = await app.inject({
    method,
    url: path,
    remoteAddress: from,
    headers: {
      host: "localhost",
      ...(key !== undefined && { "x-api-key": key }),
      ...(payload !== undefined && { "content-type": "application/json" }),
      ...headers,
    },
    ...(payload !== undefined && { payload }),
  });
  const isJson = String(reply.headers["content-type"]).startsWith("application/json");
  return {
    status: reply.statusCode,
    headers: Object.fromEntries(Object.entries(reply.headers).map(([name, value]) => [name, String(value)])),
    text: reply.body,
    json: isJson && reply.body !== "" ? JSON.parse(reply.body) : undefined,
  };
}

/** What a page of the service sends of a new session of a key. */
export function sessionOf({ service: { sessions } }: Pick<TestService, "service">, key: string, isElevated = false) {
  const started = sessions.begin(key.slice(4, 12), null);
  const { cookie, secret } = isElevated ? sessions.elevate(started.session) : started;
  return { origin: "http://localhost", cookie: `steward=${cookie}`, "x-steward-session": secret };
}

/** The body of an error, as far as it is said. */
interface StreamedEvent {
  readonly event: string;
  readonly data: Record<string, unknown>;
}

/** Server-sent events of a whole stream; comments are left out. */
export function eventsIn(text: string): readonly StreamedEvent[] {
  expect(text.endsWith("\n\n")).toBe(true);
  return text
    .split("\n\n")
    .filter((block) => block !== "" && !block.startsWith(":"))
    .map((block) => {
      const match = /^event: (\w+)\ndata: (.*)$/.exec(block);
      return { event: match?.[1] ?? block, data: JSON.parse(match?.[2] ?? "{}") as Record<string, unknown> };
    });
}

export const errorWith = (code: ErrorCode, details: object) => ({ error: { code, details } });

/** The message of a refusal. */
export const messageOf = ({ json }: Pick<TestReply, "json">): string => (json as ErrorBody).error.message;

/** The status, and why a call was refused. */
export const reasonOf = ({ status, json }: TestReply) => [
  status,
  (json as { error?: { details?: { reason?: string } } }).error?.details?.reason,
];

/** Waits for something to have happened, without time moving on. */
export async function settled({ clock }: Pick<TestService, "clock">, isSo: () => boolean): Promise<void> {
  for (let turns = 0; turns < 1_000 && !isSo(); turns += 1) await clock.advance(0);
  expect(isSo()).toBe(true);
}

/** Lets others have so many turns of the event loop. */
export async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** Waits for something that other turns of the event loop bring about. */
export async function turnsUntil(isSo: () => boolean): Promise<void> {
  for (let left = 50_000; left > 0 && !isSo(); left -= 1) await turns(1);
  expect(isSo()).toBe(true);
}

/** The whole path of an operation with its parameters filled in. */
export function pathOf({ base, path }: Operation, params: Readonly<Record<string, string>> = {}): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? `some-${name}`));
  return base === "root" ? filled : `${apiBase}${filled}`;
}
