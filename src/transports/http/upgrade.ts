import type { IncomingHttpHeaders, IncomingMessage, Server } from "node:http";
import { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { SchemaObject } from "ajv";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { apiBase } from "#contract/limits.ts";
import type { Caller } from "#contract/operation.ts";
import { invalid } from "#domain/common/error.ts";
import type { RouteAccess } from "./admission.ts";
import { createPartCheck } from "./validation.ts";

/** An admitted request to open a WebSocket. */
export interface UpgradeRequest {
  readonly caller: Caller | undefined;
  readonly requestId: string;
  /** Checked against the schema of the route, and without the credential that may have been in it. */
  readonly query: Readonly<Record<string, unknown>>;
  readonly headers: IncomingHttpHeaders;
}

/**
 * Takes a connection over; the answer to the handshake is its to write.
 * @param lines further header lines of the answer, those of every answer.
 */
type TakeOver = (request: IncomingMessage, socket: Duplex, head: Buffer, lines: readonly string[]) => void;

/** A path where a connection leaves HTTP and becomes a WebSocket (RFC 6455 §4). */
export interface UpgradeRoute {
  /** Below `/api/v1`. */
  readonly path: `/${string}`;
  readonly access: RouteAccess;
  readonly query?: SchemaObject;
  /**
   * Checks the request once it is admitted.
   * @throws DomainError to refuse, with the error body and status as everywhere.
   */
  readonly accept: (request: UpgradeRequest) => TakeOver | Promise<TakeOver>;
}

/** How long a client that was refused may take to hang up before it is hung up on. */
const lingerMs = 1_000;
const switchingProtocols = 101;
const versionHeader = "sec-websocket-version";

interface Waiting {
  readonly socket: Duplex;
  readonly head: Buffer;
  readonly response: ServerResponse;
}

/** The headers of an answer that is written by hand. RFC 6455 §11.3.5: the version is named by refusals alone. */
const linesOf = (reply: FastifyReply): readonly string[] =>
  Object.entries(reply.getHeaders()).flatMap(([name, value]) =>
    name === versionHeader || value === undefined ? [] : [`${name}: ${String(value)}`],
  );

const pathOf = (url = ""): string => url.split("?", 1)[0] ?? "";

/**
 * Sends upgrades through the same routing, guard and admission as every request.
 * @param taken is notified of each connection that left HTTP, with the status of its answer set.
 */
export function createUpgrades(taken: (request: FastifyRequest, reply: FastifyReply) => void) {
  const paths = new Set<string>();
  const waiting = new WeakMap<IncomingMessage, Waiting>();

  return {
    /** Whether to take the request out of HTTP at all: elsewhere and over HTTP/1.0 `Upgrade` is ignored (RFC 9110 §7.8). */
    isUpgrade: ({ method, url, headers, httpVersion }: IncomingMessage): boolean =>
      method === "GET" &&
      httpVersion !== "1.0" &&
      headers.upgrade?.toLowerCase() === "websocket" &&
      paths.has(pathOf(url)),

    /** Gives an upgrade an answer to be refused with, and routes it. */
    listen(app: FastifyInstance, server: Server = app.server): void {
      server.on("upgrade", (request: IncomingMessage, socket: Socket, head: Buffer) => {
        // The server has let go of the socket: its errors are ours to deal with.
        socket.on("error", () => socket.destroy());
        const response = new ServerResponse(request);
        response.shouldKeepAlive = false;
        response.assignSocket(socket);
        response.once("finish", () => {
          const timer = setTimeout(() => socket.destroy(), lingerMs);
          socket.once("close", () => clearTimeout(timer));
          socket.end();
          // Unread, what the client sent besides would keep its hanging up from being seen.
          socket.resume();
        });
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
        async (request, reply) => {
          // RFC 6455 §4.4: a refusal names the version that is spoken.
          reply.header(versionHeader, "13");
          const { id: requestId, headers } = request;
          const { caller } = request.record;
          const { api_key: _, ...given } = request.query;
          const query = Object.assign(given, checkQuery?.(given));
          const takeOver = await accept({ caller, requestId, query, headers });
          // Last of all, so that a client whose WebSocket does not tell it why can ask without one.
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
