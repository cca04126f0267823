import { systemClock } from "#adapters/clock/index.ts";
import { exec } from "#adapters/exec/index.ts";
import { prepareStateDir } from "#adapters/keystore/state-dir.ts";
import { type PassedSockets, takePassedSockets } from "#adapters/local-sockets/index.ts";
import { createServiceManager, type ServiceManager, takeManagerVariables } from "#adapters/service-manager/index.ts";
import type { Config } from "#config/load.ts";
import { auditEvent } from "#domain/audit/entry.ts";
import { checkOwnAddress, createProber, statusWords } from "#domain/health/prober.ts";

import { hasRootSide } from "#root/places.ts";
import { createRootSide } from "#root/request.ts";
import type { Logs } from "#telemetry/logger.ts";
import { createMetrics } from "#telemetry/metrics.ts";
import { composeService } from "./compose.ts";
import { ensureAdminKey, firstKeyText, keptKeyFile, keyMade } from "./first-key.ts";
import { hostHeap, returnHeap } from "./heap.ts";
import type { PartContext } from "./part.ts";
import { buildAccessPart } from "./parts/access.ts";
import { buildAccountsPart } from "./parts/accounts.ts";
import { buildAlertsPart } from "./parts/alerts.ts";
import { buildApprovalsPart } from "./parts/approvals.ts";
import { buildAuditPart } from "./parts/audit.ts";
import { buildAutomaticPart } from "./parts/automatic-updates.ts";
import { buildConnectorsPart } from "./parts/connectors.ts";
import { buildDisksPart, buildDiskUsagePart } from "./parts/disks.ts";
import { buildHealthPart } from "./parts/health.ts";
import { buildHostSettingsPart } from "./parts/host-settings.ts";
import { buildHttpPart, securityProbe } from "./parts/http.ts";
import { createLogsPart } from "./parts/logs.ts";
import { buildNetworkPart } from "./parts/network.ts";
import { buildOperationsPart, createIds } from "./parts/operations.ts";
import { buildPluginsPart, createHookPoints } from "./parts/plugins.ts";
import { buildProcessesPart } from "./parts/processes.ts";
import { buildRebootPart } from "./parts/reboot.ts";
import { buildRunbooksPart } from "./parts/runbooks.ts";
import { buildHost, buildSystemPart } from "./parts/system.ts";
import { buildSystemMetricsPart } from "./parts/system-metrics.ts";
import { buildTlsPart } from "./parts/tls.ts";
import { buildTracesPart } from "./parts/traces.ts";
import { buildUpdatesPart, createPackagesPart } from "./parts/updates.ts";
import { buildWindowsPart } from "./parts/windows.ts";
import { createReload } from "./reload.ts";

/** After SIGTERM: time until requests in flight are aborted, and then until they are cut. */
const drainMs = 3_000;
const cutMs = 1_000;
const disposeMs = 10_000;

export interface ServeOptions {
  readonly version: string;
  readonly logs: Logs;
  /** Whether to make a further admin key, and to replace a lost key store. */
  readonly newAdminKey: boolean;
  readonly isSafeMode: boolean;
  /** Whether somebody has started it by hand, and reads how to go on each time. */
  readonly isAttended: boolean;
  readonly reload: () => Config;
  readonly tell: (text: string) => void;
}

interface Started extends Pick<ServeOptions, "logs" | "newAdminKey" | "isSafeMode"> {
  readonly manager: ServiceManager;
  readonly passed: PassedSockets | undefined;
}

async function buildParts(context: PartContext, { newAdminKey, isSafeMode }: Started) {
  const { config, clock, log } = context;
  const prober = createProber(clock);
  const hookPoints = createHookPoints(context);
  const windows = buildWindowsPart(context);
  const tls = await buildTlsPart(context);
  const audit = buildAuditPart(context);
  const access = await buildAccessPart(context, { audit, prober, isReplaced: newAdminKey });
  const traces = await buildTracesPart(context);
  const { traced, tracer } = traces;
  const host = buildHost(context, { traced, prober });
  // A service without rights, as the package installs it, asks root.
  const rootSide = hasRootSide(config.stateDir) ? createRootSide({ clock, isSafeMode, audit }) : undefined;
  const logs = createLogsPart({ ...host, clock, log, snapshotTime: (...asked) => updates.snapshotTime(...asked) });
  const system = buildSystemPart(context, { host, rootSide, traced, logs });
  const systemMetrics = buildSystemMetricsPart(context, host);
  const processes = buildProcessesPart(context, { units: system.units, rootSide });
  const accounts = buildAccountsPart(context, { traced, rootSide, logs });
  const hostSettings = buildHostSettingsPart(context, { traced, rootSide });
  const disks = buildDisksPart(context, { traced });
  const diskUsage = buildDiskUsagePart(context);
  const network = buildNetworkPart(traced);
  const { hasEnded, keyring, plans } = access;
  const operations = buildOperationsPart(context, { audit, rootSide, traced, tracer, isSafeMode, hasEnded });
  const approvals = buildApprovalsPart(context, { keyring, hasEnded, plans, windows, operations, audit });
  const reboot = buildRebootPart(context, { operations: operations.operations, traced, rootSide });
  const packages = createPackagesPart({ manager: () => Promise.resolve(host.packages) });
  const updates = buildUpdatesPart(context, { operations: operations.operations, hookPoints, host, traced, rootSide });
  const connectors = buildConnectorsPart(context, { traced, prober });
  const health = buildHealthPart(context, {
    host,
    traced,
    rootSide,
    hookPoints,
    prober,
    security: updates.security,
    certificatePaths: tls.paths,
    firstAnswer: connectors.firstAnswer,
  });
  const runbooks = buildRunbooksPart(context);
  const plugins = buildPluginsPart(context, { isSafeMode, hookPoints, health, traced, rootSide });
  const alerts = buildAlertsPart(context, { ...host, health, windows: windows.gate });
  const automatic = buildAutomaticPart(context, {
    ...updates.automatic,
    host: updates.host,
    units: system.units,
    reboot: reboot.reboot,
    audit,
    windows: windows.gate,
    post: alerts.post,
  });
  return {
    ...{
      windows,
      approvals,
      health,
      runbooks,
      system,
      systemMetrics,
      processes,
      hostSettings,
      accounts,
      disks,
      diskUsage,
      network,
      reboot,
      packages,
      updates,
      automatic,
      operations,
      connectors,
      plugins,
      logs,
      access,
      audit,
      alerts,
      traces,
    },
    ...{ tls, prober, host, rootSide },
  };
}

type Built = Awaited<ReturnType<typeof buildParts>>;

function buildFront(context: PartContext, built: Built, { logs, passed, manager }: Started) {
  const { access, audit, tls, prober, traces, host } = built;
  const { http, parts } = composeService(context, built, {
    prober,
    http: (ports) => buildHttpPart(context, { ...ports, logs, passed, tls, tracer: traces.tracer }),
    probes: ({ probe: cli, endpoint }) => ({
      cli,
      ops: host.probe,
      security: securityProbe({ config: context.config, checks: [access.check, audit.check], endpoint }),
    }),
  });
  parts.add({ dispose: tls.watch(http.replaceTls) });
  const status = async (): Promise<string> => statusWords(http.url(), await prober.components());
  parts.add({ ready: () => manager.ready(checkOwnAddress(http.endpoint, http.load), status) });
  return { http, parts };
}

type Http = ReturnType<typeof buildFront>["http"];

function makeFirstKey(context: PartContext, { access, audit, tls }: Built, http: Http, options: ServeOptions): void {
  const { config, clock, log } = context;
  const made = ensureAdminKey(access.keyring, config.stateDir, options.newAdminKey);
  if (made !== undefined) {
    audit.record(auditEvent(keyMade, clock.now(), { target: { id: made.id, name: "admin" } }));
    log.info({ path: made.path }, "admin key written");
  }
  const path = made?.path ?? (options.isAttended ? keptKeyFile(access.keyring, config.stateDir) : undefined);
  if (path !== undefined) options.tell(firstKeyText(path, http.url(), config, tls.names()));
}

async function drainService(clock: PartContext["clock"], { health, plugins }: Built, http: Http): Promise<void> {
  health.drain();
  const closed = http.close();
  const endInTime = async (): Promise<void> => {
    await clock.sleep(drainMs);
    http.abort();
    await clock.sleep(cutMs);
    plugins.tellLeft();
    http.cut();
  };
  await Promise.race([closed, endInTime()]);
  await Promise.race([closed, clock.sleep(cutMs)]);
}

function meetServiceManager({ log }: Logs): Pick<Started, "manager" | "passed"> {
  const manager = createServiceManager({
    variables: takeManagerVariables(process.env, process.pid),
    // Untraced: nobody looks for watchdog pings in traces.
    exec,
    clock: systemClock,
    monotonicUsec: () => process.hrtime.bigint() / 1_000n,
    onTrouble: (error) => log.warn({ err: error }, "cannot notify the service manager"),
  });
  const passed = takePassedSockets(process.env, process.pid);
  manager.starting();
  return { manager, passed };
}

/** Runs the service until SIGTERM or SIGINT. @throws Error when it cannot start: settings, state, key store, address. */
export async function serve(config: Config, options: ServeOptions): Promise<void> {
  const { version, logs } = options;
  const { log } = logs;
  const clock = systemClock;
  // All files are private from here on.
  process.umask(0o077);
  const stopped = Promise.withResolvers<string>();
  // Not `once`: Ctrl-C reaches a service that npm has started twice, from the terminal and from npm.
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => stopped.resolve(signal));
  const heap = hostHeap();
  const started: Started = { ...options, ...meetServiceManager(logs) };
  const { manager } = started;
  // A SIGHUP during the start is remembered; without a listener it would end the process.
  let isReloadWanted = false;
  let reload: (() => void) | undefined;
  process.on("SIGHUP", () => {
    isReloadWanted = true;
    reload?.();
  });

  for (const warning of config.warnings) log.warn({ setting: warning }, "settings");
  prepareStateDir(config.stateDir);
  const context: PartContext = { config, version, clock, log, metrics: createMetrics(), createId: createIds(clock) };
  const built = await buildParts(context, started);
  const { http, parts } = buildFront(context, built, started);
  parts.add({ stop: returnHeap(heap, clock) });
  const { connectors, plugins, windows, approvals, tls } = built;
  reload = createReload({
    config,
    load: options.reload,
    connectors,
    plugins,
    windows,
    approvals,
    tls,
    around: manager.reload,
    log,
  });
  if (isReloadWanted) reload();
  await http.listen();
  makeFirstKey(context, built, http, options);
  const begun = parts.start().then(async () => {
    log.info("ready");
    await parts.ready();
  });

  const signal = await Promise.race([stopped.promise, begun.then(() => stopped.promise)]);
  log.info({ signal }, "stopping");
  manager.stopping();
  await drainService(clock, built, http);
  // The timer also keeps the process alive while a part waits for something that does not.
  await Promise.race([parts.dispose(), clock.sleep(disposeMs)]);
  await Promise.race([manager.close(), clock.sleep(cutMs)]);
  log.info("stopped");
}
