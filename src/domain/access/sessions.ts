import type { Caller } from "#contract/operation.ts";
import type { CredentialCodec } from "#domain/ports/access.ts";
import type { SessionRecord, SessionStore } from "#domain/ports/sessions.ts";
import { createEmitter, type Emitter } from "#kernel/async.ts";
import type { Clock } from "#kernel/clock.ts";
import type { Keyring } from "./keyring.ts";

/** In milliseconds. */
export interface SessionLimits {
  /** A session that was not used for so long has ended. */
  readonly idleMs: number;
  /** It ends then at the latest. */
  readonly absoluteMs: number;
  /** It may change something for so long. */
  readonly elevatedMs: number;
}

export interface SessionPorts {
  readonly store: SessionStore;
  readonly codec: CredentialCodec;
  readonly keyring: Pick<Keyring, "callerOf" | "find" | "hasEnded" | "onRevoked">;
  readonly clock: Pick<Clock, "now" | "monotonicMs">;
  readonly limits: SessionLimits;
}

/** A session with its halves, which are shown this once. */
export interface IssuedSession {
  readonly session: SessionRecord;
  readonly cookie: string;
  readonly secret: string;
}

interface Ticket {
  readonly sessionId: string;
  readonly digest: string;
  readonly endsAtMs: number;
}

const codeLifetimeMs = 60_000;
export const ticketLifetimeMs = 30_000;
/** Of one key; the one that was used longest ago is ended. */
const maxSessionsPerKey = 16;
const maxSessions = 1_000;
const maxCodesPerKey = 8;
/** Of one session; the oldest is dropped. */
const maxTickets = 16;
/** A clock is corrected by less. Beyond that a session would last longer than it may. */
const setBackMs = 60_000;
/** Uses are stored when they are so far apart. */
const useMs = 60_000;

interface State extends SessionPorts {
  readonly sessions: Map<string, SessionRecord>;
  readonly usedAt: Map<string, number>;
  readonly tickets: Map<string, Ticket>;
  readonly end: Emitter<string>;
  /** Ended, and to be removed from the store. */
  readonly ended: Set<string>;
  readonly unwrittenUses: Map<string, number>;
  /** As they were made last, with the caller that the key was then. */
  readonly callers: WeakMap<SessionRecord, { readonly ofKey: Caller; readonly caller: Caller }>;
}

const lastUse = ({ usedAt }: State, { id, lastUsedAt }: SessionRecord): number => usedAt.get(id) ?? lastUsedAt;

function isGood(state: State, session: SessionRecord): boolean {
  const { clock, limits, keyring } = state;
  const now = clock.now();
  const used = lastUse(state, session);
  const isSetBack = now < used - setBackMs || now < session.createdAt - setBackMs;
  const key = keyring.find(session.keyId);
  const isOfGoodKey = key !== undefined && key.revokedAt === null && (key.expiresAt === null || key.expiresAt > now);
  return isOfGoodKey && !isSetBack && now < session.endsAt && now < used + limits.idleMs;
}

/** Ends it in memory; it is removed from the store later. */
function forget({ sessions, usedAt, tickets, unwrittenUses, ended, end }: State, id: string): void {
  if (!sessions.delete(id)) return;
  usedAt.delete(id);
  unwrittenUses.delete(id);
  for (const [ticket, { sessionId }] of tickets) if (sessionId === id) tickets.delete(ticket);
  ended.add(id);
  end.emit(id);
}

function removeEnded({ store, ended }: State): void {
  if (ended.size === 0) return;
  store.remove([...ended]);
  ended.clear();
}

function forgetEnded(state: State): void {
  for (const session of state.sessions.values()) if (!isGood(state, session)) forget(state, session.id);
}

function goodSession(state: State, id: string): SessionRecord | undefined {
  const session = state.sessions.get(id);
  if (session === undefined || isGood(state, session)) return session;
  forget(state, id);
  return undefined;
}

function toCaller(state: State, session: SessionRecord): Caller | undefined {
  const ofKey = state.keyring.callerOf(session.keyId);
  if (ofKey === undefined) return undefined;
  const { endsAt, elevatedUntil, id } = session;
  const isElevated = elevatedUntil !== null && elevatedUntil > state.clock.now();
  const known = state.callers.get(session);
  if (known?.ofKey === ofKey && known.caller.session?.isElevated === isElevated) return known.caller;
  const caller: Caller = {
    ...ofKey,
    credential: "session",
    expiresAt: Math.min(endsAt, ofKey.expiresAt ?? endsAt),
    session: { id, isElevated, keyExpiresAt: ofKey.expiresAt },
  };
  state.callers.set(session, { ofKey, caller });
  return caller;
}

function noteUse(state: State, { id, lastUsedAt }: SessionRecord): void {
  const now = state.clock.now();
  const written = state.unwrittenUses.get(id) ?? lastUsedAt;
  state.usedAt.set(id, now);
  if (now - written >= useMs) state.unwrittenUses.set(id, now);
}

/** Whether one of the cookies is the first half of the session. Another port of the host may have set more of them. */
function hasCookie(
  { codec }: State,
  {
    id,
    cookies,
    sender,
  }: { readonly id: string; readonly cookies: readonly string[]; readonly sender?: object | undefined },
  expected: string | undefined,
): boolean {
  let found = false;
  for (const each of cookies) {
    const cookie = codec.parse(each, sender);
    const isOwn = cookie?.kind === "cookie" && cookie.id === id;
    if (codec.proves(cookie, isOwn ? expected : undefined)) found = true;
  }
  return found;
}

function authenticate(state: State, cookies: readonly string[], secret: string, sender?: object): Caller | undefined {
  const { codec } = state;
  const second = codec.parse(secret, sender);
  if (second?.kind !== "session") return undefined;
  const session = state.sessions.get(second.id);
  const isSecond = codec.proves(second, session?.secretDigest);
  const isFirst = hasCookie(state, { id: second.id, cookies, sender }, session?.cookieDigest);
  if (session === undefined || !isSecond || !isFirst || goodSession(state, session.id) === undefined) return undefined;
  noteUse(state, session);
  return toCaller(state, session);
}

function redeemTicket(state: State, cookies: readonly string[], text: string): Caller | undefined {
  const { codec, clock, tickets } = state;
  const presented = codec.parse(text);
  if (presented?.kind !== "ticket") return undefined;
  const ticket = tickets.get(presented.id);
  if (!codec.proves(presented, ticket?.digest) || ticket === undefined) return undefined;
  // Used up also where the cookie is missing: anyone who sends it without has found it somewhere.
  tickets.delete(presented.id);
  const session = goodSession(state, ticket.sessionId);
  if (session === undefined || clock.monotonicMs() >= ticket.endsAtMs) return undefined;
  return hasCookie(state, { id: session.id, cookies }, session.cookieDigest) ? toCaller(state, session) : undefined;
}

function issue(state: State, session: SessionRecord): IssuedSession {
  const { codec, store, sessions } = state;
  const [cookie, secret] = [codec.mint("cookie", session.id), codec.mint("session", session.id)];
  const next: SessionRecord = { ...session, cookieDigest: cookie.digest, secretDigest: secret.digest };
  store.put(next);
  sessions.set(next.id, next);
  return { session: next, cookie: cookie.text, secret: secret.text };
}

/** Ends those that were used longest ago where there are too many. */
function makeSpace(state: State, keyId: string): void {
  const byUse = [...state.sessions.values()].sort((a, b) => lastUse(state, a) - lastUse(state, b));
  const own = byUse.filter((session) => session.keyId === keyId);
  for (const { id } of own.slice(0, Math.max(0, own.length - maxSessionsPerKey))) forget(state, id);
  if (state.sessions.size > maxSessions) for (const { id } of byUse.slice(0, 1)) forget(state, id);
}

function begin(state: State, keyId: string, remoteAddress: string | null): IssuedSession {
  const { clock, limits, codec } = state;
  const now = clock.now();
  forgetEnded(state);
  const { id } = codec.mint("cookie");
  const made = issue(state, {
    ...{ id, keyId, remoteAddress, cookieDigest: "", secretDigest: "" },
    ...{ createdAt: now, lastUsedAt: now, elevatedUntil: null },
    endsAt: now + limits.absoluteMs,
  });
  makeSpace(state, keyId);
  return made;
}

function createTicket(state: State, sessionId: string): string {
  const { codec, clock, tickets } = state;
  const nowMs = clock.monotonicMs();
  for (const [id, { endsAtMs }] of tickets) if (endsAtMs <= nowMs) tickets.delete(id);
  const own = [...tickets].filter(([, ticket]) => ticket.sessionId === sessionId);
  for (const [id] of own.slice(0, Math.max(0, own.length - maxTickets + 1))) tickets.delete(id);
  const { text, id, digest } = codec.mint("ticket");
  tickets.set(id, { sessionId, digest, endsAtMs: nowMs + ticketLifetimeMs });
  return text;
}

/** The code, whose key it stands for, before it is used. */
function readCode(
  { store, codec, clock }: State,
  text: string,
): { readonly id: string; readonly keyId: string } | undefined {
  const presented = codec.parse(text);
  if (presented?.kind !== "code") return undefined;
  const code = store.code(presented.id);
  if (!codec.proves(presented, code?.digest) || code === undefined) return undefined;
  const left = code.expiresAt - clock.now();
  // A clock that was set back would make it last longer.
  return left > 0 && left <= codeLifetimeMs ? code : undefined;
}

function createCode(
  { store, codec, clock }: State,
  keyId: string,
): { readonly code: string; readonly expiresAt: number } {
  const now = clock.now();
  store.forgetCodes(now, keyId, maxCodesPerKey - 1);
  const { text, id, digest } = codec.mint("code");
  const expiresAt = now + codeLifetimeMs;
  store.insertCode({ id, keyId, digest, expiresAt });
  return { code: text, expiresAt };
}

/**
 * Sessions of keys in browsers, in memory and in the store, so that requests read no file. Each has two halves, of which only
 * the digests are kept.
 */
export function createSessions(ports: SessionPorts) {
  const { store, keyring, clock, limits } = ports;
  const state: State = {
    ...ports,
    sessions: new Map(store.sessions().map((session) => [session.id, session])),
    usedAt: new Map(),
    tickets: new Map(),
    end: createEmitter(),
    ended: new Set(),
    unwrittenUses: new Map(),
    callers: new WeakMap(),
  };
  const { sessions } = state;
  forgetEnded(state);
  keyring.onRevoked((keyId) => {
    for (const session of sessions.values()) if (session.keyId === keyId) forget(state, session.id);
  });

  return {
    limits,
    /**
     * Undefined for halves that are no session together, without the reason.
     * @param sender what sends them again and again, see {@link CredentialCodec.parse}.
     */
    authenticate: (cookies: readonly string[], secret: string, sender?: object): Caller | undefined =>
      authenticate(state, cookies, secret, sender),
    /** Uses a ticket up. Undefined for one that is not good, without the reason. */
    redeemTicket: (cookies: readonly string[], ticket: string): Caller | undefined =>
      redeemTicket(state, cookies, ticket),
    /** Begins a read-only session of a key. @throws HostUnavailable when it cannot be stored. */
    begin: (keyId: string, remoteAddress: string | null): IssuedSession => begin(state, keyId, remoteAddress),
    /** Lets it change something, with other halves. */
    elevate: (session: SessionRecord): IssuedSession =>
      issue(state, {
        ...session,
        lastUsedAt: lastUse(state, session),
        elevatedUntil: Math.min(clock.now() + limits.elevatedMs, session.endsAt),
      }),
    find: (id: string): SessionRecord | undefined => goodSession(state, id),
    list: (): readonly SessionRecord[] => {
      forgetEnded(state);
      return [...sessions.values()]
        .map((session) => ({ ...session, lastUsedAt: lastUse(state, session) }))
        .sort((a, b) => b.lastUsedAt - a.lastUsedAt || (a.id < b.id ? -1 : 1));
    },
    /** Ends it at once. @throws when that cannot be stored: then it would be good again after a restart. */
    end: (id: string): void => {
      forget(state, id);
      removeEnded(state);
    },
    count: (): number => sessions.size,
    hasEnded: (caller: Caller): boolean =>
      caller.session !== undefined && goodSession(state, caller.session.id) === undefined,
    /** Reports each session that ends, to close its connections. */
    onEnded: state.end.on,
    createTicket: (sessionId: string): string => createTicket(state, sessionId),
    createCode: (keyId: string) => createCode(state, keyId),
    readCode: (text: string) => readCode(state, text),
    /** @returns false when somebody else has used it. @throws HostUnavailable when that cannot be stored. */
    useCode: (id: string): boolean => store.takeCode(id),
    /** Stores what has changed since, at most once a minute for each session. */
    flush: (): void => {
      forgetEnded(state);
      removeEnded(state);
      const { unwrittenUses } = state;
      if (unwrittenUses.size === 0) return;
      store.touch(unwrittenUses);
      for (const [id, lastUsedAt] of unwrittenUses) {
        const session = sessions.get(id);
        if (session !== undefined) sessions.set(id, { ...session, lastUsedAt });
      }
      unwrittenUses.clear();
    },
  };
}

export type Sessions = ReturnType<typeof createSessions>;
