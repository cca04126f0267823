import type { Socket } from "node:net";
import type {
  FastifyContextConfig,
  FastifyReply,
  FastifyRequest,
  HookHandlerDoneFunction,
  onRequestHookHandler,
} from "fastify";
import type { InputFault } from "#contract/error-body.ts";
import { apiBase } from "#contract/limits.ts";
import type { Caller } from "#contract/operation.ts";
import { DomainError } from "#domain/common/error.ts";
import { defined } from "#kernel/values.ts";
import type { Tracer } from "#telemetry/tracing.ts";
import type { RouteAccess } from "./admission.ts";
import type { Cors } from "./cors.ts";
import type { HostGuard } from "./guard.ts";
import { beginTrace } from "./outcome.ts";
import { type PathIndex, pathOf } from "./path-methods.ts";
import { type LocalPeers, remoteAddressOf } from "./peers.ts";
import { protectiveHeaders } from "./raw-reply.ts";
import { endWithClient, relayedCall } from "./relayed.ts";

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
  readonly paths: Pick<PathIndex, "find">;
}

export type Entrance = ReturnType<typeof createEntrance>;

function withoutLastSlashes(path: string): string {
  let end = path.length;
  while (end > 0 && path.length > 1 && path[end - 1] === "/") end -= 1;
  return path.slice(0, end);
}

/** What is wrong with a path or its method, and what was most likely meant. */
export function pathNotFound({ method, raw }: FastifyRequest, paths: Pick<PathIndex, "find">): DomainError {
  const path = pathOf(raw);
  const refused = (message: string, fault: InputFault): DomainError =>
    new DomainError("NOT_FOUND", message, { field: fault.field, issue: fault.issue, faults: [fault] });
  const found = paths.find(path);
  if (found !== undefined && !found.methods.includes(method)) {
    const taken = found.methods.join(", ");
    return refused(`cannot ${method} this path: it takes ${taken}`, {
      field: "method",
      issue: `Must be one of ${taken}`,
    });
  }
  const whole = withoutLastSlashes(path);
  const meant = [whole, `${apiBase}${whole}`].find((each) => each !== path && paths.find(each) !== undefined);
  const hint = meant === undefined ? "see /api/v1/docs" : `did you mean ${meant}?`;
  const fault = { field: "path", issue: "Not found", ...defined({ did_you_mean: meant }) };
  return refused(`cannot find this path (${hint})`, fault);
}

/** The only way to a handler: address, span, headers of every answer, host guard, admission. */
export function createEntrance(ports: EntrancePorts) {
  const { admit, guard, cors, localAddressOf, admitted, tracer, abandoned, pathError, paths } = ports;

  const enter = (request: FastifyRequest, reply: FastifyReply, access: RouteAccess | undefined): void => {
    const { record, raw } = request;
    record.socket = relayedCall()?.socket ?? raw.socket;
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
        endWithClient(reply.raw);
        try {
          enter(request, reply, found?.access);
          if (found === undefined) throw pathError(request) ?? pathNotFound(request, paths);
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
        throw pathError(request) ?? pathNotFound(request, paths);
      } catch (error) {
        done(error as Error);
      }
    },
  };
}
