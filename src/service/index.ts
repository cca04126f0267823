import type { FastifyInstance } from "fastify";
import type { ComponentName } from "#contract/health.ts";
import { componentNames } from "#contract/health.ts";
import { checkHistoryLimit, probeIntervalMs } from "#contract/limits.ts";
import type { Caller } from "#contract/operation.ts";
import { Accepted } from "#contract/operation-entry.ts";
import type { Stream } from "#contract/streams.ts";
import { streams } from "#contract/streams.ts";
import type { UpdateApply } from "#contract/updates.ts";
import { accessHandlers } from "#domain/access/handlers.ts";
import type { Keyring } from "#domain/access/keyring.ts";
import { createKeyring } from "#domain/access/keyring.ts";
import type { AuditLog, CredentialCodec, KeyStore } from "#domain/access/ports.ts";
import type { Window } from "#domain/access/rate-limit.ts";
import { createRateLimiter } from "#domain/access/rate-limit.ts";
import { allows, resourcesOf } from "#domain/access/scopes.ts";
import { createTokenBudgets } from "#domain/connectors/budget.ts";
import { createChat } from "#domain/connectors/chat.ts";
import { type Connectors, createConnectors } from "#domain/connectors/connectors.ts";
import { connectorHandlers } from "#domain/connectors/handlers.ts";
import type { ConnectorDiscovery, ConnectorPlan, TokenLedger } from "#domain/connectors/ports.ts";
import { explainHandlers } from "#domain/explain/handlers.ts";
import type { Check } from "#domain/health/check.ts";
import type { Fix } from "#domain/health/fix.ts";
import { createFixer } from "#domain/health/fixer.ts";
import type { FixPorts } from "#domain/health/fixes-registry.ts";
import { checkHandlers, healthHandlers } from "#domain/health/handlers.ts";
import type { CheckHistory, Probe, ProbeResult } from "#domain/health/ports.ts";
import type { Prober } from "#domain/health/prober.ts";
import { startProber } from "#domain/health/prober.ts";
import type { CheckPlan } from "#domain/health/runner.ts";
import { createCheckRunner } from "#domain/health/runner.ts";
import { createHealthStream } from "#domain/health/stream.ts";
import type { Clock, Dispose } from "#domain/kernel/clock.ts";
import { logsHandlers } from "#domain/logs/handlers.ts";
import type { Grep, Journal } from "#domain/logs/ports.ts";
import { createLogStream } from "#domain/logs/stream.ts";
import { isWithin } from "#domain/logs/unit-pattern.ts";
import { beginOperation } from "#domain/operations/begin.ts";
import { operationHandlers } from "#domain/operations/handlers.ts";
import { createOperations } from "#domain/operations/operations.ts";
import type { OperationStore, ProcessIdentity, TaskLauncher } from "#domain/operations/ports.ts";
import { pluginHandlers } from "#domain/plugins/handlers.ts";
import { createHooks } from "#domain/plugins/hooks.ts";
import { createPlugins, type PluginParts } from "#domain/plugins/plugins.ts";
import type { PluginFolders } from "#domain/plugins/ports.ts";
import { systemHandlers } from "#domain/system/handlers.ts";
import type { HostFacts, Units } from "#domain/system/ports.ts";
import { tracesHandlers } from "#domain/traces/handlers.ts";
import type { TraceStore } from "#domain/traces/ports.ts";
import { type LongWork, updatesHandlers } from "#domain/updates/handlers.ts";
import type { HostUpdates } from "#domain/updates/ports.ts";
import { createSecurityUpdater } from "#domain/updates/security.ts";
import { type UpdateKind, type UpdateWork, updateKinds } from "#domain/updates/verbs.ts";
import type { Logger } from "#telemetry/logger.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import type { Tracer } from "#telemetry/tracing.ts";
import { createAdmission } from "#transports/http/admission.ts";
import { createHostGuard } from "#transports/http/guard.ts";
import { type AnswerFiles, createIdempotency } from "#transports/http/idempotency.ts";
import { openapiDocument } from "#transports/http/openapi.ts";
import { addReference } from "#transports/http/reference.ts";
import { createHttpServer } from "#transports/http/server.ts";
import { createStreamServer, encodeTextFrame } from "#transports/ws/index.ts";
import { type AlertingParts, createAlerting } from "./alerting.ts";
import { toCheck } from "./plugin-checks.ts";
import { requireConsent, withAskingSteps } from "./update-hooks.ts";

/** Everything from outside that the service works with. */
export interface ServicePorts {
  readonly version: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly requestLog: Logger;
  readonly metrics: Metrics;
  readonly store: KeyStore;
  readonly codec: CredentialCodec;
  readonly audit: AuditLog;
  readonly units: Units;
  readonly ownUnit: string | undefined;
  /** Makes an id that sorts by time and that no other operation has. */
  readonly createId: () => string;
  readonly operationStore: OperationStore;
  readonly taskLauncher: TaskLauncher;
  /** This process. */
  readonly self: ProcessIdentity;
  /** Where answers to requests with an idempotency key outlive the service; in memory alone without it. */
  readonly answerFiles?: AnswerFiles;
  /** What changes packages, and what leads back. */
  readonly hostUpdates: () => Promise<HostUpdates>;
  /** Whether an update takes a snapshot unless it is told otherwise. */
  readonly takesSnapshot: boolean;
  readonly host: HostFacts;
  readonly journal: Journal;
  readonly grep: Grep;
  /** `llm` is how the default connector is. */
  readonly probes: Readonly<Record<Exclude<ComponentName, "llm">, Probe>>;
  /** Of components that settings add, by name. */
  readonly addedProbes: Readonly<Record<string, Probe>>;
  /** Where alerts and notifications are kept, and whom they go to. */
  readonly alerting: AlertingParts;
  readonly checks: readonly Check[];
  readonly fixes: (parts: Pick<FixPorts, "security">) => readonly Fix[];
  readonly checkPlan: CheckPlan;
  readonly checkHistory: CheckHistory;
  /** The connectors of the settings, the environment and this machine. */
  readonly loadConnectors: () => Promise<{
    readonly plan: ConnectorPlan;
    readonly discovery: ConnectorDiscovery | undefined;
  }>;
  readonly tokenLedger: TokenLedger;
  /** The plugin folders of this host, and what runs plugins; asked for when there is something to do with them. */
  readonly loadPlugins: () => Promise<PluginParts>;
  /** Names that no check of a plugin may have, whether this host has such checks or not. */
  readonly takenCheckIds: readonly string[];
  /** Whether to start without any plugin. */
  readonly isSafeMode: boolean;
  readonly tls: { readonly cert: string; readonly key: string } | undefined;
  readonly rateLimits: "off" | { readonly perMinute: number; readonly perHour: number };
  readonly allowedHosts: readonly string[];
  readonly trustedProxies: readonly string[];
  readonly metricsPublic: "loopback" | "always" | "never";
  readonly traces: Pick<TraceStore, "list" | "trace">;
  /** Undefined where nothing is traced. */
  readonly tracer?: Tracer | undefined;
}

export interface Service {
  readonly app: FastifyInstance;
  readonly keyring: Keyring;
  /** Puts other connectors in place of those that there are. */
  readonly replaceConnectors: (plan: ConnectorPlan, discovery: ConnectorDiscovery | undefined) => void;
  /** Puts other plugin folders in place of those that there are. */
  readonly replacePluginFolders: (folders: PluginFolders) => void;
  /** Starts the probes, the regular runs of the checks and, after their first round, welcomes requests at `/readyz`. To be called once the address answers. */
  readonly start: () => Promise<Prober>;
  /** Turns `/readyz` to 503. */
  readonly drain: () => void;
  /** Tells handlers that still run to come to an end. */
  readonly abort: () => void;
  /** Ends every connection at once. */
  readonly cut: () => void;
}

/** The result of an operation that was waited for. */
function waitedFor<T>(answer: T | Accepted): T {
  if (answer instanceof Accepted) throw new Error("cannot wait for an operation that was only accepted");
  return answer;
}

/** How the default connector is. One that is not configured is not missed. */
function defaultConnector(connectors: Pick<Connectors, "defaultState">): ProbeResult {
  const { name, status, reason } = connectors.defaultState();
  if (name === null)
    return { healthy: false, expected: false, reason: "there is no connector, or none was looked for yet" };
  if (status === "connected") return { healthy: true, expected: true };
  const isExpected = status !== undefined && status !== "not_configured";
  return { healthy: false, expected: isExpected, reason: `connector ${name}: ${reason ?? "not asked yet"}` };
}

/** Failed logins of one address in a minute before it is told to wait. */
const failedLogins: Window = { name: "failed", quota: 60, seconds: 60 };

function budget({ rateLimits, clock }: Pick<ServicePorts, "rateLimits" | "clock">) {
  if (rateLimits === "off") return undefined;
  const limiter = createRateLimiter({
    clock,
    windows: [
      { name: "permin", quota: rateLimits.perMinute, seconds: 60 },
      { name: "perhour", quota: rateLimits.perHour, seconds: 3600 },
    ],
  });
  return limiter.take;
}

/** Wires the domain to the transports. Knows no adapter: what touches the host is passed in. */
export function createService(ports: ServicePorts): Service {
  const { version, clock, log, metrics, probes } = ports;
  const keyring = createKeyring(ports);
  const shutdown = new AbortController();
  const unitsOf = ({ scopes }: Caller) => resourcesOf(scopes, "logs:read");
  let isReady = false;

  const hooks = createHooks({
    clock,
    onFailure: ({ hook, event, error }) => log.warn({ plugin: hook, event, err: error }, "hook without an answer"),
  });
  const pluginsStarted = Promise.withResolvers<void>();
  let hasPlugins = false;
  const consent = async <K extends UpdateKind>(
    kind: K,
    input: UpdateWork[K]["input"],
    keyId: string | null,
  ): Promise<void> => {
    // Hooks that are about to be there are not passed by.
    await pluginsStarted.promise;
    await requireConsent(hooks, kind, input, keyId);
  };
  const runner = createCheckRunner({
    checks: ports.checks,
    settings: ports.checkPlan,
    history: ports.checkHistory,
    clock,
    onRun(run) {
      const { check_id: check, status, duration_ms: durationMs, message, details } = run.result;
      metrics.checkRun(check, status, durationMs / 1000);
      // It looks by itself, without anybody who asks for updates.
      if (check === "security_updates" && "pending" in details && typeof details.pending === "number")
        metrics.updatesAvailable("security", details.pending);
      // A check that passes from the first is no news.
      if ((run.previousStatus ?? "pass") !== status)
        log.info({ check, status, previous: run.previousStatus, message }, "check changed");
      healthStream.publish(run);
      if (hooks.names("post_check").length > 0)
        void hooks.tell("post_check", { ...run.result, previous_status: run.previousStatus ?? null });
    },
    onGone(check) {
      metrics.checkGone(check);
      healthStream.forget(check);
    },
    hooks,
    onTrouble: (error) => log.warn({ err: error }, "history of checks cannot be used"),
  });
  const healthStream = createHealthStream({
    runner,
    encode: encodeTextFrame,
    onTrouble: (error) => log.warn({ err: error }, "checks not run for a client"),
  });

  const operations = createOperations({
    store: ports.operationStore,
    launcher: ports.taskLauncher,
    clock,
    createId: ports.createId,
    kinds: updateKinds,
    self: ports.self,
    traceparent: () => ports.tracer?.headers()["traceparent"],
    onTrouble: (error) => log.error({ err: error }, "operation disturbed"),
  });
  const security = createSecurityUpdater({
    host: ports.hostUpdates,
    takesSnapshot: ports.takesSnapshot,
    async apply(input, signal, onOperation) {
      const touched = ({ operation_id: id = "" }: Readonly<Record<string, string>>): void => onOperation(id);
      const wishes = { caller: undefined, touched, prefersAsync: false, idempotencyKey: undefined };
      const kind = "updates.apply";
      const context = { ...wishes, signal: () => signal };
      const ask = (): Promise<void> => consent(kind, input, null);
      return waitedFor(await beginOperation<UpdateApply>(operations, { kind, input }, context, ask));
    },
  });
  const fixer = createFixer({
    fixes: ports.fixes({ security }),
    runner,
    hooks,
    clock,
    createId: ports.createId,
    onFixed({ operationId, checkId: check, result, durationMs }) {
      const { fix_id: fix, success, message, steps } = result;
      metrics.fixRun(fix, success);
      const fields = { check, fix, operation_id: operationId, steps, duration_ms: Math.round(durationMs), message };
      if (success) log.info(fields, "check fixed");
      else log.warn(fields, "check not fixed");
      if (hooks.names("post_fix").length > 0)
        void hooks.tell("post_fix", { operation_id: operationId, check_id: check, fix_id: fix, result });
    },
  });

  const longWork: LongWork = {
    async begin(kind, input, context, check) {
      const wishes = { prefersAsync: context.prefersAsync(), idempotencyKey: context.idempotencyKey() };
      return beginOperation<UpdateWork[typeof kind]["result"]>(
        operations,
        { kind, input },
        { caller: context.caller, signal: context.signal, touched: context.touched, ...wishes },
        async () => {
          await check?.();
          await consent(kind, input, context.caller?.keyId ?? null);
        },
      );
    },
  };

  const connectorsTrouble = (error: unknown): void => log.error({ err: error }, "connectors disturbed");
  /** What is found of the default connector shows in the health status at once, not at the next probe. */
  const showDefault = (): void => void prober?.probeNow("llm");
  const connectors = createConnectors({
    load: ports.loadConnectors,
    clock,
    onChange({ connector, status, reason }) {
      if (status === "connected") log.info({ connector }, "connector answers");
      else log.warn({ connector, status, reason }, "connector does not answer");
      showDefault();
    },
    onTrouble: connectorsTrouble,
  });
  let stopConnectors: Dispose | undefined;
  const chat = createChat({
    connectors,
    budgets: createTokenBudgets({
      ledger: ports.tokenLedger,
      clock,
      onTrouble: (error) => log.error({ err: error }, "used tokens not written"),
    }),
    clock,
    covers: ({ scopes }, connector) => allows(scopes, "connectors:chat", connector),
    onCall({ connector, result, durationMs, usage }) {
      const tokens = usage && { input: usage.input_tokens, output: usage.output_tokens };
      metrics.modelCall({ connector, result, seconds: durationMs / 1000, tokens });
    },
  });

  const pluginCheckIds = new Set<string>();
  const plugins = createPlugins({
    load: ports.loadPlugins,
    isSafeMode: ports.isSafeMode,
    clock,
    points: {
      hooks,
      checks: {
        isTaken: (id) => ports.takenCheckIds.includes(id) || ports.checks.some((check) => check.id === id),
        add(check) {
          pluginCheckIds.add(check.id);
          return runner.add(toCheck(check, ports.checkPlan));
        },
      },
    },
    onRun: ({ plugin, result }) => metrics.pluginRun(plugin, result),
    onLoaded: (sandbox) => log.info({ sandbox }, "plugins are run in a sandbox"),
    onGone: metrics.pluginGone,
    onFault: (fault) => log.warn(fault, "enabled plugin does not run"),
  });
  const pluginsTrouble = (error: unknown): void => log.error({ err: error }, "plugins not loaded");
  const startPlugins = async (): Promise<void> => {
    await plugins.start().catch(pluginsTrouble);
    hasPlugins = true;
    pluginsStarted.resolve();
    const isKnown = (id: string): boolean => pluginCheckIds.has(id) || ports.checks.some((check) => check.id === id);
    const unknown = Object.keys(ports.checkPlan.checks).filter((id) => !isKnown(id));
    if (unknown.length > 0) log.warn({ checks: unknown }, "settings for checks that do not exist");
  };

  const alerting = createAlerting({
    parts: ports.alerting,
    components: [...componentNames, ...Object.keys(ports.addedProbes)],
    clock,
    log,
    createId: ports.createId,
    onNotification: metrics.notification,
  });

  // The server must listen before the probes run, since one of them asks it; requests that come sooner wait.
  const started = Promise.withResolvers<Prober>();
  let prober: Prober | undefined;

  const { app, cut, addUpgrade } = createHttpServer({
    handlers: {
      ...healthHandlers({
        prober: { components: () => prober?.components() ?? started.promise.then((each) => each.components()) },
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
          logs: (search, signal) =>
            ports.journal.query(
              { ...search, boot: undefined, grep: undefined, cursor: undefined, order: "asc" },
              signal,
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
      ...logsHandlers({ journal: ports.journal, clock, unitsOf }),
      ...accessHandlers({ keyring, clock }),
      ...alerting.handlers,
      getMetrics: () => metrics.text(),
      ...tracesHandlers({ store: ports.traces }),
    },
    admit: createAdmission({
      authenticate: keyring.authenticate,
      takeBudget: budget(ports),
      takeFailure: createRateLimiter({ clock, windows: [failedLogins] }).take,
      metricsPublic: ports.metricsPublic,
      clock,
    }),
    idempotency: createIdempotency({
      clock,
      ...(ports.answerFiles && { files: ports.answerFiles }),
      onTrouble: (error) => log.error({ err: error }, "answer not kept"),
    }),
    guard: createHostGuard(ports.allowedHosts),
    audit: ports.audit,
    log,
    requestLog: ports.requestLog,
    metrics,
    tls: ports.tls,
    trustedProxies: ports.trustedProxies,
    clock,
    tracer: ports.tracer,
    shutdown: shutdown.signal,
  });
  let documentJson: string | undefined;
  addReference(app, () => {
    documentJson ??= JSON.stringify(openapiDocument(version));
    return documentJson;
  });

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
  });
  for (const [name, { path, scope, query }] of Object.entries<Stream>(streams)) {
    const access = { scope, narrows: "answer", keyInQuery: true } as const;
    addUpgrade({ path, access, query, accept: (request) => streamServer.accept(name, request) });
  }
  let pluginsStopped: Promise<void> | undefined;
  const pluginsNotEnded = (error: unknown): void => log.error({ err: error }, "plugins not ended in order");
  // What they have started is not to outlive the service.
  app.addHook("onClose", () => pluginsStopped);
  app.addHook("preClose", (done) => {
    streamServer.close();
    logStream.dispose();
    pluginsStopped = plugins.stop().catch(pluginsNotEnded);
    runner.dispose();
    fixer.dispose();
    operations.dispose();
    alerting.dispose();
    stopConnectors?.();
    connectors.dispose();
    done();
  });

  return {
    app,
    keyring,
    replaceConnectors: (plan, discovery) =>
      void connectors.replace(plan, discovery).then(showDefault, connectorsTrouble),
    replacePluginFolders: (folders) => void plugins.replace(folders).catch(pluginsTrouble),
    async start() {
      prober = startProber({
        probes: { ...probes, llm: () => Promise.resolve(defaultConnector(connectors)) },
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
      // Only now: providers are far away, and nobody is to wait for them who does not ask for them.
      const probeConnectors = (): void => void connectors.probe().then(showDefault, connectorsTrouble);
      stopConnectors = clock.every(probeIntervalMs, probeConnectors);
      probeConnectors();
      return prober;
    },
    drain() {
      isReady = false;
    },
    abort: () => shutdown.abort(),
    cut() {
      const left = plugins.running();
      if (left.length > 0) log.error({ plugins: left }, "plugins not ended in time");
      cut();
    },
  };
}
