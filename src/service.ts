import type { FastifyInstance } from "fastify";
import type { ComponentName } from "#contract/health.ts";
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
import { resourcesOf } from "#domain/access/scopes.ts";
import type { Check } from "#domain/health/check.ts";
import type { Fix } from "#domain/health/fix.ts";
import { createFixer } from "#domain/health/fixer.ts";
import type { FixPorts } from "#domain/health/fixes-registry.ts";
import { checkHandlers, healthHandlers } from "#domain/health/handlers.ts";
import type { CheckHistory, Probe } from "#domain/health/ports.ts";
import type { Prober } from "#domain/health/prober.ts";
import { startProber } from "#domain/health/prober.ts";
import type { CheckPlan } from "#domain/health/runner.ts";
import { createCheckRunner } from "#domain/health/runner.ts";
import { createHealthStream } from "#domain/health/stream.ts";
import type { Clock } from "#domain/kernel/clock.ts";
import { logsHandlers } from "#domain/logs/handlers.ts";
import type { Grep, Journal } from "#domain/logs/ports.ts";
import { createLogStream } from "#domain/logs/stream.ts";
import { beginOperation } from "#domain/operations/begin.ts";
import { operationHandlers } from "#domain/operations/handlers.ts";
import { createOperations } from "#domain/operations/operations.ts";
import type { OperationStore, ProcessIdentity, TaskLauncher } from "#domain/operations/ports.ts";
import { systemHandlers } from "#domain/system/handlers.ts";
import type { HostFacts, Units } from "#domain/system/ports.ts";
import { type LongWork, updatesHandlers } from "#domain/updates/handlers.ts";
import type { HostUpdates } from "#domain/updates/ports.ts";
import { createSecurityUpdater } from "#domain/updates/security.ts";
import { type UpdateWork, updateKinds } from "#domain/updates/verbs.ts";
import type { Logger } from "#telemetry/logger.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import { createAdmission } from "#transports/http/admission.ts";
import { createHostGuard } from "#transports/http/guard.ts";
import { type AnswerFiles, createIdempotency } from "#transports/http/idempotency.ts";
import { openapiDocument } from "#transports/http/openapi.ts";
import { addReference } from "#transports/http/reference.ts";
import { createHttpServer } from "#transports/http/server.ts";
import { createStreamServer, encodeTextFrame } from "#transports/ws/index.ts";

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
  readonly probes: Readonly<Record<ComponentName, Probe>>;
  readonly checks: readonly Check[];
  readonly fixes: (parts: Pick<FixPorts, "security">) => readonly Fix[];
  readonly checkPlan: CheckPlan;
  readonly checkHistory: CheckHistory;
  readonly tls: { readonly cert: string; readonly key: string } | undefined;
  readonly rateLimits: "off" | { readonly perMinute: number; readonly perHour: number };
  readonly allowedHosts: readonly string[];
  readonly trustedProxies: readonly string[];
  readonly metricsPublic: "loopback" | "always" | "never";
}

export interface Service {
  readonly app: FastifyInstance;
  readonly keyring: Keyring;
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

  const runner = createCheckRunner({
    checks: ports.checks,
    settings: ports.checkPlan,
    history: ports.checkHistory,
    clock,
    onRun(run) {
      const { check_id: check, status, duration_ms: durationMs, message } = run.result;
      metrics.checkRun(check, status, durationMs / 1000);
      // A check that passes from the first is no news.
      if ((run.previousStatus ?? "pass") !== status)
        log.info({ check, status, previous: run.previousStatus, message }, "check changed");
      healthStream.publish(run);
    },
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
    onTrouble: (error) => log.error({ err: error }, "operation disturbed"),
  });
  const security = createSecurityUpdater({
    host: ports.hostUpdates,
    takesSnapshot: ports.takesSnapshot,
    async apply(input, signal) {
      const wishes = { caller: undefined, touched: () => undefined, prefersAsync: false, idempotencyKey: undefined };
      const work = { kind: "updates.apply", input };
      return waitedFor(await beginOperation<UpdateApply>(operations, work, { ...wishes, signal: () => signal }));
    },
  });
  const fixer = createFixer({
    checks: ports.checks,
    fixes: ports.fixes({ security }),
    runner,
    clock,
    createId: ports.createId,
    onFixed({ operationId, checkId: check, result: { fix_id: fix, success, message, steps }, durationMs }) {
      metrics.fixRun(fix, success);
      const fields = { check, fix, operation_id: operationId, steps, duration_ms: Math.round(durationMs), message };
      if (success) log.info(fields, "check fixed");
      else log.warn(fields, "check not fixed");
    },
  });

  const longWork: LongWork = {
    async begin(kind, input, context, check) {
      const wishes = { prefersAsync: context.prefersAsync(), idempotencyKey: context.idempotencyKey() };
      return beginOperation<UpdateWork[typeof kind]["result"]>(
        operations,
        { kind, input },
        { caller: context.caller, signal: context.signal, touched: context.touched, ...wishes },
        check,
      );
    },
  };

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
      ...checkHandlers({ runner, fixer, history: ports.checkHistory, clock }),
      ...systemHandlers(ports),
      ...updatesHandlers({
        host: ports.hostUpdates,
        work: longWork,
        clock,
        takesSnapshot: ports.takesSnapshot,
      }),
      ...operationHandlers({ operations }),
      ...logsHandlers({ journal: ports.journal, clock, unitsOf }),
      ...accessHandlers({ keyring, clock }),
      getMetrics: () => metrics.text(),
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
  app.addHook("preClose", (done) => {
    streamServer.close();
    logStream.dispose();
    runner.dispose();
    fixer.dispose();
    operations.dispose();
    done();
  });

  return {
    app,
    keyring,
    async start() {
      prober = startProber({
        probes,
        clock,
        onChange(component, { healthy, expected, reason }) {
          metrics.componentUp(component, healthy);
          if (healthy) log.info({ component }, "component is well");
          else log[expected ? "warn" : "info"]({ component, reason }, "component is not well");
        },
      });
      started.resolve(prober);
      runner.start();
      await prober.components();
      isReady = true;
      return prober;
    },
    drain() {
      isReady = false;
    },
    abort: () => shutdown.abort(),
    cut,
  };
}
