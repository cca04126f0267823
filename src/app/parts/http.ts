import type { FastifyInstance } from "fastify";
import { createEndpointProbe, createSocketProbe } from "#adapters/endpoint/index.ts";
import { listenLocally } from "#adapters/local-sockets/index.ts";
import { openAnswerFiles } from "#adapters/operations/answers.ts";
import { describeListener } from "#adapters/sockets/index.ts";
import type { PartContext } from "#app/part.ts";
import { ownSockets } from "#config/places.ts";
import { localUrl } from "#config/text.ts";
import { operations } from "#contract/index.ts";
import type { Handlers, Operations } from "#contract/operation.ts";
import { type Stream, streams } from "#contract/streams.ts";
import { createRateLimiter, type Window } from "#domain/access/rate-limit.ts";
import type { WindowGate } from "#domain/access/window-gate.ts";
import type { Probe } from "#domain/ports/probe.ts";
import { errnoCode, errorMessage } from "#kernel/errors.ts";
import { createAdmission } from "#transports/http/admission.ts";
import { asyncapiDocument } from "#transports/http/asyncapi.ts";
import { addConsole } from "#transports/http/console.ts";
import { createHostGuard } from "#transports/http/guard.ts";
import { type AnswerFiles, createIdempotency } from "#transports/http/idempotency.ts";
import { listen } from "#transports/http/listen.ts";
import { openapiDocument } from "#transports/http/openapi.ts";
import { readableHeaders } from "#transports/http/openapi-headers.ts";
import { createLocalPeers } from "#transports/http/peers.ts";
import { addReference } from "#transports/http/reference.ts";
import { relayFor } from "#transports/http/relayed.ts";
import { createHttpServer } from "#transports/http/server.ts";
import { createSessionCookies } from "#transports/http/sessions.ts";
import { createClientCertificates, verifiesAnew } from "#transports/http/tls.ts";
import { addMcp } from "#transports/mcp/index.ts";
import { createRequestTools } from "#transports/mcp/request-tools.ts";
import { createStreamServer } from "#transports/ws/index.ts";
import type { AccessPart } from "./access.ts";
import type { AuditPart } from "./audit.ts";
import type { ApprovalsPart } from "./gates.ts";
import type { HealthPart } from "./health.ts";
import type { TracesPart } from "./host.ts";
import type { LogsPart } from "./logs.ts";
import type { OperationsPart } from "./operations.ts";
import type { TlsPart } from "./tls.ts";

const failedLogins: Window = { name: "failed", quota: 60, seconds: 60 };

/** The handlers of all parts. */
export type PartHandlers = Omit<Handlers<typeof operations>, "getMetrics">;

interface Earlier {
  readonly access: Pick<AccessPart, "keyring" | "takeBudget" | "plans" | "sessions" | "hasEnded">;
  readonly audit: Pick<AuditPart, "log" | "refusals">;
  readonly traces: Pick<TracesPart, "tracer">;
  readonly windows: { readonly gate: Pick<WindowGate, "held"> };
  readonly approvals: Pick<ApprovalsPart, "gate">;
  readonly tls: Pick<TlsPart, "current" | "names" | "watch">;
  readonly logs: Pick<LogsPart, "stream">;
  readonly health: Pick<HealthPart, "stream">;
  readonly operations: Pick<OperationsPart, "stream">;
  readonly all: { readonly handlers: PartHandlers };
}

interface HttpAdapters {
  /** Anyone who may open the administrator's Unix socket: `root`, or the `owner` of a user's service. */
  readonly administrator: "root" | "owner";
  /** Stores answers to requests with an idempotency key; they are only in memory without it. */
  readonly answerFiles?: AnswerFiles | undefined;
  /** The table of operations, where it is another: for tests of what no row has. */
  readonly table?: Operations | undefined;
}

const isRoot = process.getuid?.() === 0;

const openHttp = ({ config, passed }: PartContext): HttpAdapters => ({
  administrator: passed?.administrator !== undefined || isRoot ? "root" : "owner",
  answerFiles: openAnswerFiles({ stateDir: config.stateDir }),
});

function createServer(context: PartContext, earlier: Earlier, adapters: HttpAdapters, shutdown: AbortSignal) {
  const { config, version, clock, metrics, log, requestLog, hostName } = context;
  const { access, audit, traces, windows, approvals, tls } = earlier;
  const { keyring } = access;
  const base = config.publicAddress?.base ?? "";
  const certificates = createClientCertificates();
  const localPeers = createLocalPeers(adapters.administrator);
  const { admit, login } = createAdmission({
    authenticate: keyring.authenticate,
    identify: keyring.identify,
    sessions: access.sessions,
    hasEnded: access.hasEnded,
    cookies: createSessionCookies(base),
    certificates,
    localPeers,
    takeBudget: access.takeBudget,
    takeFailure: createRateLimiter({ clock, windows: [failedLogins] }).take,
    mayPropose: approvals.gate.mayPropose,
    metricsPublic: config.metricsPublic,
    clock,
  });
  const table = adapters.table ?? operations;
  const toolsOf = createRequestTools({ app: (): FastifyInstance => server.app, relay: relayFor, operations: table });
  const server = createHttpServer({
    toolsOf,
    handlers: { ...earlier.all.handlers, getMetrics: () => metrics.text() },
    table: adapters.table,
    admit,
    logins: login,
    idempotency: createIdempotency({
      clock,
      ...(adapters.answerFiles && { files: adapters.answerFiles }),
      onTrouble: (error) => log.error({ err: error }, "cannot store an answer"),
    }),
    plans: access.plans,
    approvals: approvals.gate,
    hasEnded: access.hasEnded,
    windows: windows.gate,
    guard: createHostGuard(
      [hostName(), config.listen.host, ...config.allowedHosts],
      tls.names,
      config.corsOrigins,
      config.publicAddress,
    ),
    audit: audit.log,
    refusals: audit.refusals,
    certificates,
    localPeers,
    log,
    requestLog,
    metrics,
    tls: tls.current(),
    trustedProxies: config.trustedProxies,
    corsOrigins: config.corsOrigins,
    basePath: base,
    answerHeaders: readableHeaders,
    clock,
    tracer: traces.tracer,
    shutdown,
  });
  addConsole(server.app, base);
  const documents = {
    openapi: () => openapiDocument(version, adapters.table, base),
    asyncapi: () => asyncapiDocument(version, base),
  };
  addReference(server.app, documents, base);
  const origin = config.publicAddress?.origin ?? "";
  addMcp({
    app: server.app,
    relay: relayFor,
    operations: table,
    version,
    log,
    approvalUrl: (id) => `${origin}${base}/console/approvals?id=${id}`,
  });
  return { ...server, certificates };
}

/** The server, which calls the handlers of all parts. */
export function httpPart(context: PartContext, earlier: Earlier, adapters = openHttp(context)) {
  const { config, version, clock, metrics, log, passed } = context;
  const { access, tls, logs, health, operations: running } = earlier;
  const { keyring } = access;
  const shutdown = new AbortController();
  const server = createServer(context, earlier, adapters, shutdown.signal);
  const { app, local, load, close, cut, addUpgrade, certificates } = server;
  const streamServer = createStreamServer({
    handlers: { logs: logs.stream, health: health.stream, operations: running.stream },
    clock,
    metrics,
    log,
    onRevoked: keyring.onRevoked,
    isRevoked: (keyId) => keyring.find(keyId)?.revokedAt !== null,
    sessions: access.sessions,
    isOutdated: certificates.isOutdated,
  });
  for (const [name, { path, scope, query }] of Object.entries<Stream>(streams)) {
    const rules = { scope, narrows: "answer", keyInQuery: true } as const;
    addUpgrade({ path, access: rules, query, accept: (request) => streamServer.accept(name, request) });
  }
  let current = tls.current();
  const stopWatching = tls.watch((next) => {
    server.replaceTls(next);
    if (verifiesAnew(current, next)) {
      certificates.outdate();
      streamServer.endCertified();
    }
    current = next;
  });
  let url = localUrl(config);
  let socket: string | undefined;
  const endpoint: Probe = (signal) => createEndpointProbe({ url, tls: ownTls(tls) })(signal);
  return {
    app,
    local,
    load,
    close,
    abort: () => shutdown.abort(),
    cut,
    /** What is to be done while the last requests are answered. */
    onClosing: (work: () => Promise<void>): void => closeInOrder(app, work),
    url: () => url,
    endpoint,
    /** Probes the way of the command line. */
    probe: ((signal) => (socket === undefined ? endpoint : createSocketProbe(socket))(signal)) satisfies Probe,
    /** @throws Error when it cannot listen on the address of the settings. */
    async listen(): Promise<void> {
      await listen(app, config.listen).catch(async (error: unknown) => {
        const { host, port } = config.listen;
        const reason =
          errnoCode(error) === "EADDRINUSE"
            ? `${await describeListener(config.listen)} listens there (ss -ltnp 'sport = :${port}' names it to root; listen of the settings chooses another address)`
            : errorMessage(error);
        throw new Error(`cannot listen on ${host}:${port}: ${reason}`, { cause: error });
      });
      try {
        const paths = ownSockets(config.stateDir, process.env, isRoot);
        socket = await listenLocally(local, { passed, paths });
      } catch (error) {
        // The service is still reachable over TCP.
        log.warn({ err: error }, "cannot listen on the Unix sockets");
      }
      const address = app.server.address();
      if (typeof address === "object" && address !== null) url = localUrl(config, address.port);
      log.info(
        { url, socket: socket ?? null, version, state_dir: config.stateDir, config_file: config.file ?? null },
        "listening",
      );
    },
    stop: streamServer.close,
    dispose: stopWatching,
  };
}

export type HttpPart = ReturnType<typeof httpPart>;

function closeInOrder(app: FastifyInstance, onClosing: () => Promise<void>): void {
  let stopped: Promise<void> | undefined;
  app.addHook("preClose", (done) => {
    stopped = onClosing();
    done();
  });
  app.addHook("onClose", () => stopped);
}

function ownTls({ current }: Pick<TlsPart, "current">) {
  const tls = current();
  if (tls === undefined) return undefined;
  return { cert: () => (current() ?? tls).cert, asksForCertificate: tls.clients?.isRequired ?? false };
}
