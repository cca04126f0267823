import type { FastifyReply, FastifyRequest } from "fastify";
import type { Context } from "#contract/operation.ts";
import type { Logger } from "#telemetry/logger.ts";
import { parseIdempotencyKey, repetitionId } from "./idempotency.ts";
import { setQuotaHeaders } from "./limit-headers.ts";

/** The start of a list or of an element up to a separator, which does not count inside quoted strings (RFC 9110 §5.6.4). */
const elements = /(?:[^,"]|"(?:[^"\\]|\\.)*"?)+/g;
const withoutParameters = /^(?:[^;"]|"(?:[^"\\]|\\.)*"?)*/;

const preference = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+)(?:\s*=\s*(?:([!#$%&'*+.^_`|~0-9A-Za-z-]*)|"((?:[^"\\]|\\.)*)"))?$/;

/**
 * Preferences (RFC 7240 §2): values by lower-case name, `""` without a value. The first of several with one name counts.
 * Malformed ones are ignored: a preference is never a reason to refuse a request.
 */
function parsePrefer(header: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const [element] of header.matchAll(elements)) {
    const match = preference.exec(withoutParameters.exec(element.trim())?.[0].trim() ?? "");
    const name = match?.[1]?.toLowerCase();
    if (name === undefined || found.has(name)) continue;
    found.set(name, match?.[2] ?? match?.[3]?.replaceAll(/\\(.)/g, "$1") ?? "");
  }
  return found;
}

/** Whether the client prefers not to wait. @param header the value of `Prefer`. */
export function prefersAsync(header: string | readonly string[] | undefined): boolean {
  if (header === undefined) return false;
  const joined = typeof header === "string" ? header : header.join(",");
  return parsePrefer(joined).get(respondAsync) === "";
}

/** Sent in `Preference-Applied` of an answer that did not wait (RFC 7240 §3). */
export const respondAsync = "respond-async";

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
