import { randomBytes } from "node:crypto";
import type { Server } from "node:http";
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
  }
  interface FastifyRequest {
    caller: Caller | undefined;
    /** What its route says; undefined for a path that has none. */
    route: FastifyContextConfig | undefined;
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
const maxConnections = 4096;
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
    afterReply(task) {
      reply.raw.once("finish", () => {
        task().catch((error: unknown) => log.error({ err: error, request_id: request.id }, "task after reply failed"));
      });
    },
  };
}

/** What is written down of a mutation, or of a call to one that was refused. */
function auditMutation(
  name: string,
  operation: Operation,
  request: FastifyRequest,
  reply: FastifyReply,
  { audit, log }: HttpPorts,
): void {
  try {
    audit.record({
      time: new Date().toISOString(),
      request_id: request.id,
      operation: name,
      key_id: request.caller?.keyId ?? null,
      remote_address: request.ip,
      target: operation.params === undefined ? {} : withoutSecrets(request.params as Record<string, string>),
      status: reply.statusCode,
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
    config: { access: operation, endpoint: routePath(operation) },
    // A mutation answers its result or a plan, so it is written without a prepared shape.
    ...(isRead && mediaType === undefined ? { schema: { response: { [status]: response } } } : {}),
    ...(isRead
      ? {}
      : {
          onResponse: (request, reply, done) => {
            auditMutation(name, operation, request, reply, ports);
            done();
          },
        }),
    handler(request, reply) {
      reply.code(status);
      if (mediaType !== undefined) reply.type(`${mediaType}; version=0.0.4; charset=utf-8`);
      // Sent at once where the handler has the answer at once: a promise more is a turn of the queue more.
      const answer = handler(readInput(request), createContext(request, reply, ports));
      if (answer instanceof Promise) return answer;
      reply.send(answer);
      return reply;
    },
  });
}

/** JSON alone is read, and an empty body is no body. */
function addBodyParser(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  const parseJson = app.getDefaultJsonParser("error", "error");
  app.addContentTypeParser<string>("application/json", { parseAs: "string" }, (request, body, done) => {
    if (body === "") done(null, undefined);
    else void parseJson(request, body, done);
  });
}

/** Counts open connections without asking the kernel. */
function watchConnections(server: Server, metrics: Metrics): void {
  let open = 0;
  server.on("connection", (socket) => {
    open += 1;
    socket.once("close", () => {
      open -= 1;
    });
  });
  metrics.watchConnections(() => open);
}

/** The HTTP server: one route for each row of the operations table, and nothing that a row does not say. */
export function createHttpServer(ports: HttpPorts): FastifyInstance {
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
    ...(tls === undefined ? { http: serverOptions } : { https: { ...serverOptions, ...tls, minVersion: "TLSv1.2" } }),
  });

  app.decorateRequest("caller", undefined);
  app.decorateRequest("route", undefined);
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
  app.addHook("onResponse", (request, reply, done) => {
    record(request, reply);
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

  app.server.maxConnections = maxConnections;
  watchConnections(app.server, metrics);
  // Without a listener Node refuses by itself, without an error body; RFC 9110 §10.1.1 lets us go on instead.
  app.server.on("checkExpectation", (request, response) => app.routing(request, response));
  app.server.on("connect", (_, socket) => {
    rawErrorReply(socket, "UNAUTHORIZED", "cannot tunnel: this is not a proxy", nextId());
  });
  return app;
}
