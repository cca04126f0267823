import type { Socket } from "node:net";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Caller } from "#contract/operation.ts";
import { DomainError } from "#domain/common/error.ts";
import type { Tracer } from "#telemetry/tracing.ts";
import { remoteAddressOf } from "./address.ts";
import type { RouteAccess } from "./admission.ts";
import type { LocalPeers } from "./local-peers.ts";
import { protectiveHeaders } from "./protective-headers.ts";
import { beginTrace } from "./trace.ts";

export interface LetInPorts {
  /** Lets a request in or throws. */
  readonly admit: (request: FastifyRequest, reply: FastifyReply, access: RouteAccess | undefined) => Caller | undefined;
  readonly guard: (headers: FastifyRequest["headers"]) => void;
  /** What stands for the address of a connection over a Unix socket. */
  readonly localAddressOf?: LocalPeers["addressOf"];
  /** Told of the connection of each request that was admitted with a credential. */
  readonly admitted?: (socket: Socket) => void;
  /** Undefined where nothing is traced. */
  readonly tracer?: Tracer | undefined;
}

type LetIn = (request: FastifyRequest, reply: FastifyReply, access: RouteAccess | undefined) => void;

/** Headers that every answer bears, then the guard, then admission: the only way to a handler. */
export function createLetIn({ admit, guard, localAddressOf, admitted, tracer }: LetInPorts): LetIn {
  return (request, reply, access) => {
    request.remoteAddress = localAddressOf?.(request.raw.socket) ?? remoteAddressOf(request);
    if (tracer !== undefined) request.span = beginTrace(tracer, request);
    reply.header("X-Request-Id", request.id);
    reply.headers(protectiveHeaders);
    guard(request.headers);
    request.caller = admit(request, reply, access);
    if (request.caller !== undefined) admitted?.(request.raw.socket);
    request.isLetIn = true;
  };
}

/**
 * Puts the entrance before every route that is added from here on, and before paths that have none.
 * @param abandoned is told of a client that went away before its answer had left.
 * @param pathError why the path of a request could not be read.
 */
export function addEntrance(
  app: FastifyInstance,
  letIn: LetIn,
  {
    abandoned,
    pathError,
  }: {
    readonly abandoned: (request: FastifyRequest, reply: FastifyReply) => Promise<void>;
    readonly pathError: (request: FastifyRequest) => Error | undefined;
  },
): void {
  const unknownPath = () => new DomainError("NOT_FOUND", "cannot find this path (see /api/v1/docs)");
  app.setNotFoundHandler(() => {
    throw unknownPath();
  });
  // A hook for each route, since asking a request for its route costs more than all else that is done to let it in.
  app.addHook("onRoute", (options) => {
    const route = options.config ?? {};
    options.onRequest = (request, reply, done) => {
      const access = route.accessOf === undefined ? route.access : route.accessOf(request);
      const isMissing = route.accessOf !== undefined && access === undefined;
      request.route = isMissing ? undefined : route;
      reply.raw.once("close", () => {
        if (!reply.raw.writableFinished) void abandoned(request, reply);
      });
      try {
        letIn(request, reply, access);
        if (isMissing) throw unknownPath();
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
      throw pathError(request) ?? unknownPath();
    } catch (error) {
      done(error as Error);
    }
  });
}
