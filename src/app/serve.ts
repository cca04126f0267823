import { hostname } from "node:os";
import { join } from "node:path";
import { openCheckHistory } from "#adapters/check-history/index.ts";
import { systemClock } from "#adapters/clock/index.ts";
import { createEndpointProbe, createSocketProbe, type OwnTls } from "#adapters/endpoint/index.ts";
import { exec as execUntraced } from "#adapters/exec/index.ts";
import { writeFileAtomic } from "#adapters/files/index.ts";
import { createHostJournal } from "#adapters/journald/index.ts";
import { credentialCodec } from "#adapters/keystore/codec.ts";
import { type LostKeyStore, lostKeys, openKeyStore } from "#adapters/keystore/index.ts";
import { prepareStateDir } from "#adapters/keystore/state-dir.ts";
import { listenLocally, takePassedSockets } from "#adapters/local-sockets/index.ts";
import { openAnswerFiles } from "#adapters/operations/answers.ts";
import { createOperationId } from "#adapters/operations/id.ts";
import { openOperationStore } from "#adapters/operations/index.ts";
import { createTaskLauncher } from "#adapters/operations/launcher.ts";
import { ownProcess } from "#adapters/operations/process.ts";
import { createHostPackages, createPackageManagerProbe } from "#adapters/packages/index.ts";
import { createHostFacts } from "#adapters/procfs/index.ts";
import { createServiceManager, type ServiceManager, takeManagerVariables } from "#adapters/service-manager/index.ts";
import { createHostUnits, ownServiceUnit } from "#adapters/systemd/index.ts";
import { certName } from "#adapters/tls/files.ts";
import { openTokenLedger } from "#adapters/token-ledger/index.ts";
import { createWindowStore } from "#adapters/window-store/index.ts";
import { createTraceParts } from "#app/tracing/receiver.ts";
import { createHostTracing, createTracedParts, type TracedParts } from "#app/tracing/tracing.ts";
import { cleanIo, ioOfProcess } from "#cli/index.ts";
import { isLoopbackAddress, localUrl } from "#config/address.ts";
import { builtInCheckIds } from "#config/checks.ts";
import { connectorSettings } from "#config/connectors.ts";
import { formatFault, SettingsFaulty } from "#config/faults.ts";
import type { Config } from "#config/load.ts";
import type { Settings } from "#config/settings.ts";
import { ownSockets } from "#config/socket-places.ts";
import { roles } from "#contract/scopes.ts";
import type { Keyring } from "#domain/access/keyring.ts";
import { auditEvent } from "#domain/audit/entry.ts";
import type { Probe } from "#domain/health/ports.ts";
import type { Prober } from "#domain/health/prober.ts";
import { lookAtOwn, statusWords } from "#domain/health/sign-of-life.ts";
import { createServicePolicy } from "#domain/system/service-policy.ts";
import { lazy } from "#kernel/async.ts";
import { errorMessage } from "#kernel/errors.ts";
import { isAtDoor, places } from "#root/places.ts";
import { unitsThroughDoor } from "#root/through-door.ts";
import { createService, type Service } from "#service/index.ts";
import type { Logger, Logs } from "#telemetry/logger.ts";
import { createMetrics } from "#telemetry/metrics.ts";
import { onceAMinute } from "#telemetry/repeated-trouble.ts";
import { listen } from "#transports/http/listen.ts";
import { adminKeyFile } from "../admin-key-file.ts";
import { createHostAlerting } from "./alerting.ts";
import { type HostAudit, openHostAudit } from "./audit.ts";
import { createHostChecks } from "./checks.ts";
import { taskProgram } from "./operation-program.ts";
import { type HostTls, openHostTls } from "./tls.ts";

/** What the audit log says of an admin key that a start has made. */
const keyMade = "key.made";
/** How long requests in flight may go on after SIGTERM before they are told to end, and then are cut. */
const drainMs = 3_000;
const cutMs = 1_000;
/** How long after the start what is seldom needed is loaded. */
const restMs = 1_000;
/** How often last uses of keys are written. */
const flushIntervalMs = 60_000;

/** The connectors of settings, environment and this machine. */
async function loadConnectors({ settings }: Config, { connectorsOf, requestOptions }: TracedParts) {
  // Loaded on demand: asking providers takes libraries that nothing else has use for.
  const { createConnectorPlan, createDiscovery } = await import("#adapters/llm/index.ts");
  const described = connectorSettings(settings);
  return connectorsOf({
    plan: createConnectorPlan(described, process.env, requestOptions),
    discovery: createDiscovery(described, process.env, requestOptions),
  });
}

/** What takes effect without a restart. */
const reloadable: readonly (keyof Settings)[] = ["connectors", "plugins", "tls"];

/** Parts that differ and that only a restart makes use of. */
function partsForRestart(before: Settings, after: Settings): readonly string[] {
  const parts = new Set([...Object.keys(before), ...Object.keys(after)] as (keyof Settings)[]);
  return [...parts].filter(
    (part) => !reloadable.includes(part) && JSON.stringify(before[part]) !== JSON.stringify(after[part]),
  );
}

/** Reads the settings again, one time after the other. A faulty file changes nothing. */
function createReload(ports: {
  readonly config: Config;
  readonly load: () => Promise<Config>;
  readonly service: Pick<Service, "replaceConnectors" | "replacePluginFolders">;
  readonly traced: TracedParts;
  readonly tls: Pick<HostTls, "reload">;
  readonly manager: Pick<ServiceManager, "reload">;
  readonly log: Logger;
}): () => void {
  const { config, load, service, traced, tls, manager, log } = ports;
  const reload = async (): Promise<void> => {
    try {
      const next = await load();
      await tls.reload(next);
      const { plan, discovery } = await loadConnectors(next, traced);
      service.replaceConnectors(plan, discovery);
      const { pluginFoldersOf } = await import("./plugin-folders.ts");
      service.replacePluginFolders(pluginFoldersOf(next.settings, isAtDoor(config.stateDir)));
      log.info({ connectors: plan.connectors.map(({ name }) => name) }, "settings reloaded");
      const parts = partsForRestart(config.settings, next.settings);
      if (parts.length > 0) log.warn({ parts }, "settings changed that take effect with a restart");
    } catch (error) {
      if (!(error instanceof SettingsFaulty)) {
        log.error({ err: error }, "settings not reloaded");
        return;
      }
      for (const fault of error.faults) log.error({ fault: formatFault(fault) }, "settings not reloaded");
    }
  };
  let last = Promise.resolve();
  return () => {
    last = last.then(() => manager.reload(reload));
  };
}

/** What the service is to show when it looks at itself. */
function ownTls({ current }: HostTls): OwnTls | undefined {
  const tls = current();
  if (tls === undefined) return undefined;
  return { cert: () => (current() ?? tls).cert, asksForCertificate: tls.clients?.isRequired ?? false };
}

/**
 * Whether a key was ever made here. A store without keys is that of a first start, perhaps of one that was interrupted: keys are
 * never deleted.
 */
async function knowsOfKeys(audit: Pick<HostAudit, "list">): Promise<boolean> {
  const any = { since: undefined, until: undefined, keyId: undefined, outcome: undefined, cursor: undefined };
  const { entries } = await audit.list({ ...any, operation: keyMade, limit: 1 }, new AbortController().signal);
  return entries.length > 0;
}

/** Makes the admin key when there is no key at all, or when a further one was asked for. */
function ensureAdminKey(
  keyring: Keyring,
  stateDir: string,
  isAsked: boolean,
): { readonly path: string; readonly id: string } | undefined {
  if (keyring.list().length > 0 && !isAsked) return undefined;
  // The file comes first: a key in the store alone, after a crash between the two, would be one that nobody has.
  const path = join(stateDir, adminKeyFile);
  const { record } = keyring.create({ name: "admin", scopes: roles.admin, expiresAt: null }, (text) =>
    writeFileAtomic(path, `${text}\n`),
  );
  return { path, id: record.id };
}

/** A word of the shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** Tells a person at the terminal where the key is, with a line that works when pasted. */
function announceKey(path: string, url: string, config: Config, certNames: readonly string[]): void {
  const { host, port } = new URL(url);
  const [name] = certNames;
  const isGiven = typeof config.tls === "object";
  const trusted = isGiven ? config.tls.cert : `${config.stateDir}/${certName}`;
  const trust = config.tls === "off" ? "" : ` --cacert ${quoted(trusted)}`;
  const isAsked = isGiven && config.tls.client_certs === "required";
  const own = isAsked ? " --cert CERTIFICATE --key KEY" : "";
  // A given certificate is seldom for the loopback address.
  const isElsewhere = isGiven && name !== undefined;
  const route = isElsewhere ? ` --connect-to ${name}:${port}:${host}` : "";
  const base = isElsewhere ? `https://${name}:${port}` : url;
  cleanIo(ioOfProcess(process)).err(
    `\nThe admin key is in ${path}. Try:\n\n  curl${trust}${own}${route} -H "X-API-Key: $(cat ${quoted(path)})" ${base}/api/v1/health\n\n`,
  );
}

/**
 * `ops` is well when both of its halves are. It is expected where systemd runs: a container without it can have a package
 * manager that answers, and still nothing here could act on the host.
 */
const opsProbe =
  (bus: Probe, packages: Probe): Probe =>
  async (signal) => {
    const results = await Promise.all([bus(signal), packages(signal)]);
    const [busResult, packageResult] = results;
    const missing = results.filter((result) => !result.healthy && result.expected);
    return {
      healthy: busResult.healthy && missing.length === 0,
      expected: busResult.expected,
      ...(missing.length > 0 || !busResult.healthy
        ? { reason: [busResult, packageResult].flatMap((result) => result.reason ?? []).join("; ") }
        : {}),
    };
  };

/**
 * Runs the service until SIGTERM or SIGINT, then lets requests in flight finish.
 * @throws Error when it cannot start: settings, state folder, key store, address.
 */
export async function serve(
  config: Config,
  options: { version: string; logs: Logs; newAdminKey: boolean; isSafeMode: boolean; reload: () => Promise<Config> },
): Promise<void> {
  const { version, logs, newAdminKey, isSafeMode, reload } = options;
  const { log } = logs;
  // Whatever is written from here on is for this user alone.
  process.umask(0o077);
  const stopped = Promise.withResolvers<string>();
  // For good: Ctrl-C reaches a service that npm has started twice, once from the terminal and once from npm.
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => stopped.resolve(signal));

  const manager = createServiceManager({
    variables: takeManagerVariables(process.env, process.pid),
    // A sign of life is nothing that anybody looks for in traces.
    exec: execUntraced,
    clock: systemClock,
    monotonicUsec: () => process.hrtime.bigint() / 1_000n,
    onTrouble: (error) => log.warn({ err: error }, "service manager not told"),
  });
  const passed = takePassedSockets(process.env, process.pid);
  manager.starting();

  // A wish for it that comes before there is something to reload is remembered; without a listener it would end the process.
  let wantsReload = false;
  let onHangup = (): void => {
    wantsReload = true;
  };
  process.on("SIGHUP", () => onHangup());

  for (const warning of config.warnings) log.warn({ setting: warning }, "settings");

  // Opened in the order of need, closed in reverse.
  const closers: (() => void)[] = [];
  prepareStateDir(config.stateDir);
  const tls = await openHostTls(config, { clock: systemClock, log });
  let lostStore: LostKeyStore | undefined;
  const replaceLost = (lost: LostKeyStore): void => {
    lostStore = lost;
    log.warn(lost, "key store replaced, all former keys are gone");
  };
  const store = openKeyStore({ stateDir: config.stateDir, replaceLost: newAdminKey ? replaceLost : undefined });
  closers.push(store.dispose);
  const audit = openHostAudit(config, { clock: systemClock, log });
  if (lostStore === undefined && store.keys().length === 0 && (await knowsOfKeys(audit))) {
    const reason = "it has no keys, but the audit log knows of one";
    if (!newAdminKey) throw lostKeys(config.stateDir, reason);
    replaceLost({ reason, aside: undefined });
  }
  closers.push(audit.dispose);
  audit.started(version, isAtDoor(config.stateDir));
  if (lostStore !== undefined) {
    const { reason, aside = "nowhere" } = lostStore;
    audit.record(auditEvent("keystore.replaced", systemClock.now(), { target: { reason, aside } }));
  }
  const host = createHostFacts({ clock: systemClock });
  closers.push(host.dispose);
  let prober: Prober | undefined;
  const metrics = createMetrics();
  const tracing = await createHostTracing(config, { version, log, onSpans: metrics.traceSpans });
  const traceParts = createTraceParts(config, { version, log, onSpans: metrics.traceSpans });
  const tracer = tracing?.tracer ?? traceParts.own?.tracer;
  const traced = await createTracedParts(tracer);
  const { exec, startDetached } = traced;
  const systemd = createHostUnits({
    clock: systemClock,
    policy: createServicePolicy(config.settings.services),
    observe: traced.observeCall,
    onStateChange({ up, reason }) {
      if (up) log.info("system bus connected");
      else log.warn({ reason }, "system bus lost");
      // A lost bus shows in the health status at once, not at the next probe.
      void prober?.probeNow("ops");
    },
  });
  closers.push(systemd.dispose);
  const journal = traced.journalOf(
    createHostJournal({
      dir: config.settings.journal?.dir,
      onUnreadable({ path, what, isFirst }) {
        metrics.journalFault();
        if (isFirst) log.warn({ path, what }, "journal file not wholly readable");
      },
    }),
  );
  closers.push(journal.dispose);

  const checkHistory = openCheckHistory({
    stateDir: config.stateDir,
    onTrouble: (error, aside) =>
      log.warn({ err: error, set_aside: aside ?? null }, "history of checks not usable, begun anew"),
  });
  closers.push(checkHistory.dispose);
  const packages = await createHostPackages({ exec, clock: systemClock, stateDir: config.stateDir });
  // A service without rights, as the package installs it, has root do what needs root.
  const door = isAtDoor(config.stateDir)
    ? (await import("#root/door.ts")).createDoor({ start: systemd.start, clock: systemClock, isSafeMode, audit })
    : undefined;
  const operationStore = door?.store ?? openOperationStore({ stateDir: config.stateDir });
  const tokenLedger = openTokenLedger({
    stateDir: config.stateDir,
    onTrouble: (error, aside) =>
      log.warn({ err: error, set_aside: aside ?? null }, "ledger of tokens not usable, budgets begun anew"),
  });
  closers.push(tokenLedger.dispose);
  const { checks, fixes, plan } = createHostChecks({
    config,
    host,
    systemd,
    journal,
    packages,
    exec,
    certificatePaths: tls.paths,
    ask: door?.ask,
  });

  const alerting = createHostAlerting({
    config,
    host,
    units: systemd.units,
    onTrouble: (error, aside) =>
      log.warn({ err: error, set_aside: aside ?? null }, "records of alerts not usable, begun anew"),
  });
  closers.push(alerting.dispose);

  const complain = onceAMinute(
    (reason, aside) => log.warn({ reason, set_aside: aside ?? null }, "cannot store used request budgets"),
    systemClock.monotonicMs,
  );
  const windows = createWindowStore({
    stateDir: config.stateDir,
    onTrouble: ({ message }, aside) => complain(message, aside),
  });

  let ownUrl = localUrl(config);
  const isRoot = process.getuid?.() === 0;
  const isGuarded = config.tls !== "off" || isLoopbackAddress(config.listen.host);
  let ownSocket: string | undefined;
  const ownEndpoint: Probe = (signal) => createEndpointProbe({ url: ownUrl, tls: ownTls(tls) })(signal);
  const service = createService({
    version,
    clock: systemClock,
    ...logs,
    metrics,
    store,
    codec: credentialCodec,
    audit,
    units: door === undefined ? systemd.units : unitsThroughDoor(systemd.units, door.ask),
    ownUnit: ownServiceUnit(),
    host,
    journal: journal.journal,
    grep: journal.grep,
    checks,
    fixes,
    createId: () => createOperationId(systemClock.now()),
    operationStore,
    taskLauncher:
      door?.launcher ??
      createTaskLauncher({
        exec,
        startDetached,
        stateDir: config.stateDir,
        program: taskProgram(config, isSafeMode),
      }),
    self: ownProcess(),
    answerFiles: openAnswerFiles({ stateDir: config.stateDir }),
    hostUpdates: lazy(async () => {
      // Loaded on demand: a service that has just started has other things to do.
      const { createHostUpdates } = await import("./updates.ts");
      return createHostUpdates({ ...config, exec }, packages, door?.ask);
    }),
    takesSnapshot: config.settings.updates?.snapshot ?? true,
    checkPlan: plan,
    checkHistory,
    loadConnectors: lazy(() => loadConnectors(config, traced)),
    tokenLedger,
    loadPlugins: lazy(async () => {
      // Loaded on demand: a host without plugins has no use for it.
      const { createHostPlugins } = await import("./plugins.ts");
      const { openConfirmedPlugins } = await import("#adapters/plugins/index.ts");
      const throughDoor = door && { ask: door.ask, confirmed: openConfirmedPlugins(places.confirmedDir) };
      return createHostPlugins(config, { exec, log, ownUnit: ownServiceUnit(), ...throughDoor });
    }),
    takenCheckIds: builtInCheckIds,
    isSafeMode,
    probes: {
      cli: (signal) => (ownSocket === undefined ? ownEndpoint : createSocketProbe(ownSocket))(signal),
      ops: opsProbe(systemd.probe, createPackageManagerProbe({ exec })),
      async security(signal) {
        const reason = store.check() ?? audit.check() ?? (isGuarded ? undefined : "TLS is off beyond loopback");
        if (reason !== undefined) return { healthy: false, expected: true, reason };
        // Whether handshakes succeed, with the certificate that is meant.
        return config.tls === "off" ? { healthy: true, expected: true } : ownEndpoint(signal);
      },
    },
    addedProbes: alerting.probes,
    alerting: alerting.parts,
    tls: tls.current(),
    certificateNames: tls.names,
    rateLimits: config.rateLimits,
    windows,
    allowedHosts: [hostname(), config.listen.host, ...config.allowedHosts],
    trustedProxies: config.trustedProxies,
    traces: traceParts.store,
    tracer,
    administrator: passed?.administrator !== undefined || isRoot ? "root" : "owner",
    metricsPublic: config.metricsPublic,
  });
  const { app, keyring } = service;
  closers.push(windows.dispose, service.flushBudgets);
  onHangup = createReload({ config, load: reload, service, traced, tls, manager, log });
  closers.push(tls.watch(service.replaceTls));
  if (wantsReload) onHangup();
  const flushUses = (): void => {
    try {
      keyring.flush();
    } catch (error) {
      // A full disk: the uses stay in memory until the next time.
      log.error({ err: error }, "last uses of keys not written");
    }
  };
  closers.push(flushUses, systemClock.every(flushIntervalMs, flushUses));

  await listen(app, config.listen).catch((error: unknown) => {
    const reason = errorMessage(error);
    throw new Error(`cannot listen on ${config.listen.host}:${config.listen.port}: ${reason}`, { cause: error });
  });
  try {
    const paths = ownSockets(config.stateDir, process.env, isRoot);
    ownSocket = await listenLocally(service.local, { passed, paths });
  } catch (error) {
    // Over TCP it is there all the same.
    log.warn({ err: error }, "cannot listen on the Unix sockets");
  }
  const address = app.server.address();
  if (typeof address === "object" && address !== null) ownUrl = localUrl(config, address.port);
  log.info(
    { url: ownUrl, socket: ownSocket ?? null, version, state_dir: config.stateDir, config_file: config.file ?? null },
    "listening",
  );
  const adminKey = ensureAdminKey(keyring, config.stateDir, newAdminKey);
  if (adminKey !== undefined) {
    const { path, id } = adminKey;
    audit.record(auditEvent(keyMade, systemClock.now(), { target: { id, name: "admin" } }));
    log.info({ path }, "admin key written");
    announceKey(path, ownUrl, config, tls.names());
  }
  const started = service.start().then(async (each) => {
    prober = each;
    closers.push(each.dispose);
    log.info("ready");
    manager.ready(lookAtOwn(ownEndpoint, service.load), async () => statusWords(ownUrl, await each.components()));
    await traceParts.open();
    // When the first requests are answered; before somebody waits for it, or an update replaces the files of this program.
    await systemClock.sleep(restMs);
    await import("./updates.ts");
  });

  const signal = await Promise.race([stopped.promise, started.then(() => stopped.promise)]);
  log.info({ signal }, "stopping");
  manager.stopping();
  service.drain();
  const closed = service.close();
  const endInTime = async (): Promise<void> => {
    await systemClock.sleep(drainMs);
    service.abort();
    await systemClock.sleep(cutMs);
    service.cut();
  };
  await Promise.race([closed, endInTime()]);
  await Promise.race([closed, systemClock.sleep(cutMs)]);
  for (const close of closers.reverse()) {
    try {
      close();
    } catch (error) {
      log.error({ err: error }, "not closed in order");
    }
  }
  // Root does it when a service without rights has ended.
  if (door === undefined) {
    try {
      const { carryOwnState } = await import("./carry.ts");
      await carryOwnState({ ...config, exec }, packages, operationStore);
    } catch (error) {
      log.error({ err: error }, "state not carried over to the next boot");
    }
  }
  await traceParts.close();
  await tracing?.close();
  await Promise.race([manager.close(), systemClock.sleep(cutMs)]);
  log.info("stopped");
}
