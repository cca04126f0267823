import type { Socket } from "node:net";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Caller, Operation } from "#contract/operation.ts";
import type { Scope } from "#contract/scopes.ts";
import type { Keyring } from "#domain/access/keyring.ts";
import type { Decision } from "#domain/access/rate-limit.ts";
import { allows, resourcesOf } from "#domain/access/scopes.ts";
import { DomainError, missingScope } from "#domain/common/error.ts";
import type { Clock } from "#kernel/clock.ts";
import { addressGroup } from "./address.ts";
import { isLocalPeer, isRelayed } from "./guard.ts";
import { setLimitHeaders, wholeSeconds } from "./limit-headers.ts";
import type { LocalPeers } from "./local-peers.ts";
import type { ClientCertificates } from "./tls.ts";

export type RouteAccess = Pick<Operation, "scope" | "alsoNeeds" | "resource" | "narrows" | "openToLoopback"> & {
  /** The key may be in the query as `api_key`: browsers cannot set headers on a WebSocket. */
  readonly keyInQuery?: true;
};

export interface AdmissionPorts {
  readonly authenticate: Keyring["authenticate"];
  readonly identify: Keyring["identify"];
  readonly certificates: Pick<ClientCertificates, "of" | "isOutdated">;
  readonly localPeers: Pick<LocalPeers, "of">;
  readonly takeBudget: ((keyId: string) => Decision) | undefined;
  readonly takeFailure: (address: string) => Decision;
  readonly metricsPublic: "loopback" | "always" | "never";
  readonly clock: Pick<Clock, "now">;
}

/** RFC 6750 §2.1: the scheme's name is case-insensitive, one space, then the token. */
const bearer = /^bearer ([A-Za-z0-9._~+/-]+=*)$/i;

const noKey = "invalid or missing API key (send it in X-API-Key, or as a Bearer token)";

const cannotTell = (why: string): string => `cannot tell who calls: ${why}`;
const sentTwice = (where: string): string => cannotTell(`${where} was sent more than once (send it once)`);
const twoDiffer = cannotTell("two different credentials were sent (send one of them)");
const otherScheme = cannotTell("the scheme of Authorization has to be Bearer (or send the key in X-API-Key alone)");

type Presented = { readonly credential: string } | { readonly fault: string } | undefined;

/** Repeated header fields are joined by a comma, which no credential contains. */
const once = (value: unknown, where: string): Presented => {
  if (value === undefined) return undefined;
  return typeof value === "string" && !value.includes(",") ? { credential: value } : { fault: sentTwice(where) };
};

function inAuthorization(value: string | undefined): Presented {
  if (value === undefined) return undefined;
  const credential = bearer.exec(value)?.[1];
  if (credential !== undefined) return { credential };
  if (value.includes(",") && /^bearer\b/i.test(value)) return { fault: sentTwice("Authorization") };
  return { fault: /^bearer\b/i.test(value) ? noKey : otherScheme };
}

/** The credential of a request. One that is sent in several places has to be the same in all. */
function presented(request: FastifyRequest, access: RouteAccess | undefined): Presented {
  const { authorization, "x-api-key": apiKey } = request.headers;
  const { api_key: inQuery } = access?.keyInQuery ? (request.query as Readonly<Record<string, unknown>>) : {};
  if (authorization === undefined && inQuery === undefined) return once(apiKey, "X-API-Key");
  const all = [once(apiKey, "X-API-Key"), inAuthorization(authorization), once(inQuery, "api_key")];
  const sent = all.filter((each) => each !== undefined);
  const fault = sent.find((each) => "fault" in each);
  if (fault !== undefined) return fault;
  const different = new Set(sent.map((each) => ("credential" in each ? each.credential : "")));
  return different.size > 1 ? { fault: twoDiffer } : sent[0];
}

/** @throws DomainError FORBIDDEN when the caller has not the scope of the route. */
function checkScope(caller: Caller, access: RouteAccess, scope: Scope, { params }: FastifyRequest): void {
  const resource = access.resource?.(params as Record<string, string>);
  if (allows(caller.scopes, scope, resource)) return;
  if (access.narrows === "answer" && resourcesOf(caller.scopes, scope).length > 0) return;
  throw missingScope(resource === undefined ? scope : `${scope}:${resource}`, caller.scopes);
}

/**
 * Admits or refuses a request, in this order: authentication, rate limit, scope. It returns the caller, undefined where none
 * is needed, and throws DomainError. Paths without an operation (no `access`) need a key too.
 */
export function createAdmission(ports: AdmissionPorts) {
  const { authenticate, identify, certificates, localPeers, takeBudget, takeFailure, metricsPublic, clock } = ports;
  const certificateOf = certificates.of;
  /** Connections whose last answer is being made: no further request on them is served. */
  const hadLastAnswer = new WeakSet<Socket>();

  const needsNoKey = (request: FastifyRequest, access: RouteAccess | undefined): boolean => {
    if (access?.scope === "public") return true;
    if (!access?.openToLoopback || metricsPublic === "never") return false;
    return metricsPublic === "always" || isLocalPeer(request.raw);
  };

  /** Behind a proxy or a browser the socket does not say who calls. */
  const localCaller = ({ raw, headers }: FastifyRequest): Caller | undefined =>
    isRelayed(headers) ? undefined : localPeers.of(raw.socket);

  /**
   * Who calls, by certificate, key or token, else by the Unix socket; a message where that is not known. A certificate that
   * belongs to no key, such as a proxy's, is ignored. One that is refused or belongs to another key is an error.
   */
  const callerOf = (request: FastifyRequest, access: RouteAccess | undefined): Caller | string => {
    const certificate = certificateOf(request.raw.socket);
    if (certificate === "refused") return "cannot accept the client certificate (the log of the service says why)";
    const sent = presented(request, access);
    if (sent !== undefined && "fault" in sent) return sent.fault;
    const certified = certificate && identify(certificate);
    if (sent === undefined) return certified?.caller ?? localCaller(request) ?? noKey;
    const caller = authenticate(sent.credential, request.raw.socket);
    if (certified === undefined || caller?.keyId === certified.keyId) return caller ?? noKey;
    return cannotTell("the client certificate does not go with the API key (send one of them)");
  };

  const refuseRequest = (request: FastifyRequest, reason: string): never => {
    const { allowed, tightest } = takeFailure(addressGroup(request.record.remoteAddress ?? ""));
    if (allowed) throw new DomainError("UNAUTHORIZED", reason);
    const retryAfter = wholeSeconds(tightest.endsInMs);
    throw new DomainError("RATE_LIMITED", `too many failed logins from this address: try again in ${retryAfter} s`, {
      retry_after_seconds: retryAfter,
    });
  };

  const spend = (caller: Caller, reply: FastifyReply): void => {
    // The limits are those of keys; whoever may open the socket can also stop the service.
    if (caller.credential === "socket") return;
    const decision = takeBudget?.(caller.keyId);
    if (decision === undefined) return;
    setLimitHeaders(reply, decision, clock.now());
    if (decision.allowed) return;
    const { window, endsInMs } = decision.tightest;
    const retryAfter = wholeSeconds(endsInMs);
    const message = `too many requests: ${window.quota} in ${window.seconds} s are allowed for this key (try again in ${retryAfter} s)`;
    throw new DomainError("RATE_LIMITED", message, {
      limit: window.quota,
      window_seconds: window.seconds,
      retry_after_seconds: retryAfter,
    });
  };

  return (request: FastifyRequest, reply: FastifyReply, access: RouteAccess | undefined): Caller | undefined => {
    if (needsNoKey(request, access)) return undefined;
    const caller = callerOf(request, access);
    const { socket } = request.raw;
    if (certificates.isOutdated(socket)) {
      // The last answer on this connection: on the next one the certificate is verified with the current lists.
      reply.header("Connection", "close");
      if (hadLastAnswer.has(socket))
        return refuseRequest(request, "cannot take more here: certificates are verified anew");
      hadLastAnswer.add(socket);
    }
    if (typeof caller === "string") return refuseRequest(request, caller);
    // Set before the checks below: log and audit log name refused callers too.
    request.record.caller = caller;
    if (access?.openToLoopback === undefined) spend(caller, reply);
    if (access === undefined || access.scope === "self" || access.scope === "public") return caller;
    checkScope(caller, access, access.scope, request);
    for (const scope of access.alsoNeeds ?? [])
      if (!allows(caller.scopes, scope)) throw missingScope(scope, caller.scopes);
    return caller;
  };
}
