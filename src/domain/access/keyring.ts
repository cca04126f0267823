import type { Caller } from "#contract/operation.ts";
import type { ClientCertificate, CredentialCodec, KeyRecord, KeyStore, TokenRecord } from "#domain/ports/access.ts";
import { createEmitter, type Emitter } from "#kernel/async.ts";
import type { Clock } from "#kernel/clock.ts";
import { scopesOn } from "./scopes.ts";

/** Times are epoch milliseconds. */
export interface KeyRequest {
  readonly name: string;
  readonly scopes: readonly string[];
  readonly expiresAt: number | null;
  readonly clientCert?: string;
}

export interface CertifiedKey {
  readonly keyId: string;
  /** Undefined when key or certificate has expired. */
  readonly caller: Caller | undefined;
}

export interface ExpiredUse {
  readonly id: string;
  readonly name: string;
  readonly expiresAt: number;
}

/** All keys and tokens, in memory and in the store, so that requests read no file. */
export type Keyring = ReturnType<typeof createKeyring>;

/** Tokens of one key; the one that expires first is dropped. */
const maxTokensPerKey = 100;

interface State {
  readonly store: KeyStore;
  readonly codec: CredentialCodec;
  readonly clock: Clock;
  /** Of this host, now. */
  readonly hostName: () => string;
  readonly keys: Map<string, KeyRecord>;
  readonly tokens: Map<string, TokenRecord>;
  /** Ids by certificate: the newest key of each. */
  readonly byCertificate: Map<string, string>;
  readonly unwrittenUses: Map<string, number>;
  readonly revocation: Emitter<string>;
  readonly expiredUse: Emitter<ExpiredUse>;
}

const isGood = (key: KeyRecord | undefined, now: number): key is KeyRecord =>
  key !== undefined && key.revokedAt === null && (key.expiresAt === null || key.expiresAt > now);

/** Made for each request otherwise. Records are replaced, never changed. */
const callers = new WeakMap<KeyRecord | TokenRecord, Caller>();

function toCaller({ hostName }: State, key: KeyRecord, token: TokenRecord | undefined): Caller {
  const granted = token?.scopes ?? key.scopes;
  const scopes = scopesOn(granted, hostName);
  const known = callers.get(token ?? key);
  // The list is another one when the host has another name.
  if (known?.scopes === scopes) return known;
  const caller: Caller = {
    keyId: key.id,
    keyName: key.name,
    credential: token === undefined ? "key" : "token",
    scopes,
    ...(scopes !== granted && { granted }),
    expiresAt: token?.expiresAt ?? key.expiresAt,
  };
  callers.set(token ?? key, caller);
  return caller;
}

const keyOfCertificate = ({ keys, byCertificate }: State, sha256: string): KeyRecord | undefined =>
  keys.get(byCertificate.get(sha256) ?? "");

function addKey({ keys, byCertificate }: State, key: KeyRecord): void {
  keys.set(key.id, key);
  if (key.clientCert !== null) byCertificate.set(key.clientCert, key.id);
}

function noteUse({ keys, unwrittenUses }: State, key: KeyRecord, now: number): void {
  if (key.lastUsedAt !== null && now - key.lastUsedAt < 60_000) return;
  keys.set(key.id, { ...key, lastUsedAt: now });
  unwrittenUses.set(key.id, now);
}

/** Not that of tokens, which end every hour, nor of keys that were revoked. */
function reportExpired({ expiredUse }: State, key: KeyRecord | undefined, now: number): void {
  if (key === undefined || key.revokedAt !== null || key.expiresAt === null || key.expiresAt > now) return;
  expiredUse.emit({ id: key.id, name: key.name, expiresAt: key.expiresAt });
}

function forgetTokens({ store, tokens }: State, gone: readonly TokenRecord[]): void {
  if (gone.length === 0) return;
  store.deleteTokens(gone.map((token) => token.id));
  for (const token of gone) tokens.delete(token.id);
}

function authenticate(state: State, credential: string, sender?: object): Caller | undefined {
  const { codec, clock, keys, tokens } = state;
  const presented = codec.parse(credential, sender);
  if (presented?.kind !== "key" && presented?.kind !== "token") return undefined;
  const now = clock.now();
  const token = presented.kind === "token" ? tokens.get(presented.id) : undefined;
  const key = keys.get(presented.kind === "token" ? (token?.keyId ?? "") : presented.id);
  if (!codec.proves(presented, presented.kind === "token" ? token?.digest : key?.digest)) return undefined;
  if (!isGood(key, now) || (token !== undefined && token.expiresAt <= now)) {
    reportExpired(state, key, now);
    return undefined;
  }
  noteUse(state, key, now);
  return toCaller(state, key, token);
}

function identify(state: State, { sha256, validTo }: ClientCertificate): CertifiedKey | undefined {
  const key = keyOfCertificate(state, sha256);
  if (key === undefined) return undefined;
  const now = state.clock.now();
  if (!isGood(key, now) || validTo <= now) {
    reportExpired(state, key, now);
    return { keyId: key.id, caller: undefined };
  }
  noteUse(state, key, now);
  const expiresAt = Math.min(validTo, key.expiresAt ?? validTo);
  return { keyId: key.id, caller: { ...toCaller(state, key, undefined), credential: "certificate", expiresAt } };
}

/** The caller that a key stands for, without what proves it. */
function callerOf(state: State, keyId: string): Caller | undefined {
  const key = state.keys.get(keyId);
  const now = state.clock.now();
  if (!isGood(key, now)) return undefined;
  noteUse(state, key, now);
  return toCaller(state, key, undefined);
}

function createKey(state: State, request: KeyRequest, keep?: (text: string) => void) {
  const { store, codec, clock } = state;
  const { name, scopes, expiresAt, clientCert = null } = request;
  const { text, id, digest } = codec.mint("key");
  const ends = { expiresAt, lastUsedAt: null, revokedAt: null };
  const record: KeyRecord = { id, name, scopes, digest, createdAt: clock.now(), ...ends, clientCert };
  keep?.(text);
  store.insertKey(record);
  addKey(state, record);
  return { text, record };
}

function revoke(state: State, id: string): KeyRecord | undefined {
  const { store, clock, keys, tokens, revocation } = state;
  const key = keys.get(id);
  if (key === undefined || key.revokedAt !== null) return key;
  const revoked = { ...key, revokedAt: clock.now() };
  store.revokeKey(id, revoked.revokedAt);
  keys.set(id, revoked);
  // Before its tokens are removed, which a full disk may refuse: they are worthless from here on.
  revocation.emit(id);
  forgetTokens(
    state,
    [...tokens.values()].filter((token) => token.keyId === id),
  );
  return revoked;
}

function createToken(state: State, keyId: string, scopes: readonly string[], expiresAt: number): string {
  const { store, codec, clock, tokens } = state;
  const now = clock.now();
  forgetTokens(
    state,
    [...tokens.values()].filter((token) => token.expiresAt <= now),
  );
  const own = [...tokens.values()].filter((token) => token.keyId === keyId);
  own.sort((a, b) => a.expiresAt - b.expiresAt);
  forgetTokens(state, own.slice(0, Math.max(0, own.length - maxTokensPerKey + 1)));
  const { text, id, digest } = codec.mint("token");
  const record = { id, keyId, scopes, digest, expiresAt };
  store.insertToken(record);
  tokens.set(id, record);
  return text;
}

export function createKeyring(ports: {
  store: KeyStore;
  codec: CredentialCodec;
  clock: Clock;
  hostName: () => string;
}) {
  const { store, clock } = ports;
  const state: State = {
    ...ports,
    keys: new Map(),
    tokens: new Map(store.tokens().map((token) => [token.id, token])),
    byCertificate: new Map(),
    unwrittenUses: new Map(),
    revocation: createEmitter(),
    expiredUse: createEmitter(),
  };
  const { keys, unwrittenUses } = state;
  for (const key of store.keys()) addKey(state, key);

  return {
    /** Undefined for every credential that is not valid, without the reason. */
    authenticate: (credential: string, sender?: object): Caller | undefined => authenticate(state, credential, sender),
    /** What a session of the key may do; undefined when the key has ended. */
    callerOf: (keyId: string): Caller | undefined => callerOf(state, keyId),
    /** Undefined when the certificate belongs to no key. */
    identify: (certificate: ClientCertificate): CertifiedKey | undefined => identify(state, certificate),
    /** The valid key of a certificate. */
    certified: (sha256: string): KeyRecord | undefined => {
      const key = keyOfCertificate(state, sha256);
      return isGood(key, clock.now()) ? key : undefined;
    },
    /** What a key may do on this host. */
    scopesHere: ({ scopes }: Pick<KeyRecord, "scopes">): readonly string[] => scopesOn(scopes, state.hostName),
    list: (): readonly KeyRecord[] => [...keys.values()],
    find: (id: string): KeyRecord | undefined => keys.get(id),
    /** @param keep is called with the key before it is stored, so that a crash leaves no key that nobody knows. */
    create: (request: KeyRequest, keep?: (text: string) => void) => createKey(state, request, keep),
    /** Revoking a revoked key changes nothing. */
    revoke: (id: string): KeyRecord | undefined => revoke(state, id),
    hasEnded: ({ keyId, expiresAt }: Caller): boolean => {
      const revokedAt = keys.get(keyId)?.revokedAt ?? null;
      return revokedAt !== null || (expiresAt !== null && expiresAt <= clock.now());
    },
    /** Reports each use of a key that has expired. */
    onExpiredUse: state.expiredUse.on,
    /** Reports each revoked key, to close its connections. */
    onRevoked: state.revocation.on,
    createToken: (keyId: string, scopes: readonly string[], expiresAt: number): string =>
      createToken(state, keyId, scopes, expiresAt),
    flush: (): void => {
      if (unwrittenUses.size === 0) return;
      store.touchKeys(unwrittenUses);
      unwrittenUses.clear();
    },
  };
}

/**
 * Reports at once when the store can no longer be written, and when it can again: its component is probed only every 30 s, and
 * callers with a refused change should see why.
 */
export function watchedStore(store: KeyStore, onTurn: () => void): KeyStore {
  let isHealthy = true;
  const turn = (isHealthyNow: boolean): void => {
    if (isHealthy === isHealthyNow) return;
    isHealthy = isHealthyNow;
    onTurn();
  };
  const watched =
    <Values extends readonly unknown[]>(write: (...values: Values) => void) =>
    (...values: Values): void => {
      try {
        write(...values);
      } catch (error) {
        turn(false);
        throw error;
      }
      turn(true);
    };
  return {
    keys: store.keys,
    tokens: store.tokens,
    insertKey: watched(store.insertKey),
    revokeKey: watched(store.revokeKey),
    insertToken: watched(store.insertToken),
    deleteTokens: watched(store.deleteTokens),
    touchKeys: watched(store.touchKeys),
  };
}
