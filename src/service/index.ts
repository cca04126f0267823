import { componentNames } from "#contract/health.ts";
import { checkHistoryLimit } from "#contract/limits.ts";
import type { Caller } from "#contract/operation.ts";
import { type Stream, streams } from "#contract/streams.ts";
import { accessHandlers } from "#domain/access/handlers.ts";
import { createKeyring } from "#domain/access/keyring.ts";
import { createRateLimiter, type Window } from "#domain/access/rate-limit.ts";
import { allows, resourcesOf } from "#domain/access/scopes.ts";
import { watchedStore } from "#domain/access/watched-store.ts";
import { auditHandlers } from "#domain/audit/handlers.ts";
import { createRefusals } from "#domain/audit/refusals.ts";
import { connectorHandlers } from "#domain/connectors/handlers.ts";
import { explainHandlers } from "#domain/explain/handlers.ts";
import { checkHandlers, healthHandlers } from "#domain/health/handlers.ts";
import { type Components, type Prober, startProber } from "#domain/health/prober.ts";
import { logsHandlers } from "#domain/logs/handlers.ts";
import { createLogReader } from "#domain/logs/reader.ts";
import { createLogStream } from "#domain/logs/stream.ts";
import { isWithin } from "#domain/logs/unit-pattern.ts";
import { operationHandlers } from "#domain/operations/handlers.ts";
import { pluginHandlers } from "#domain/plugins/handlers.ts";
import { createHooks } from "#domain/plugins/hooks.ts";
import { systemHandlers } from "#domain/system/handlers.ts";
import { tracesHandlers } from "#domain/traces/handlers.ts";
import { updatesHandlers } from "#domain/updates/handlers.ts";
import { createAdmission } from "#transports/http/admission.ts";
import { createHostGuard } from "#transports/http/guard.ts";
import { createIdempotency } from "#transports/http/idempotency.ts";
import { createLocalPeers } from "#transports/http/local-peers.ts";
import { openapiDocument } from "#transports/http/openapi.ts";
import { addReference } from "#transports/http/reference.ts";
import { createHttpServer } from "#transports/http/server.ts";
import { createClientCertificates, verifiesAnew } from "#transports/http/tls.ts";
import { addWelcome } from "#transports/http/welcome.ts";
import { createStreamServer, encodeTextFrame } from "#transports/ws/index.ts";
import { createAlerting } from "./alerting.ts";
import { createConnectorParts } from "./connectors.ts";
import { createHealth } from "./health.ts";
import { createLongWork } from "./long-work.ts";
import { createPluginParts } from "./plugins.ts";
import type { Service, ServicePorts } from "./ports.ts";
import { withAskingSteps } from "./update-hooks.ts";

export type { Service, ServicePorts } from "./ports.ts";

/** Failed logins of one address in a minute before it is told to wait. */
const failedLogins: Window = { name: "failed", quota: 60, seconds: 60 };

/** Keys are made by administrators: however many there are, each has its own budget. */
const maxKeys = 1_000_000;

function createBudgets({ rateLimits, clock, windows: store }: Pick<ServicePorts, "rateLimits" | "clock" | "windows">) {
  if (rateLimits === "off") return undefined;
  return createRateLimiter({
    clock,
    windows: [
      { name: "permin", quota: rateLimits.perMinute, seconds: 60 },
      { name: "perhour", quota: rateLimits.perHour, seconds: 3600, isStored: true },
    ],
    maxSubjects: maxKeys,
    ...(store && { store }),
  });
}

/** Wires the domain to the transports. Knows no adapter: what touches the host is passed in. */
export function createService(ports: ServicePorts): Service {
  const { version, clock, log, metrics, probes } = ports;
  const shutdown = new AbortController();
  const unitsOf = ({ scopes }: Caller) => resourcesOf(scopes, "logs:read");
  let isReady = false;

  const hooks = createHooks({
    clock,
    onFailure: ({ hook, event, error }) => log.warn({ plugin: hook, event, err: error }, "hook without an answer"),
  });
  const pluginsStarted = Promise.withResolvers<void>();
  let hasPlugins = false;
  const refusals = createRefusals({ log: ports.audit, clock });
  const { operations, longWork, security, takeUpEnds } = createLongWork(ports, hooks, pluginsStarted.promise);
  const { runner, healthStream, fixer } = createHealth(ports, hooks, security);
  const connecting = createConnectorParts(ports, () => prober?.probeNow("llm"));
  const { connectors, chat } = connecting;
  const extending = createPluginParts(ports, hooks, runner);
  const { plugins } = extending;

  const alerting = createAlerting({
    parts: ports.alerting,
    components: [...componentNames, ...Object.keys(ports.addedProbes)],
    clock,
    log,
    createId: ports.createId,
    onNotification: metrics.notification,
  });

  const startPlugins = async (): Promise<void> => {
    await extending.start();
    hasPlugins = true;
    pluginsStarted.resolve();
  };

  // The server must listen before the probes run, since one of them asks it; requests that come sooner wait.
  const started = Promise.withResolvers<Prober>();
  let prober: Prober | undefined;
  const probed = (): Components | Promise<Components> =>
    prober?.components() ?? started.promise.then((each) => each.components());
  const keyring = createKeyring({
    ...ports,
    store: watchedStore(ports.store, () => void prober?.probeNow("security")),
  });

  const reader = createLogReader(ports);
  const budgets = createBudgets(ports);
  const certificates = createClientCertificates();
  const localPeers = createLocalPeers(ports.administrator);
  let { tls } = ports;
  const { app, local, load, close, cut, addUpgrade, replaceTls } = createHttpServer({
    handlers: {
      ...healthHandlers({
        prober: { components: () => connecting.firstAnswer()?.then(probed) ?? probed() },
        runner,
        clock,
        version,
        isReady: () => isReady,
      }),
      ...checkHandlers({
        runner,
        fixer,
        history: ports.checkHistory,
        clock,
        ready: () => (hasPlugins ? undefined : pluginsStarted.promise),
      }),
      ...systemHandlers(ports),
      ...withAskingSteps(
        updatesHandlers({
          host: ports.hostUpdates,
          work: longWork,
          clock,
          takesSnapshot: ports.takesSnapshot,
          onChecked({ packages: { total, security: ofSecurity }, security_known: isKnown }) {
            metrics.updatesAvailable("all", total);
            if (isKnown) metrics.updatesAvailable("security", ofSecurity);
          },
        }),
        hooks,
      ),
      ...operationHandlers({ operations }),
      ...connectorHandlers({ connectors, chat }),
      ...pluginHandlers({ plugins, clock }),
      ...explainHandlers({
        sources: {
          check: runner.current,
          history: (checkId, since) => ports.checkHistory.runs(checkId, since, checkHistoryLimit.maximum).runs,
          units: ports.units.list,
          logs: (search, { keyId: owner }, signal) =>
            reader.read(
              { ...search, boot: undefined, grep: undefined, cursor: undefined, order: "asc" },
              { owner, signal },
            ),
          seesUnits: ({ scopes }) => allows(scopes, "system:read"),
          logUnitsOf: unitsOf,
          isWithin,
        },
        asking: {
          choose: async (name, caller) => (await chat.choose(name, caller)).definition.name,
          ask: chat.ask,
        },
        clock,
      }),
      ...logsHandlers({ reader, clock, unitsOf }),
      ...accessHandlers({ keyring, clock }),
      ...auditHandlers({ log: ports.audit }),
      ...alerting.handlers,
      getMetrics: () => metrics.text(),
      ...tracesHandlers({ store: ports.traces }),
    },
    admit: createAdmission({
      authenticate: keyring.authenticate,
      identify: keyring.identify,
      certificates,
      localPeers,
      takeBudget: budgets?.take,
      takeFailure: createRateLimiter({ clock, windows: [failedLogins] }).take,
      metricsPublic: ports.metricsPublic,
      clock,
    }),
    idempotency: createIdempotency({
      clock,
      ...(ports.answerFiles && { files: ports.answerFiles }),
      onTrouble: (error) => log.error({ err: error }, "answer not kept"),
    }),
    hasEnded: keyring.hasEnded,
    guard: createHostGuard(ports.allowedHosts, ports.certificateNames),
    audit: ports.audit,
    refusals,
    certificates,
    localPeers,
    log,
    requestLog: ports.requestLog,
    metrics,
    tls,
    trustedProxies: ports.trustedProxies,
    clock,
    tracer: ports.tracer,
    shutdown: shutdown.signal,
  });
  addWelcome(app);
  addReference(app, () => JSON.stringify(openapiDocument(version)));

  const logStream = createLogStream({
    ...ports,
    unitsOf,
    encode: encodeTextFrame,
    onTrouble: (error) => log.warn({ err: error }, "log stream disturbed"),
  });
  const streamServer = createStreamServer({
    handlers: { logs: logStream.open, health: healthStream.open },
    clock,
    metrics,
    log,
    onRevoked: keyring.onRevoked,
    isRevoked: (keyId) => keyring.find(keyId)?.revokedAt !== null,
    isOutdated: certificates.isOutdated,
  });
  for (const [name, { path, scope, query }] of Object.entries<Stream>(streams)) {
    const access = { scope, narrows: "answer", keyInQuery: true } as const;
    addUpgrade({ path, access, query, accept: (request) => streamServer.accept(name, request) });
  }
  // What they have started is not to outlive the service.
  app.addHook("onClose", extending.stopped);
  // After the last request.
  app.addHook("onClose", (_, done) => {
    refusals.dispose();
    done();
  });
  app.addHook("preClose", (done) => {
    streamServer.close();
    logStream.dispose();
    extending.stop();
    runner.dispose();
    fixer.dispose();
    operations.dispose();
    alerting.dispose();
    connecting.dispose();
    done();
  });

  return {
    app,
    local,
    load,
    close,
    keyring,
    replaceTls(next) {
      replaceTls(next);
      if (verifiesAnew(tls, next)) {
        certificates.outdate();
        streamServer.endCertified();
      }
      tls = next;
    },
    replaceConnectors: connecting.replace,
    replacePluginFolders: extending.replace,
    async start() {
      prober = startProber({
        probes: { ...probes, llm: connecting.probe },
        added: ports.addedProbes,
        clock,
        onChange(component, result) {
          const { healthy, expected, reason } = result;
          alerting.probed(component, result);
          metrics.componentUp(component, healthy);
          if (healthy) log.info({ component }, "component is well");
          else log[expected ? "warn" : "info"]({ component, reason }, "component is not well");
        },
      });
      started.resolve(prober);
      alerting.start();
      // What hooks hold back is not to run before they are there.
      await Promise.all([prober.components(), startPlugins().then(runner.start)]);
      isReady = true;
      takeUpEnds(shutdown.signal);
      // Only now: providers are far away, and nobody is to wait for them who does not ask for them.
      connecting.start();
      return prober;
    },
    drain() {
      isReady = false;
    },
    abort: () => shutdown.abort(),
    flushBudgets: () => budgets?.flush(),
    cut() {
      extending.tellLeft();
      cut();
    },
  };
}
