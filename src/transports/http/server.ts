import { randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type FastifyInstance, fastify } from "fastify";
import type { operations } from "#contract/index.ts";
import { idleConnectionMs, maxBodyBytes } from "#contract/limits.ts";
import type { Caller, Handlers, Operations } from "#contract/operation.ts";
import type { ApprovalGate } from "#domain/access/approval-gate.ts";
import type { PlanTokens } from "#domain/access/plan-tokens.ts";
import type { WindowGate } from "#domain/access/window-gate.ts";
import type { Clock } from "#kernel/clock.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import type { Auditor } from "./audit.ts";
import { type BasePath, createBasePath } from "./base-path.ts";
import { createCompression } from "./compression.ts";
import { type ConnectionLimits, type Connections, connectionLimits, watchConnections } from "./connections.ts";
import { addOptions, createCors } from "./cors.ts";
import { createDeprecatedUses } from "./deprecation.ts";
import { createEntityTags } from "./entity-tags.ts";
import { createEntrance, type EntrancePorts } from "./entrance.ts";
import { createErrorBody, createErrorReply } from "./error-reply.ts";
import { createIdempotencyHooks, type Idempotency } from "./idempotency.ts";
import { addLifecycle } from "./lifecycle.ts";
import { createUnreadablePaths, type UnreadablePaths } from "./listen.ts";
import { createOutcomes, type OutcomePorts } from "./outcome.ts";
import { createPathIndex } from "./path-methods.ts";
import type { LocalPeers, LocalServers } from "./peers.ts";
import { createPlannedCalls } from "./planned-calls.ts";
import { plainHttp, rawErrorReply, refuseMalformed } from "./raw-reply.ts";
import { addOperations, type RoutePorts } from "./routes.ts";
import {
  type ClientCertificates,
  contextOptions,
  handshakeOptions,
  logRefusals,
  replaceContext,
  type ServerTls,
} from "./tls.ts";
import { createUpgrades, type UpgradeRoute } from "./upgrade.ts";
import { createWindowHooks } from "./windows.ts";

const isGivenNone = () => () => {
  throw new Error("cannot compile a schema with Fastify");
};

/** Fastify is given no schemas: `validation.ts` checks requests, and `routes.ts` serializes answers. */
const compilersFactory = { buildSerializer: isGivenNone, buildValidator: isGivenNone };

export interface HttpPorts
  extends Pick<EntrancePorts, "admit" | "guard" | "tracer">,
    Omit<OutcomePorts, "clock" | "metrics">,
    Omit<RoutePorts, "toErrorBody" | "clock" | "begins" | "tags" | "planned" | "windows"> {
  readonly windows: Pick<WindowGate, "held">;
  readonly clock: Pick<Clock, "now" | "sleep">;
  readonly metrics: Pick<Metrics, "request" | "watchConnections" | "deprecatedRequest">;
  readonly handlers: Handlers<typeof operations>;
  /** The table of operations, where it is another. */
  readonly table?: Operations | undefined;
  readonly idempotency: Idempotency;
  readonly plans: PlanTokens;
  readonly approvals: ApprovalGate;
  readonly hasEnded: (caller: Caller) => boolean;
  readonly tls: ServerTls | undefined;
  readonly certificates: Pick<ClientCertificates, "of" | "watch" | "tcpOf">;
  readonly localPeers: Pick<LocalPeers, "watch" | "addressOf">;
  readonly trustedProxies: readonly string[];
  readonly corsOrigins: readonly string[];
  /** The path of the service behind a reverse proxy, such as `/web1`; else empty. */
  readonly basePath: string;
  /** Headers that answers may have, for pages of those origins. */
  readonly answerHeaders: readonly string[];
}

const headersTimeoutMs = 10_000;
const requestTimeoutMs = 30_000;
const keepAliveTimeoutMs = 15_000;
const checkConnectionsMs = 5_000;
const maxHeaderBytes = 16 * 1024;
/** Longest path parameter; unit names have at most 255 characters. */
const maxParamLength = 1024;

const serverOptions = {
  maxHeaderSize: maxHeaderBytes,
  headersTimeout: headersTimeoutMs,
  requestTimeout: requestTimeoutMs,
  keepAliveTimeout: keepAliveTimeoutMs,
  connectionsCheckingInterval: checkConnectionsMs,
  // A missing Host is refused by the guard, with an error body.
  requireHostHeader: false,
  // Repeated Host and credential headers are joined instead of dropped: they are malformed then, and refused.
  joinDuplicateHeaders: true,
};

const fullLogTurnMs = 60_000;

/** Logs at most once a minute that connections were ended or refused. */
function createFullLog({ log, clock }: Pick<HttpPorts, "log" | "clock">): () => void {
  let last = Number.NEGATIVE_INFINITY;
  let count = 0;
  return () => {
    count += 1;
    const now = clock.now();
    if (now - last < fullLogTurnMs && now >= last) return;
    log.warn({ connections: count }, "too many connections: some were ended or refused");
    last = now;
    count = 0;
  };
}

const closeServer = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    if (!server.listening) return resolve();
    server.close(() => resolve());
    server.closeIdleConnections();
  });

function createIds(): () => string {
  const prefix = randomBytes(6).toString("base64url");
  let requests = 0;
  return () => {
    requests += 1;
    return `${prefix}-${requests.toString(36)}`;
  };
}

/** Answers and records what Node reports before there is a request. */
function createRawRefusals(
  nextId: () => string,
  { addressOf }: Pick<LocalPeers, "addressOf">,
  { malformed }: Pick<Auditor, "malformed">,
  { tcpOf }: Pick<ClientCertificates, "tcpOf">,
) {
  const remoteAddressOf = (socket: Socket): string | undefined => addressOf(socket) ?? socket.remoteAddress;
  /** Bytes of the handshake, which come before those of requests. */
  const ofHandshake = new WeakMap<Socket, number>();
  return {
    watch: (server: Server): void => {
      server.on("secureConnection", (socket: Socket) => ofHandshake.set(socket, socket.bytesRead));
    },
    malformed: (error: NodeJS.ErrnoException, socket: Socket): void => {
      const requestId = nextId();
      const remoteAddress = remoteAddressOf(socket);
      // Anyone who speaks no TLS can read no answer in it.
      const readable = error.code === plainHttp ? (tcpOf(socket) ?? socket) : socket;
      const isSilent = socket.bytesRead === (ofHandshake.get(socket) ?? 0);
      if (refuseMalformed(error, readable, requestId, isSilent))
        malformed("VALIDATION_ERROR", remoteAddress, requestId);
    },
    tunnel: ({ socket: connection }: IncomingMessage, socket: Duplex): void => {
      const requestId = nextId();
      malformed("UNAUTHORIZED", remoteAddressOf(connection), requestId);
      rawErrorReply(socket, "UNAUTHORIZED", "cannot tunnel: this is not a proxy", requestId);
    },
  };
}

type RawRefusals = ReturnType<typeof createRawRefusals>;

function createApp(
  { tls, trustedProxies }: Pick<HttpPorts, "tls" | "trustedProxies">,
  http: typeof serverOptions,
  parts: {
    readonly nextId: () => string;
    readonly base: BasePath;
    readonly rawRefusals: RawRefusals;
    readonly unreadablePaths: UnreadablePaths;
  },
): FastifyInstance {
  const app: FastifyInstance = fastify({
    logger: false,
    bodyLimit: maxBodyBytes,
    genReqId: parts.nextId,
    ...(parts.base.path !== "" && {
      rewriteUrl: ({ url = "" }: Pick<IncomingMessage, "url">) => parts.base.strip(url),
    }),
    connectionTimeout: idleConnectionMs,
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: keepAliveTimeoutMs,
    forceCloseConnections: "idle",
    return503OnClosing: false,
    trustProxy: trustedProxies.length === 0 ? false : [...trustedProxies],
    routerOptions: { maxParamLength },
    schemaController: { compilersFactory },
    clientErrorHandler: parts.rawRefusals.malformed,
    frameworkErrors: (error, request, reply) => parts.unreadablePaths.reroute(app, error, request, reply),
    ...(tls === undefined
      ? { http }
      : {
          https: { ...http, ...contextOptions(tls), ...handshakeOptions(tls), handshakeTimeout: headersTimeoutMs },
        }),
  });
  return app;
}

function createLocalServers(app: FastifyInstance, http: typeof serverOptions, { malformed }: RawRefusals) {
  const create = (): Server =>
    createServer(http, (request, response) => app.routing(request, response))
      .setTimeout(idleConnectionMs)
      .on("clientError", malformed);
  const servers: LocalServers = { members: create(), administrator: create() };
  let isClosing = false;
  let closed: Promise<unknown> = Promise.resolve();
  app.addHook("preClose", (done) => {
    isClosing = true;
    closed = Promise.all(Object.values(servers).map(closeServer));
    done();
  });
  return { servers, isClosing: () => isClosing, closed: () => closed };
}

/** The HTTP server: one route for each row of the operations table. */
export function createHttpServer(ports: HttpPorts) {
  const { handlers, log, metrics, certificates, localPeers, trustedProxies } = ports;
  const nextId = createIds();
  const toErrorBody = createErrorBody(log, ports.shutdown);
  const outcomes = createOutcomes(ports);
  const base = createBasePath(ports.basePath);
  const upgrades = createUpgrades(base, outcomes.answered);
  const unreadablePaths = createUnreadablePaths();
  const rawRefusals = createRawRefusals(nextId, localPeers, outcomes.auditor, certificates);
  const http = { ...serverOptions, shouldUpgradeCallback: upgrades.isUpgrade };
  const app = createApp(ports, http, { nextId, base, rawRefusals, unreadablePaths });
  const local = createLocalServers(app, http, rawRefusals);
  localPeers.watch(local.servers);
  const connections: Connections[] = [];
  const cors = createCors(ports.corsOrigins, ports.answerHeaders);
  const paths = createPathIndex();
  const windows = createWindowHooks(ports.windows, ports.approvals);
  const countDeprecated = createDeprecatedUses(ports);

  addLifecycle(app, {
    entrance: createEntrance({
      ...ports,
      cors,
      localAddressOf: localPeers.addressOf,
      admitted(socket) {
        for (const each of connections) each.admitted(socket);
      },
      abandoned: outcomes.abandoned,
      pathError: unreadablePaths.errorOf,
      paths,
    }),
    base,
    idempotency: createIdempotencyHooks(ports.idempotency, ports.hasEnded),
    windows,
    audit: outcomes.auditor,
    compression: createCompression(),
    paths,
    replyError: createErrorReply(toErrorBody),
    answered(request, reply) {
      outcomes.answered(request, reply);
      countDeprecated(request);
      // A kept-alive connection would keep the process alive.
      if (local.isClosing()) request.raw.socket.end();
    },
  });
  const routePorts = {
    ...ports,
    windows,
    toErrorBody,
    begins: outcomes.auditor.begins,
    tags: createEntityTags(),
    planned: createPlannedCalls(ports.plans, ports.approvals),
  };
  addOperations(app, handlers, routePorts, ports.table);
  addOptions(app, paths, cors);

  const onFull = createFullLog(ports);
  const prepare = (server: Server, limits: ConnectionLimits): Connections => {
    upgrades.listen(app, server);
    // Without a listener Node answers without an error body; RFC 9110 §10.1.1 permits going on.
    server.on("checkExpectation", (request, response) => app.routing(request, response));
    server.on("connect", rawRefusals.tunnel);
    rawRefusals.watch(server);
    return watchConnections(server, { limits, trustedProxies, onFull });
  };
  const limits = connectionLimits();
  const tcp = prepare(app.server, limits.tcp);
  const { members, administrator } = local.servers;
  connections.push(tcp, prepare(members, limits.members), prepare(administrator, limits.administrator));
  metrics.watchConnections(() => connections.reduce((sum, { count }) => sum + count(), 0));
  certificates.watch(app.server);
  logRefusals(app.server, log);
  return {
    app,
    /** Servers for Unix sockets, without TLS, with connections of their own. The administrator's needs no key. */
    local: local.servers,
    load: tcp,
    /** Stops listening; resolves when requests in flight have been answered. */
    close: async (): Promise<void> => {
      await app.close();
      await local.closed();
    },
    cut: (): void => {
      for (const each of connections) each.cut();
    },
    /** Replaces the certificate for new handshakes; whether clients are asked for certificates stays as it was. */
    replaceTls: (next: ServerTls): void => replaceContext([app.server], next),
    addUpgrade: (route: UpgradeRoute): void => upgrades.add(app, route),
  };
}
