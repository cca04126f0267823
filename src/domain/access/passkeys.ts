import type { Caller } from "#contract/operation.ts";
import type { PasskeyAssertion, PasskeyCreationOptions, PasskeyRegistration } from "#contract/passkeys.ts";
import type { CredentialCodec } from "#domain/ports/access.ts";
import {
  type Challenge,
  type NewCredential,
  type PasskeyRecord,
  PasskeyRefused,
  type PasskeyStore,
  type WebAuthn,
} from "#domain/ports/sessions.ts";
import type { Clock } from "#kernel/clock.ts";
import type { Keyring } from "./keyring.ts";

export interface PasskeyPorts {
  readonly store: PasskeyStore;
  readonly webauthn: WebAuthn;
  readonly codec: Pick<CredentialCodec, "mint">;
  readonly keyring: Pick<Keyring, "find" | "onRevoked">;
  readonly clock: Pick<Clock, "now">;
  readonly hostName: () => string;
}

/** A registration that was verified, and is not stored yet. */
export interface VerifiedRegistration {
  /** @throws PasskeyRefused where its challenge was used meanwhile. @throws HostUnavailable when it cannot be stored. */
  readonly store: () => PasskeyRecord;
}

/** Whose key a passkey has proven. */
export interface PasskeyProof {
  readonly keyId: string;
  readonly passkeyId: string;
  /** Uses it up. @throws PasskeyRefused where somebody else has. */
  readonly use: () => void;
}

export const maxPasskeysPerKey = 16;
const challengeLifetimeMs = 120_000;

interface State extends PasskeyPorts {
  readonly passkeys: Map<string, PasskeyRecord>;
  /** Ends of challenges that were used, by their texts. */
  readonly used: Map<string, number>;
  /** Of keys that are gone, and to be removed from the store. */
  readonly orphans: Set<string>;
}

function useChallenge({ used, clock }: State, { text, endsAtMs }: Challenge): void {
  const now = clock.now();
  for (const [each, end] of used) if (end <= now) used.delete(each);
  if (used.has(text)) throw new PasskeyRefused("its challenge was used before");
  used.set(text, endsAtMs);
}

const ofKey = ({ passkeys }: State, keyId: string): readonly PasskeyRecord[] =>
  [...passkeys.values()].filter((each) => each.keyId === keyId);

function store(state: State, passkey: PasskeyRecord): PasskeyRecord {
  state.store.put(passkey);
  state.passkeys.set(passkey.id, passkey);
  return passkey;
}

function remove({ store: { remove: unstore }, passkeys }: State, id: string): void {
  unstore(id);
  passkeys.delete(id);
}

function removeOrphans({ store: { remove: unstore }, orphans }: State): void {
  for (const id of orphans) unstore(id);
  orphans.clear();
}

function forgetKey(state: State, keyId: string): void {
  for (const { id } of ofKey(state, keyId)) {
    state.passkeys.delete(id);
    state.orphans.add(id);
  }
}

const isLater = (counter: number, before: number): boolean => counter > before || (counter === 0 && before === 0);

async function prove(state: State, answer: PasskeyAssertion, origin: string): Promise<PasskeyProof> {
  const { webauthn, clock, passkeys } = state;
  const passkey = [...passkeys.values()].find(({ credentialId }) => credentialId === answer.id);
  if (passkey === undefined) throw new PasskeyRefused("it is not known here, or was removed");
  const { id, keyId } = passkey;
  const { userHandle } = answer.response;
  if (typeof userHandle === "string" && userHandle !== webauthn.userHandle(keyId))
    throw new PasskeyRefused("it is of another key");
  const expected = { purpose: "prove", origin, nowMs: clock.now() } as const;
  const { counter, challenge } = await webauthn.verifyAssertion(answer, expected, passkey);
  return {
    keyId,
    passkeyId: id,
    use() {
      const now = passkeys.get(id);
      if (now === undefined) throw new PasskeyRefused("it was removed");
      if (!isLater(counter, now.counter)) throw new PasskeyRefused("it was used meanwhile");
      useChallenge(state, challenge);
      store(state, { ...now, counter, lastUsedAt: clock.now() });
    },
  };
}

function addPasskey(
  state: State,
  { keyId, name }: { keyId: string; name: string },
  made: NewCredential,
): PasskeyRecord {
  const { codec, clock, passkeys } = state;
  const { challenge, ...credential } = made;
  if ([...passkeys.values()].some(({ credentialId }) => credentialId === credential.credentialId))
    throw new PasskeyRefused("it is registered already");
  useChallenge(state, challenge);
  removeOrphans(state);
  const { id } = codec.mint("cookie");
  return store(state, { id, keyId, name, ...credential, createdAt: clock.now(), lastUsedAt: null });
}

/** Passkeys of keys, in memory and in the store. Each stands for its key at sign-in, and ends with it. */
export function createPasskeys(ports: PasskeyPorts) {
  const { webauthn, clock, keyring, hostName } = ports;
  const state: State = {
    ...ports,
    passkeys: new Map(ports.store.list().map((passkey) => [passkey.id, passkey])),
    used: new Map(),
    orphans: new Set(),
  };
  const isGone = (keyId: string): boolean => keyring.find(keyId)?.revokedAt !== null;
  for (const keyId of new Set([...state.passkeys.values()].map((each) => each.keyId)))
    if (isGone(keyId)) forgetKey(state, keyId);
  keyring.onRevoked((keyId) => forgetKey(state, keyId));
  const options = { timeout: challengeLifetimeMs, userVerification: "required" } as const;
  const challengeFor = (purpose: Parameters<WebAuthn["challenge"]>[0]): string =>
    webauthn.challenge(purpose, clock.now() + challengeLifetimeMs);

  return {
    requestOptions: () => ({ challenge: challengeFor("prove"), ...options }),

    creationOptions: (
      { keyId, keyName }: Pick<Caller, "keyId" | "keyName">,
      sessionId: string,
    ): PasskeyCreationOptions => ({
      challenge: challengeFor(`register ${sessionId}`),
      timeout: options.timeout,
      rp: { name: `Steward on ${hostName()}` },
      user: { id: webauthn.userHandle(keyId), name: `${keyName} on ${hostName()}`, displayName: keyName },
      pubKeyCredParams: webauthn.algorithms.map((alg) => ({ type: "public-key", alg })),
      excludeCredentials: ofKey(state, keyId).map(({ credentialId }) => ({ type: "public-key", id: credentialId })),
      authenticatorSelection: { residentKey: "required", requireResidentKey: true, userVerification: "required" },
      attestation: "none",
    }),

    /** @throws PasskeyRefused */
    async register(
      answer: PasskeyRegistration,
      { sessionId, origin, ...given }: { sessionId: string; origin: string; keyId: string; name: string },
    ): Promise<VerifiedRegistration> {
      const made = await webauthn.verifyRegistration(answer, {
        purpose: `register ${sessionId}`,
        origin,
        nowMs: clock.now(),
      });
      return { store: () => addPasskey(state, given, made) };
    },

    /** @throws PasskeyRefused */
    prove: (answer: PasskeyAssertion, origin: string): Promise<PasskeyProof> => prove(state, answer, origin),

    /** The newest first. */
    list: (): readonly PasskeyRecord[] =>
      [...state.passkeys.values()].sort((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? -1 : 1)),

    /** @throws HostUnavailable when that cannot be stored: then it would be good again after a restart. */
    remove: (id: string): void => remove(state, id),
  };
}

export type Passkeys = ReturnType<typeof createPasskeys>;
