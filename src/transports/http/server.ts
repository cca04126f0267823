import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { SchemaObject } from "ajv";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { fastify } from "fastify";
import { operations } from "#contract/index.ts";
import { apiBase, maxBodyBytes } from "#contract/limits.ts";
import type { Caller, Context, Handlers, Operation } from "#contract/operation.ts";
import type { AuditLog } from "#domain/access/ports.ts";
import { DomainError } from "#domain/kernel/error.ts";
import type { Logger } from "#telemetry/logger.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import type { RouteAccess } from "./admission.ts";
import { createErrorReply } from "./error-reply.ts";
import { rawErrorReply, refuseMalformed } from "./raw-reply.ts";
import { createRecorder } from "./record.ts";
import { withoutSecrets } from "./redact.ts";
import { createPartCheck } from "./validation.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** Who may use the route; absent on paths that have no operation. */
    access?: RouteAccess;
    /** Route template, the label of the metrics. */
    endpoint?: string;
    /** The operation, where calls to it go into the audit log. */
    audit?: { readonly name: string; readonly operation: Operation };
  }
  interface FastifyRequest {
    caller: Caller | undefined;
    /** What its route says; undefined for a path that has none. */
    route: FastifyContextConfig | undefined;
    /** The handler at work; undefined when it was never called. */
    work: Promise<unknown> | undefined;
    /** Whether log line, metrics and audit entry are written. */
    isRecorded: boolean;
    /** What the handler named for the audit log. */
    touched: Readonly<Record<string, string>> | undefined;
  }
}

export interface HttpPorts {
  readonly handlers: Handlers<typeof operations>;
  /** Lets a request in or throws. */
  readonly admit: (request: FastifyRequest, reply: FastifyReply, access: RouteAccess | undefined) => Caller | undefined;
  readonly guard: (headers: FastifyRequest["headers"]) => void;
  readonly audit: AuditLog;
  readonly log: Logger;
  readonly requestLog: Logger;
  readonly metrics: Metrics;
  readonly tls: { readonly cert: string; readonly key: string } | undefined;
  readonly trustedProxies: readonly string[];
  /** Fires when handlers that still run must come to an end. */
  readonly shutdown: AbortSignal;
}

/** A client that sends its headers or body slower than this is cut off. */
const headersTimeoutMs = 10_000;
const requestTimeoutMs = 30_000;
const keepAliveTimeoutMs = 15_000;
const checkConnectionsMs = 5_000;
const maxHeaderBytes = 16 * 1024;
/** A connection on which nothing moves, in either direction, for longer than any answer takes. */
const idleTimeoutMs = 60_000;
const maxConnections = 4096;
const keptFiles = 128;
const plainStatus = 200;
const nothingLeft = Promise.resolve();
/** Longest path parameter that reaches a route; unit names have at most 255 characters. */
const maxParamLength = 1024;

/**
 * A handler as the loop over the table sees it. A method's parameters may be narrower than declared, which
 * is what lets one loop call handlers of all inputs; each input has passed the check made from its own row.
 */
interface AnyHandler {
  call(input: object, context: Context): unknown;
}
type AnyHandlers = Readonly<Record<string, AnyHandler["call"]>>;

const routePath = ({ base, path }: Operation): string => (base === "root" ? path : `${apiBase}${path}`);

/** `/system/services/{name}/restart` in the router's notation. */
const toRouterPath = (path: string): string => path.replaceAll(/\{(\w+)\}/g, ":$1");

/** Checks made once from the row: what comes in is an input that its handler is typed for. */
function createInputReader(operation: Operation): (request: FastifyRequest) => object {
  const isMutation = operation.effect !== "read";
  const noMembers: SchemaObject = { type: "object", properties: {}, additionalProperties: false };
  const params = operation.params && createPartCheck("params", operation.params);
  const query = operation.query && createPartCheck("query", operation.query);
  const bodySchema = operation.body ?? (isMutation ? noMembers : undefined);
  const body = bodySchema && createPartCheck("body", bodySchema);
  return (request) => ({
    ...(params && { params: params(request.params) }),
    ...(query && { query: query(request.query) }),
    ...(body && { body: body(request.body) }),
  });
}

/**
 * What a handler is given besides its input. The signal is made on demand, since most handlers answer at once and never
 * ask; and by a function, not an accessor: V8 keeps objects with accessors, and the request with them, until the next
 * full collection.
 */
function createContext(request: FastifyRequest, reply: FastifyReply, { shutdown, log }: HttpPorts): Context {
  let made: AbortSignal | undefined;
  return {
    caller: request.caller,
    signal() {
      if (made !== undefined) return made;
      const gone = new AbortController();
      reply.raw.once("close", () => gone.abort());
      made = AbortSignal.any([gone.signal, shutdown]);
      return made;
    },
    touched(target) {
      request.touched = target;
    },
    afterReply(task) {
      // Not "finish": a client that has gone must not keep the task from being done.
      reply.raw.once("close", () => {
        task().catch((error: unknown) => log.error({ err: error, request_id: request.id }, "task after reply failed"));
      });
    },
  };
}

const isDryRun = ({ query }: FastifyRequest): boolean =>
  typeof query === "object" && query !== null && "dry_run" in query && query.dry_run === "true";

/** What is written down of a mutation, or of a call to one that was refused. */
function auditMutation(
  request: FastifyRequest,
  reply: FastifyReply,
  isClientGone: boolean,
  { audit, log }: HttpPorts,
): void {
  if (request.route?.audit === undefined) return;
  const { name, operation } = request.route.audit;
  try {
    audit.record({
      time: new Date().toISOString(),
      request_id: request.id,
      operation: name,
      key_id: request.caller?.keyId ?? null,
      remote_address: request.ip,
      target: {
        ...(operation.params && withoutSecrets(request.params as Record<string, string>)),
        ...request.touched,
      },
      dry_run: isDryRun(request),
      status: reply.statusCode,
      client_gone: isClientGone,
      duration_ms: Math.round(reply.elapsedTime),
    });
  } catch (error) {
    log.error({ err: error, request_id: request.id }, "audit entry lost");
  }
}

function addOperation(
  app: FastifyInstance,
  name: string,
  operation: Operation,
  handler: AnyHandler["call"],
  ports: HttpPorts,
): void {
  const readInput = createInputReader(operation);
  const { response, status = 200, mediaType, effect } = operation;
  const isRead = effect === "read";
  app.route({
    method: operation.method,
    url: toRouterPath(routePath(operation)),
    config: { access: operation, endpoint: routePath(operation), ...(isRead ? {} : { audit: { name, operation } }) },
    // A mutation answers its result or a plan, so it is written without a prepared shape.
    ...(isRead && mediaType === undefined ? { schema: { response: { [status]: response } } } : {}),
    handler(request, reply) {
      // A plan makes nothing, so it is never 201.
      reply.code(isRead || !isDryRun(request) ? status : plainStatus);
      if (mediaType !== undefined) reply.type(`${mediaType}; version=0.0.4; charset=utf-8`);
      // RFC 6749 §5.1 wants it beside Cache-Control, which is on every answer.
      if (!isRead) reply.header("Pragma", "no-cache");
      // Sent at once where the handler has the answer at once: a promise more is a turn of the queue more.
      const answer = handler(readInput(request), createContext(request, reply, ports));
      if (answer instanceof Promise) {
        request.work = answer;
        return answer;
      }
      request.work = nothingLeft;
      reply.send(answer);
      return reply;
    },
  });
}

/** JSON alone is read, and an empty body is no body. */
function addBodyParser(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  const parseJson = app.getDefaultJsonParser("error", "error");
  const isEmpty = ({ headers }: FastifyRequest): boolean => headers["content-length"] === "0";
  app.addContentTypeParser("*", (request, _, done) => {
    if (isEmpty(request)) return done(null, undefined);
    done(
      new DomainError("VALIDATION_ERROR", "cannot accept the request: its body is not JSON (send application/json)", {
        field: "Content-Type",
        issue: "Must be application/json",
      }),
    );
  });
  app.addContentTypeParser<string>("application/json", { parseAs: "string" }, (request, body, done) => {
    if (body === "") done(null, undefined);
    else void parseJson(request, body, done);
  });
}

/** Soft limit of open files of this process; what is kept back is for files, the bus and commands. */
function connectionCap(): number {
  const softLimit = Number(
    /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1] ?? maxConnections,
  );
  return Math.max(16, Math.min(maxConnections, softLimit - keptFiles));
}

/** Knows every connection, those too that never became HTTP. */
function watchConnections(server: Server, metrics: Metrics): { readonly cut: () => void } {
  const open = new Set<Socket>();
  server.on("connection", (socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
  });
  metrics.watchConnections(() => open.size);
  return {
    cut() {
      for (const socket of open) socket.destroy();
    },
  };
}

export interface HttpServer {
  readonly app: FastifyInstance;
  /** Ends every connection at once. */
  readonly cut: () => void;
}

/** The HTTP server: one route for each row of the operations table, and nothing that a row does not say. */
export function createHttpServer(ports: HttpPorts): HttpServer {
  const { handlers, admit, guard, log, metrics, tls, trustedProxies } = ports;
  const idPrefix = randomBytes(6).toString("base64url");
  let requests = 0;
  const nextId = (): string => {
    requests += 1;
    return `${idPrefix}-${requests.toString(36)}`;
  };
  const replyError = createErrorReply(log);
  const record = createRecorder(ports);
  const serverOptions = {
    maxHeaderSize: maxHeaderBytes,
    headersTimeout: headersTimeoutMs,
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: keepAliveTimeoutMs,
    connectionsCheckingInterval: checkConnectionsMs,
    // A missing Host is refused by the guard, with an error body.
    requireHostHeader: false,
    // Of two Hosts or credentials none is dropped: joined they are malformed, and refused as that.
    joinDuplicateHeaders: true,
  };

  const letIn = (request: FastifyRequest, reply: FastifyReply, access: RouteAccess | undefined): void => {
    reply.header("X-Request-Id", request.id);
    reply.header("Cache-Control", "no-store");
    reply.header("X-Content-Type-Options", "nosniff");
    guard(request.headers);
    request.caller = admit(request, reply, access);
  };

  const app = fastify({
    logger: false,
    bodyLimit: maxBodyBytes,
    genReqId: nextId,
    connectionTimeout: idleTimeoutMs,
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: keepAliveTimeoutMs,
    forceCloseConnections: "idle",
    return503OnClosing: false,
    trustProxy: trustedProxies.length === 0 ? false : [...trustedProxies],
    routerOptions: { maxParamLength },
    clientErrorHandler: (error, socket) => refuseMalformed(error, socket, nextId()),
    frameworkErrors(error, request, reply) {
      // The router refused the path before any hook could run, so what the hooks do is done here.
      reply.raw.once("finish", () => record(request, reply));
      try {
        letIn(request, reply, undefined);
        replyError(error, request, reply);
      } catch (refusal) {
        replyError(refusal, request, reply);
      }
    },
    ...(tls === undefined
      ? { http: serverOptions }
      : { https: { ...serverOptions, ...tls, minVersion: "TLSv1.2", handshakeTimeout: headersTimeoutMs } }),
  });

  app.decorateRequest("caller", undefined);
  app.decorateRequest("route", undefined);
  app.decorateRequest("work", undefined);
  app.decorateRequest("isRecorded", false);
  app.decorateRequest("touched", undefined);
  addBodyParser(app);
  app.setErrorHandler(replyError);
  const unknownPath = () => new DomainError("NOT_FOUND", "cannot find this path (see /api/v1/docs)");
  app.setNotFoundHandler(() => {
    throw unknownPath();
  });
  // A hook for each route, since asking a request for its route costs more than all else that is done to let it in.
  app.addHook("onRoute", (options) => {
    const route = options.config ?? {};
    options.onRequest = (request, reply, done) => {
      request.route = route;
      reply.raw.once("close", () => {
        if (!reply.raw.writableFinished) void abandoned(request, reply);
      });
      try {
        letIn(request, reply, route.access);
        done();
      } catch (error) {
        done(error as Error);
      }
    };
  });
  app.addHook("onRequest", (request, reply, done) => {
    if (!request.is404) return done();
    try {
      letIn(request, reply, undefined);
      // Refused before its body is read.
      throw unknownPath();
    } catch (error) {
      done(error as Error);
    }
  });
  let isClosing = false;
  app.addHook("preClose", (done) => {
    isClosing = true;
    done();
  });
  const writeDown = (request: FastifyRequest, reply: FastifyReply, isClientGone: boolean): void => {
    request.isRecorded = true;
    record(request, reply);
    auditMutation(request, reply, isClientGone, ports);
  };
  /** The client has gone: what its request did is written down all the same, once it is done. */
  const abandoned = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    // Without a handler at work nothing was done, and the answer to what was refused is its own record.
    if (request.work === undefined) return;
    await Promise.allSettled([request.work]);
    // The status of a failure is set by the framework, right after.
    await new Promise((resolve) => setImmediate(resolve));
    if (!request.isRecorded) writeDown(request, reply, true);
  };
  app.addHook("onResponse", (request, reply, done) => {
    writeDown(request, reply, false);
    // Kept alive, the connection of a request that was in flight would keep the process.
    if (isClosing) request.raw.socket.end();
    done();
  });

  const anyHandlers: AnyHandlers = handlers;
  for (const [name, operation] of Object.entries<Operation>(operations)) {
    const handler = anyHandlers[name];
    if (handler === undefined) throw new Error(`cannot serve ${name}: it has no handler`);
    addOperation(app, name, operation, handler, ports);
  }

  app.server.maxConnections = connectionCap();
  const { cut } = watchConnections(app.server, metrics);
  // Without a listener Node refuses by itself, without an error body; RFC 9110 §10.1.1 lets us go on instead.
  app.server.on("checkExpectation", (request, response) => app.routing(request, response));
  app.server.on("connect", (_, socket) => {
    rawErrorReply(socket, "UNAUTHORIZED", "cannot tunnel: this is not a proxy", nextId());
  });
  return { app, cut };
}
