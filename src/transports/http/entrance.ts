import type { Socket } from "node:net";
import type {
  FastifyContextConfig,
  FastifyReply,
  FastifyRequest,
  HookHandlerDoneFunction,
  onRequestHookHandler,
} from "fastify";
import type { Caller } from "#contract/operation.ts";
import { DomainError } from "#domain/common/error.ts";
import type { Tracer } from "#telemetry/tracing.ts";
import { remoteAddressOf } from "./address.ts";
import type { RouteAccess } from "./admission.ts";
import type { Cors } from "./cors.ts";
import type { HostGuard } from "./guard.ts";
import type { LocalPeers } from "./local-peers.ts";
import { beginTrace } from "./outcome.ts";
import { protectiveHeaders } from "./raw-reply.ts";

export interface EntrancePorts {
  /** @throws DomainError to refuse. */
  readonly admit: (request: FastifyRequest, reply: FastifyReply, access: RouteAccess | undefined) => Caller | undefined;
  readonly guard: HostGuard;
  readonly cors?: Pick<Cors, "answer"> | undefined;
  readonly localAddressOf?: LocalPeers["addressOf"];
  /** Called with the connection of each request that was admitted with a credential. */
  readonly admitted?: (socket: Socket) => void;
  readonly tracer?: Tracer | undefined;
  /** Called when a client goes away before its answer has left. */
  readonly abandoned: (request: FastifyRequest, reply: FastifyReply) => Promise<void>;
  /** Why the path of a request is malformed. */
  readonly pathError: (request: FastifyRequest) => Error | undefined;
}

export type Entrance = ReturnType<typeof createEntrance>;

export const pathNotFound = () => new DomainError("NOT_FOUND", "cannot find this path (see /api/v1/docs)");

/** The only way to a handler: address, span, headers of every answer, host guard, admission. */
export function createEntrance(ports: EntrancePorts) {
  const { admit, guard, cors, localAddressOf, admitted, tracer, abandoned, pathError } = ports;

  const enter = (request: FastifyRequest, reply: FastifyReply, access: RouteAccess | undefined): void => {
    const { record, raw } = request;
    record.remoteAddress = localAddressOf?.(raw.socket) ?? remoteAddressOf(request);
    if (tracer !== undefined) record.span = beginTrace(tracer, request);
    reply.header("x-request-id", request.id);
    reply.headers(protectiveHeaders);
    record.foreignOrigin = guard(request.headers);
    cors?.answer(reply, record.foreignOrigin);
    record.caller = admit(request, reply, access);
    if (record.caller !== undefined) admitted?.(raw.socket);
    record.isAdmitted = true;
  };

  return {
    ofRoute:
      (route: FastifyContextConfig): onRequestHookHandler =>
      (request, reply, done) => {
        const found = route.routeOf === undefined ? route : route.routeOf(request);
        request.record.route = found;
        reply.raw.on("close", () => {
          if (!reply.raw.writableFinished) void abandoned(request, reply);
        });
        try {
          enter(request, reply, found?.access);
          if (found === undefined) throw pathError(request) ?? pathNotFound();
          done();
        } catch (error) {
          done(error as Error);
        }
      },
    /** Refuses requests for unknown paths before their body is read. */
    unknownPath: (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction) => {
      if (!request.is404) return done();
      try {
        enter(request, reply, undefined);
        throw pathError(request) ?? pathNotFound();
      } catch (error) {
        done(error as Error);
      }
    },
  };
}
