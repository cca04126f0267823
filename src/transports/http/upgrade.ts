import { type IncomingHttpHeaders, type IncomingMessage, type Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { SchemaObject } from "ajv";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { apiBase } from "#contract/limits.ts";
import type { Caller } from "#contract/operation.ts";
import { invalid } from "#domain/common/error.ts";
import type { RouteAccess } from "./admission.ts";
import { type BasePath, targetPath } from "./base-path.ts";
import { endSocket } from "./raw-reply.ts";
import { createPartCheck, refuseFaults } from "./validation.ts";

export interface UpgradeRequest {
  readonly caller: Caller | undefined;
  readonly requestId: string;
  /** Checked against the schema of the route; without the key. */
  readonly query: Readonly<Record<string, unknown>>;
  readonly headers: IncomingHttpHeaders;
}

/** Takes a connection over and writes the answer to the handshake, with `lines` as further header lines. */
type TakeOver = (request: IncomingMessage, socket: Duplex, head: Buffer, lines: readonly string[]) => void;

/** A path where a connection leaves HTTP and becomes a WebSocket (RFC 6455 §4). */
export interface UpgradeRoute {
  /** Below `/api/v1`. */
  readonly path: `/${string}`;
  readonly access: RouteAccess;
  readonly query?: SchemaObject;
  /** Checks the admitted request. @throws DomainError to refuse it. */
  readonly accept: (request: UpgradeRequest) => TakeOver;
}

const switchingProtocols = 101;
const versionHeader = "sec-websocket-version";

interface Waiting {
  readonly socket: Duplex;
  readonly head: Buffer;
  readonly response: ServerResponse;
}

const linesOf = (reply: FastifyReply): readonly string[] =>
  Object.entries(reply.getHeaders()).flatMap(([name, value]) =>
    name === versionHeader || value === undefined ? [] : [`${name}: ${String(value)}`],
  );

/** Sends upgrades through the routing, guard and admission of every request. @param taken called for each that left HTTP. */
export function createUpgrades(base: BasePath, taken: (request: FastifyRequest, reply: FastifyReply) => void) {
  const paths = new Set<string>();
  const waiting = new WeakMap<IncomingMessage, Waiting>();
  const unsent = new WeakMap<Duplex, number>();
  const countUnsent = (socket: Duplex, by: 1 | -1): void => void unsent.set(socket, (unsent.get(socket) ?? 0) + by);

  return {
    /**
     * Whether to take the request out of HTTP at all: elsewhere, over HTTP/1.0 and behind requests that are not answered yet
     * `Upgrade` is ignored (RFC 9110 §7.8).
     */
    isUpgrade: (request: IncomingMessage): boolean => {
      const { method, headers, httpVersion, socket } = request;
      return (
        method === "GET" &&
        httpVersion !== "1.0" &&
        headers.upgrade?.toLowerCase() === "websocket" &&
        paths.has(targetPath(base, request)) &&
        !unsent.get(socket)
      );
    },

    /** Routes upgrades with a response to refuse them with. */
    listen(app: FastifyInstance, server: Server = app.server): void {
      server.on("request", ({ socket }: IncomingMessage, response: ServerResponse) => {
        countUnsent(socket, 1);
        response.once("close", () => countUnsent(socket, -1));
      });
      server.on("upgrade", (request: IncomingMessage, socket: Socket, head: Buffer) => {
        // The server no longer handles errors of the socket.
        socket.on("error", () => socket.destroy());
        const response = new ServerResponse(request);
        response.shouldKeepAlive = false;
        try {
          response.assignSocket(socket);
        } catch {
          // An answer that Node gives by itself, as to a request without Host, is on its way: the client gets that alone.
          return endSocket(socket);
        }
        response.once("finish", () => endSocket(socket));
        waiting.set(request, { socket, head, response });
        app.routing(request, response);
      });
    },

    add(app: FastifyInstance, { path, access, query: schema, accept }: UpgradeRoute): void {
      const url = `${apiBase}${path}`;
      const checkQuery = schema && createPartCheck("query", schema);
      paths.add(url);
      app.get<{ Querystring: Record<string, unknown> }>(
        url,
        { config: { access, endpoint: url }, exposeHeadRoute: false },
        (request, reply) => {
          // RFC 6455 §4.4: a refusal names the version that is spoken.
          reply.header(versionHeader, "13");
          const { id: requestId, headers } = request;
          const { caller } = request.record;
          const { api_key: _, ticket: __, ...given } = request.query;
          const checked = checkQuery === undefined ? given : checkQuery(given);
          refuseFaults([checked]);
          const query = checked as UpgradeRequest["query"];
          const takeOver = accept({ caller, requestId, query, headers });
          // Last, so that a client can ask without an upgrade why it is refused: a WebSocket does not say.
          const upgrade = waiting.get(request.raw);
          if (upgrade === undefined) {
            throw invalid(
              "Upgrade",
              "Must be websocket",
              `cannot answer ${path}: it is a WebSocket (ask for an upgrade)`,
            );
          }
          reply.code(switchingProtocols).hijack();
          upgrade.response.detachSocket(request.raw.socket);
          taken(request, reply);
          takeOver(request.raw, upgrade.socket, upgrade.head, linesOf(reply));
        },
      );
    },
  };
}
