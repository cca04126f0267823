import type { FastifyReply, FastifyRequest } from "fastify";
import type { Context, Login, Tools } from "#contract/operation.ts";
import type { Logger } from "#telemetry/logger.ts";
import { type Logins, setQuotaHeaders } from "./admission.ts";
import { parseIdempotencyKey, repetitionId } from "./idempotency.ts";
import { requireOwnPage } from "./sessions.ts";
import { overrideReasonOf, type WindowHooks } from "./windows.ts";

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

type PreferHeader = string | readonly string[] | undefined;

/** Longer than any operation takes, and within what a timer can count. */
const maxWaitSeconds = 24 * 60 * 60;
/** Do not wait for the end (RFC 7240 §4.1). */
export const respondAsync = "respond-async";

/** How a client would like to be answered. @param header the value of `Prefer`. */
export function preferencesOf(header: PreferHeader): { readonly isAsync: boolean; readonly waitSeconds?: number } {
  if (header === undefined) return { isAsync: false };
  const found = parsePrefer(typeof header === "string" ? header : header.join(","));
  const isAsync = found.get(respondAsync) === "";
  const wait = found.get("wait") ?? "";
  // RFC 7240 §4.3: a number of seconds; anything else is not a preference.
  return /^\d{1,9}$/.test(wait) ? { isAsync, waitSeconds: Math.min(Number(wait), maxWaitSeconds) } : { isAsync };
}

/** The value of `Preference-Applied` (RFC 7240 §3); undefined where there is nothing to apply. */
export function appliedPreferences(header: PreferHeader): string | undefined {
  const { isAsync, waitSeconds } = preferencesOf(header);
  const applied = [...(isAsync ? [respondAsync] : []), ...(waitSeconds === undefined ? [] : [`wait=${waitSeconds}`])];
  return applied.length === 0 ? undefined : applied.join(", ");
}

export interface ContextPorts {
  readonly windows: Pick<WindowHooks, "check">;
  readonly log: Logger;
  readonly shutdown: AbortSignal;
  readonly logins: Logins;
  readonly toolsOf: (request: FastifyRequest) => Tools;
}

/** @throws DomainError `FORBIDDEN` where a page of another origin asks, which must not sign anybody in. */
function loginOf(request: FastifyRequest, reply: FastifyReply, logins: Logins): Login {
  if (request.headers.origin !== undefined) requireOwnPage(request);
  return {
    remoteAddress: request.record.remoteAddress,
    origin: request.headers.origin,
    by: (caller) => logins.by(request, reply, caller),
    refused: (code, message) => logins.failure(request, message, code),
    sendCookie: (half) => logins.sendCookie(request, reply, half),
  };
}

/**
 * What a handler gets besides its input. The signal is made on demand, since most handlers never use it, and by a method: V8
 * keeps objects with accessors, and the request with them, until the next full collection.
 */
export function createContext(
  request: FastifyRequest,
  reply: FastifyReply,
  { shutdown, log, windows, logins, toolsOf }: ContextPorts,
): Context {
  let made: AbortSignal | undefined;
  return {
    caller: request.record.caller,
    signal() {
      if (made !== undefined) return made;
      const gone = new AbortController();
      // No event reports a client that was gone before anybody asked.
      if (reply.raw.destroyed) gone.abort();
      else reply.raw.once("close", () => gone.abort());
      made = AbortSignal.any([gone.signal, shutdown]);
      return made;
    },
    prefersAsync: () => preferencesOf(request.headers["prefer"]).isAsync,
    prefersWaitMs() {
      const { waitSeconds } = preferencesOf(request.headers["prefer"]);
      return waitSeconds === undefined ? undefined : waitSeconds * 1000;
    },
    idempotencyKey() {
      const header = request.headers["idempotency-key"];
      const { caller } = request.record;
      return header === undefined || caller === undefined
        ? undefined
        : repetitionId(caller, parseIdempotencyKey(header));
    },
    windowOverride: () => overrideReasonOf(request),
    answerIsSecret() {
      request.record.hasSecret = true;
    },
    planned: () => undefined,
    drawsOn: (quota) => setQuotaHeaders(reply, quota),
    checkWindows: (scope, resource) => windows.check(request, { scope, resource }),
    touched(target) {
      request.record.touched = target;
    },
    login: () => loginOf(request, reply, logins),
    tools: () => toolsOf(request),
    afterReply(task) {
      // Not "finish": the task is also done when the client has gone.
      reply.raw.once("close", () => {
        task().catch((error: unknown) => log.error({ err: error, request_id: request.id }, "task after reply failed"));
      });
    },
  };
}
