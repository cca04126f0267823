import type { FastifyReply, FastifyRequest } from "fastify";
import type { Context } from "#contract/operation.ts";
import type { Logger } from "#telemetry/logger.ts";
import { parseIdempotencyKey, repetitionId } from "./idempotency.ts";
import { setQuotaHeaders } from "./limit-headers.ts";
import { prefersAsync } from "./prefer.ts";

export interface ContextPorts {
  readonly log: Logger;
  readonly shutdown: AbortSignal;
}

/**
 * What a handler gets besides its input. The signal is made on demand, since most handlers never use it, and by a method: V8
 * keeps objects with accessors, and the request with them, until the next full collection.
 */
export function createContext(request: FastifyRequest, reply: FastifyReply, { shutdown, log }: ContextPorts): Context {
  let made: AbortSignal | undefined;
  return {
    caller: request.record.caller,
    signal() {
      if (made !== undefined) return made;
      const gone = new AbortController();
      reply.raw.once("close", () => gone.abort());
      made = AbortSignal.any([gone.signal, shutdown]);
      return made;
    },
    prefersAsync: () => prefersAsync(request.headers["prefer"]),
    idempotencyKey() {
      const header = request.headers["idempotency-key"];
      const { caller } = request.record;
      return header === undefined || caller === undefined
        ? undefined
        : repetitionId(caller, parseIdempotencyKey(header));
    },
    drawsOn: (quota) => setQuotaHeaders(reply, quota),
    touched(target) {
      request.record.touched = target;
    },
    afterReply(task) {
      // Not "finish": the task is also done when the client has gone.
      reply.raw.once("close", () => {
        task().catch((error: unknown) => log.error({ err: error, request_id: request.id }, "task after reply failed"));
      });
    },
  };
}
