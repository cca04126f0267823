import { hostname } from "node:os";
import type { FastifyInstance } from "fastify";
import { createEndpointProbe, createSocketProbe } from "#adapters/endpoint/index.ts";
import { listenLocally, type PassedSockets } from "#adapters/local-sockets/index.ts";
import { openAnswerFiles } from "#adapters/operations/answers.ts";
import { describeListener } from "#adapters/sockets/index.ts";
import type { PartContext } from "#app/part.ts";
import type { Config } from "#config/load.ts";
import { ownSockets } from "#config/places.ts";
import { isLoopbackAddress, localUrl } from "#config/text.ts";
import { operations } from "#contract/index.ts";
import type { Caller, Handlers, Operations } from "#contract/operation.ts";
import { type Stream, type StreamHandlers, streams } from "#contract/streams.ts";
import type { ApprovalGate } from "#domain/access/approval-gate.ts";
import type { Keyring } from "#domain/access/keyring.ts";
import type { PlanTokens } from "#domain/access/plan-tokens.ts";
import { createRateLimiter, type Window } from "#domain/access/rate-limit.ts";
import type { Sessions } from "#domain/access/sessions.ts";
import type { WindowGate } from "#domain/access/window-gate.ts";
import type { createRefusals } from "#domain/audit/refusals.ts";
import type { AuditLog } from "#domain/ports/audit.ts";
import type { Probe } from "#domain/ports/probe.ts";
import { errnoCode, errorMessage } from "#kernel/errors.ts";
import type { Logs } from "#telemetry/logger.ts";
import type { Tracer } from "#telemetry/tracing.ts";
import { type AdmissionPorts, createAdmission } from "#transports/http/admission.ts";
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
import { createClientCertificates, type ServerTls, verifiesAnew } from "#transports/http/tls.ts";
import { addMcp } from "#transports/mcp/index.ts";
import { createRequestTools } from "#transports/mcp/request-tools.ts";
import { createStreamServer } from "#transports/ws/index.ts";
import type { TlsPart } from "./tls.ts";

const failedLogins: Window = { name: "failed", quota: 60, seconds: 60 };

export interface HttpPorts extends Pick<PartContext, "version" | "clock" | "metrics"> {
  readonly logs: Logs;
  readonly tracer: Tracer | undefined;
  readonly settings: Pick<
    Config,
    "allowedHosts" | "corsOrigins" | "trustedProxies" | "metricsPublic" | "publicAddress"
  >;
  /** Whoever may open the administrator's Unix socket: `root`, or the `owner` of a user's service. */
  readonly administrator: "root" | "owner";
  readonly access: {
    readonly keyring: Keyring;
    readonly takeBudget: AdmissionPorts["takeBudget"];
    readonly plans: PlanTokens;
    readonly sessions: Sessions;
    readonly hasEnded: (caller: Caller) => boolean;
  };
  readonly audit: { readonly log: AuditLog; readonly refusals: ReturnType<typeof createRefusals> };
  readonly handlers: Omit<Handlers<typeof operations>, "getMetrics">;
  /** The table of operations, where it is another: for tests of what no row has. */
  readonly table?: Operations;
  readonly streams: StreamHandlers<typeof streams>;
  readonly windows: Pick<WindowGate, "held">;
  readonly approvals: ApprovalGate;
  readonly tls: Pick<TlsPart, "current" | "names">;
  /** Stores answers to requests with an idempotency key; they are only in memory without it. */
  readonly answerFiles?: AnswerFiles;
  readonly onClosing: () => Promise<void>;
}

function createServer(ports: HttpPorts, shutdown: AbortSignal) {
  const { version, clock, metrics, logs, tracer, settings, access, audit, tls } = ports;
  const { keyring } = access;
  const base = settings.publicAddress?.base ?? "";
  const certificates = createClientCertificates();
  const localPeers = createLocalPeers(ports.administrator);
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
    mayPropose: ports.approvals.mayPropose,
    metricsPublic: settings.metricsPublic,
    clock,
  });
  const table = ports.table ?? operations;
  const toolsOf = createRequestTools({ app: (): FastifyInstance => server.app, relay: relayFor, operations: table });
  const server = createHttpServer({
    toolsOf,
    handlers: { ...ports.handlers, getMetrics: () => metrics.text() },
    table: ports.table,
    admit,
    logins: login,
    idempotency: createIdempotency({
      clock,
      ...(ports.answerFiles && { files: ports.answerFiles }),
      onTrouble: (error) => logs.log.error({ err: error }, "cannot store an answer"),
    }),
    plans: access.plans,
    approvals: ports.approvals,
    hasEnded: access.hasEnded,
    windows: ports.windows,
    guard: createHostGuard(settings.allowedHosts, tls.names, settings.corsOrigins, settings.publicAddress),
    audit: audit.log,
    refusals: audit.refusals,
    certificates,
    localPeers,
    ...logs,
    metrics,
    tls: tls.current(),
    trustedProxies: settings.trustedProxies,
    corsOrigins: settings.corsOrigins,
    basePath: base,
    answerHeaders: readableHeaders,
    clock,
    tracer,
    shutdown,
  });
  addConsole(server.app, base);
  const documents = {
    openapi: () => openapiDocument(version, ports.table, base),
    asyncapi: () => asyncapiDocument(version, base),
  };
  addReference(server.app, documents, base);
  const origin = settings.publicAddress?.origin ?? "";
  addMcp({
    app: server.app,
    relay: relayFor,
    operations: table,
    version,
    log: logs.log,
    approvalUrl: (id) => `${origin}${base}/console/approvals?id=${id}`,
  });
  return { ...server, certificates };
}

export function createHttpPart(ports: HttpPorts) {
  const { clock, metrics, logs, access, tls } = ports;
  const { keyring } = access;
  const shutdown = new AbortController();
  const { app, local, load, close, cut, addUpgrade, replaceTls, certificates } = createServer(ports, shutdown.signal);
  const streamServer = createStreamServer({
    handlers: ports.streams,
    clock,
    metrics,
    log: logs.log,
    onRevoked: keyring.onRevoked,
    isRevoked: (keyId) => keyring.find(keyId)?.revokedAt !== null,
    sessions: access.sessions,
    isOutdated: certificates.isOutdated,
  });
  for (const [name, { path, scope, query }] of Object.entries<Stream>(streams)) {
    const rules = { scope, narrows: "answer", keyInQuery: true } as const;
    addUpgrade({ path, access: rules, query, accept: (request) => streamServer.accept(name, request) });
  }
  closeInOrder(app, ports.onClosing);
  let current = tls.current();
  return {
    app,
    local,
    load,
    close,
    abort: () => shutdown.abort(),
    cut,
    replaceTls: (next: ServerTls): void => {
      replaceTls(next);
      if (verifiesAnew(current, next)) {
        certificates.outdate();
        streamServer.endCertified();
      }
      current = next;
    },
    stop: streamServer.close,
  };
}

function closeInOrder(app: FastifyInstance, onClosing: () => Promise<void>): void {
  let stopped: Promise<void> | undefined;
  app.addHook("preClose", (done) => {
    stopped = onClosing();
    done();
  });
  app.addHook("onClose", () => stopped);
}

export function buildHttpPart(
  context: PartContext,
  ports: Omit<HttpPorts, keyof PartContext | "settings" | "administrator" | "answerFiles"> & {
    readonly passed: PassedSockets | undefined;
  },
) {
  const { config } = context;
  const { passed, tls, logs } = ports;
  const isRoot = process.getuid?.() === 0;
  const part = createHttpPart({
    ...context,
    ...ports,
    settings: { ...config, allowedHosts: [hostname(), config.listen.host, ...config.allowedHosts] },
    administrator: passed?.administrator !== undefined || isRoot ? "root" : "owner",
    answerFiles: openAnswerFiles({ stateDir: config.stateDir }),
  });
  let url = localUrl(config);
  let socket: string | undefined;
  const endpoint: Probe = (signal) => createEndpointProbe({ url, tls: ownTls(tls) })(signal);
  return {
    ...part,
    url: () => url,
    endpoint,
    /** Probes the way of the command line. */
    probe: ((signal) => (socket === undefined ? endpoint : createSocketProbe(socket))(signal)) satisfies Probe,
    /** @throws Error when it cannot listen on the address of the settings. */
    async listen(): Promise<void> {
      await listen(part.app, config.listen).catch(async (error: unknown) => {
        const { host, port } = config.listen;
        const reason =
          errnoCode(error) === "EADDRINUSE"
            ? `${await describeListener(config.listen)} listens there (ss -ltnp 'sport = :${port}' names it to root; listen of the settings chooses another address)`
            : errorMessage(error);
        throw new Error(`cannot listen on ${host}:${port}: ${reason}`, { cause: error });
      });
      try {
        const paths = ownSockets(config.stateDir, process.env, isRoot);
        socket = await listenLocally(part.local, { passed, paths });
      } catch (error) {
        // The service is still reachable over TCP.
        logs.log.warn({ err: error }, "cannot listen on the Unix sockets");
      }
      const address = part.app.server.address();
      if (typeof address === "object" && address !== null) url = localUrl(config, address.port);
      const { version } = context;
      logs.log.info(
        { url, socket: socket ?? null, version, state_dir: config.stateDir, config_file: config.file ?? null },
        "listening",
      );
    },
  };
}

function ownTls({ current }: Pick<TlsPart, "current">) {
  const tls = current();
  if (tls === undefined) return undefined;
  return { cert: () => (current() ?? tls).cert, asksForCertificate: tls.clients?.isRequired ?? false };
}

export function securityProbe(ports: {
  readonly config: Pick<Config, "tls" | "listen">;
  readonly checks: readonly (() => string | undefined)[];
  readonly endpoint: Probe;
}): Probe {
  const { config, checks, endpoint } = ports;
  const isGuarded = config.tls !== "off" || isLoopbackAddress(config.listen.host);
  return async (signal) => {
    const reason =
      checks.map((check) => check()).find((found) => found !== undefined) ??
      (isGuarded ? undefined : "TLS is off beyond loopback");
    if (reason !== undefined) return { healthy: false, expected: true, reason };
    // A handshake shows whether the certificate works.
    return config.tls === "off" ? { healthy: true, expected: true } : endpoint(signal);
  };
}
