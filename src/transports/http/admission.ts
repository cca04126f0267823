import type { Socket } from "node:net";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Caller, Operation, Quota } from "#contract/operation.ts";
import { scopeRefusal } from "#domain/access/can.ts";
import { elevationRefusal } from "#domain/access/credential-refusal.ts";
import type { Keyring } from "#domain/access/keyring.ts";
import { type Need, needsOf } from "#domain/access/needs.ts";
import {
  budgetRefusal,
  type Decision,
  type Window,
  type WindowState,
  wholeSeconds,
} from "#domain/access/rate-limit.ts";
import type { Sessions } from "#domain/access/sessions.ts";
import { DomainError } from "#domain/common/error.ts";
import type { Clock } from "#kernel/clock.ts";
import { isLocalPeer, isRelayed } from "./guard.ts";
import { addressGroup, type LocalPeers } from "./peers.ts";
import { relayedCall } from "./relayed.ts";
import { type PresentedSession, requireOwnPage, type SessionCookies } from "./sessions.ts";
import type { ClientCertificates } from "./tls.ts";

export type RouteAccess = Pick<
  Operation,
  "scope" | "alsoNeeds" | "resource" | "narrows" | "openToLoopback" | "session"
> & {
  /** A read unless given; what is no read can be proposed. */
  readonly effect?: Operation["effect"];
  /**
   * The key may be in the query as `api_key`, and a ticket of a session as `ticket`: browsers cannot set headers on a
   * WebSocket.
   */
  readonly keyInQuery?: true;
};

export interface AdmissionPorts {
  readonly authenticate: Keyring["authenticate"];
  readonly identify: Keyring["identify"];
  readonly sessions: Pick<Sessions, "authenticate" | "redeemTicket">;
  /** Whether a credential has expired or been revoked since it was accepted. */
  readonly hasEnded: (caller: Caller) => boolean;
  readonly cookies: SessionCookies;
  readonly certificates: Pick<ClientCertificates, "of" | "isOutdated">;
  readonly localPeers: Pick<LocalPeers, "of">;
  readonly takeBudget: ((keyId: string) => Decision) | undefined;
  readonly takeFailure: (address: string) => Decision;
  /** Whether a caller without a scope may propose calls that need it. */
  readonly mayPropose: (caller: Caller, need: Need) => boolean;
  readonly metricsPublic: "loopback" | "always" | "never";
  readonly clock: Pick<Clock, "now">;
}

/** RFC 6750 §2.1: the scheme's name is case-insensitive, one space, then the token. */
const bearer = /^bearer ([A-Za-z0-9._~+/-]+=*)$/i;

/** Of a query that names a key, where none may be. */
export const keyNotInQuery = "only streams take it, where a page can send no headers (X-API-Key, or a Bearer token)";
const noKey = "invalid or missing API key (send it in X-API-Key, or as a Bearer token)";

function noKeyIn({ query }: FastifyRequest): string {
  const { api_key: inQuery } = query as Readonly<Record<string, unknown>>;
  return inQuery === undefined ? noKey : `cannot take the key from api_key in the query: ${keyNotInQuery}`;
}

const cannotTell = (why: string): string => `cannot tell who calls: ${why}`;
const sentTwice = (where: string): string => cannotTell(`${where} was sent more than once (send it once)`);
const twoDiffer = cannotTell("two different credentials were sent (send one of them)");
const otherScheme = cannotTell("the scheme of Authorization must be Bearer (or send the key in X-API-Key alone)");

const sessionAndKey = cannotTell("a session and another credential were sent (send one of them)");
const firstHalf = "cannot accept half a session: the cookie came without X-Steward-Session (send both, or an API key)";
const secondHalf = "cannot accept half a session: its cookie is missing (send both halves, or an API key)";
const noSession = "invalid session: it has ended, or its halves do not belong together (sign in again)";
const noTicket =
  "invalid ticket: a ticket works once, within 30 seconds, with the cookie of its session (make another)";

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

/** The credential of a request. One that is sent in several places must be the same in all. */
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

/** Who calls in a session; a message where that is not known. @throws DomainError where the page may not use one. */
function sessionCaller(
  sessions: AdmissionPorts["sessions"],
  request: FastifyRequest,
  { second, cookies }: PresentedSession,
): Caller | string {
  if (second === undefined) return firstHalf;
  requireOwnPage(request);
  if (cookies.length === 0) return secondHalf;
  if (second.kind === "ticket") return sessions.redeemTicket(cookies, second.text) ?? noTicket;
  return sessions.authenticate(cookies, second.text, request.raw.socket) ?? noSession;
}

/** @throws DomainError FORBIDDEN when the caller has not the scopes of the route, or is in a session that may only read. */
function checkScopes(
  caller: Caller,
  access: RouteAccess,
  { params }: FastifyRequest,
  mayPropose: AdmissionPorts["mayPropose"],
): void {
  const isMutation = access.effect !== undefined && access.effect !== "read";
  for (const need of needsOf(access, access.resource?.(params as Record<string, string>))) {
    const refusal = scopeRefusal(caller, need);
    if (refusal !== undefined && !(isMutation && mayPropose(caller, need))) throw refusal;
  }
  const refusal = elevationRefusal(caller, access);
  if (refusal !== undefined) throw refusal;
}

function needsNoKey(
  request: FastifyRequest,
  access: RouteAccess | undefined,
  metricsPublic: AdmissionPorts["metricsPublic"],
): boolean {
  if (access?.scope === "public") return true;
  if (!access?.openToLoopback || metricsPublic === "never") return false;
  return metricsPublic === "always" || isLocalPeer(request.raw);
}

/** For whom a call is relayed, perhaps minutes after its request was admitted. @throws DomainError `UNAUTHORIZED` */
function relayedCaller({ record }: FastifyRequest, hasEnded: AdmissionPorts["hasEnded"]): Caller | undefined {
  const { caller } = relayedCall() ?? {};
  // Before it is refused: the audit log names who it was.
  record.caller = caller;
  if (caller !== undefined && hasEnded(caller))
    throw new DomainError("UNAUTHORIZED", "the credential expired or was revoked after the call began");
  return caller;
}

/** Counts a request. @throws DomainError `RATE_LIMITED` */
const spendingOf =
  ({ takeBudget, clock }: Pick<AdmissionPorts, "takeBudget" | "clock">) =>
  (caller: Caller, reply: FastifyReply): void => {
    // The limits are those of keys; anyone who may open the socket can also stop the service.
    if (caller.credential === "socket") return;
    const decision = takeBudget?.(caller.keyId);
    if (decision === undefined) return;
    setLimitHeaders(reply, decision, clock.now());
    if (!decision.allowed) throw budgetRefusal(decision);
  };

export type Logins = ReturnType<typeof createAdmission>["login"];

const policies = new WeakMap<Window, string>();

function policyOf({ window }: WindowState): string {
  const known = policies.get(window);
  if (known !== undefined) return known;
  const policy = `"${window.name}";q=${window.quota};w=${window.seconds}`;
  policies.set(window, policy);
  return policy;
}

/** The headers of both windows. @param now epoch milliseconds. */
function setLimitHeaders(reply: FastifyReply, { tightest, windows }: Decision, now: number): void {
  reply.header("x-ratelimit-limit", tightest.window.quota);
  reply.header("x-ratelimit-remaining", tightest.remaining);
  reply.header("x-ratelimit-reset", Math.ceil((now + tightest.endsInMs) / 1000));
  reply.header("ratelimit-policy", windows.map(policyOf).join(", "));
  const { window, remaining, endsInMs } = tightest;
  reply.header("ratelimit", `"${window.name}";r=${remaining};t=${wholeSeconds(endsInMs)}`);
}

function addItem(reply: FastifyReply, name: string, item: string): void {
  const before = reply.getHeader(name);
  reply.header(name, before === undefined ? item : `${String(before)}, ${item}`);
}

export function setQuotaHeaders(reply: FastifyReply, quota: Quota): void {
  const { name, limit, remaining, windowSeconds, resetSeconds } = quota;
  addItem(reply, "RateLimit-Policy", `"${name}";q=${limit};w=${windowSeconds}`);
  addItem(reply, "RateLimit", `"${name}";r=${remaining};t=${resetSeconds}`);
}

/**
 * Admits or refuses a request, in this order: authentication, rate limit, scope. It returns the caller, undefined where none
 * is needed, and throws DomainError. Paths without an operation (no `access`) need a key too.
 */
export function createAdmission(ports: AdmissionPorts) {
  const { authenticate, identify, sessions, cookies, certificates, localPeers } = ports;
  const { takeFailure, metricsPublic } = ports;
  const spend = spendingOf(ports);
  const certificateOf = certificates.of;
  /** Connections whose last answer is being made: no further request on them is served. */
  const hadLastAnswer = new WeakSet<Socket>();

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
    const session = cookies.presented(request, access?.keyInQuery === true);
    const isInSession = session?.second !== undefined;
    if (sent === undefined && !isInSession) {
      // A browser shows its certificate for whatever page asks.
      const isForeign = request.record.foreignOrigin !== undefined;
      const other = (isForeign ? undefined : certified?.caller) ?? localCaller(request);
      return other ?? (session === undefined ? noKeyIn(request) : firstHalf);
    }
    // A cookie alone is nothing: browsers send it beside whatever a page sends.
    if (sent !== undefined && isInSession) return sessionAndKey;
    const caller = isInSession
      ? sessionCaller(sessions, request, session)
      : authenticate(sent?.credential ?? "", request.raw.socket);
    if (typeof caller === "string") return caller;
    if (certified === undefined || caller?.keyId === certified.keyId) return caller ?? noKey;
    return cannotTell("the client certificate does not go with the API key (send one of them)");
  };

  /** Counts a failed login. */
  const failure = (request: FastifyRequest, reason: string, code: "UNAUTHORIZED" | "FORBIDDEN" = "UNAUTHORIZED") => {
    const { allowed, tightest } = takeFailure(addressGroup(request.record.remoteAddress ?? ""));
    if (allowed) return new DomainError(code, reason);
    const retryAfter = wholeSeconds(tightest.endsInMs);
    return new DomainError("RATE_LIMITED", `too many failed logins from this address: try again in ${retryAfter} s`, {
      retry_after_seconds: retryAfter,
    });
  };

  const identified = (request: FastifyRequest, reply: FastifyReply, access: RouteAccess | undefined): Caller => {
    const caller = callerOf(request, access);
    const { socket } = request.raw;
    if (certificates.isOutdated(socket)) {
      // The last answer on this connection: on the next one the certificate is verified with the current lists.
      reply.header("Connection", "close");
      if (hadLastAnswer.has(socket)) throw failure(request, "client certificates have changed (connect again)");
      hadLastAnswer.add(socket);
    }
    if (typeof caller === "string") throw failure(request, caller);
    // Set before the checks below: log and audit log name refused callers too.
    request.record.caller = caller;
    if (access?.openToLoopback === undefined) spend(caller, reply);
    return caller;
  };

  const admit = (request: FastifyRequest, reply: FastifyReply, access: RouteAccess | undefined): Caller | undefined => {
    if (needsNoKey(request, access, metricsPublic)) return undefined;
    const relayed = relayedCaller(request, ports.hasEnded);
    const caller = relayed ?? identified(request, reply, access);
    request.record.caller = caller;
    if (relayed !== undefined && relayedCall()?.isCounted === false) spend(relayed, reply);
    if (access !== undefined) checkScopes(caller, access, request, ports.mayPropose);
    return caller;
  };

  return {
    admit,
    /** A login by a credential in the body. */
    login: {
      /** @throws DomainError `RATE_LIMITED` when the budget of the key is used up. */
      by(request: FastifyRequest, reply: FastifyReply, caller: Caller): void {
        request.record.caller = caller;
        spend(caller, reply);
      },
      failure,
      sendCookie: cookies.send,
    },
  };
}
