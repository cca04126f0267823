import type { PasskeyAssertion, PasskeyRegistration } from "#contract/passkeys.ts";

/** A stored session, with the digests of its halves in hexadecimal. Times are epoch milliseconds. */
export interface SessionRecord {
  readonly id: string;
  readonly keyId: string;
  readonly cookieDigest: string;
  readonly secretDigest: string;
  readonly createdAt: number;
  readonly endsAt: number;
  /** Null: it is read-only. */
  readonly elevatedUntil: number | null;
  readonly lastUsedAt: number;
  readonly remoteAddress: string | null;
}

export interface CodeRecord {
  readonly id: string;
  readonly keyId: string;
  readonly digest: string;
  readonly expiresAt: number;
}

/** Keeps sessions and one-time codes. What was confirmed to a client survives a crash. */
export interface SessionStore {
  readonly sessions: () => readonly SessionRecord[];
  /** Inserts it, or replaces the one with its id. @throws HostUnavailable when it cannot be stored. */
  readonly put: (session: SessionRecord) => void;
  readonly remove: (ids: readonly string[]) => void;
  readonly touch: (uses: ReadonlyMap<string, number>) => void;
  readonly code: (id: string) => CodeRecord | undefined;
  /** @throws HostUnavailable when it cannot be stored. */
  readonly insertCode: (code: CodeRecord) => void;
  /** Removes a code, before it is used. @returns false when it was gone already. */
  readonly takeCode: (id: string) => boolean;
  /** Removes codes that have expired, and the oldest of a key beyond so many. */
  readonly forgetCodes: (now: number, keyId: string, kept: number) => void;
}

/** A registered passkey. Times are epoch milliseconds. */
export interface PasskeyRecord {
  readonly id: string;
  readonly keyId: string;
  readonly name: string;
  /** Id of the credential in base64url, and the host name that it is bound to. */
  readonly credentialId: string;
  readonly domain: string;
  /** COSE. */
  readonly publicKey: Uint8Array;
  /** Of signatures, by authenticators that count them; others say 0. */
  readonly counter: number;
  readonly isSynced: boolean;
  readonly createdAt: number;
  readonly lastUsedAt: number | null;
}

/** Keeps passkeys. What was confirmed to a client survives a crash. */
export interface PasskeyStore {
  readonly list: () => readonly PasskeyRecord[];
  /** Inserts it, or replaces the one with its id. @throws HostUnavailable when it cannot be stored. */
  readonly put: (passkey: PasskeyRecord) => void;
  /** @throws HostUnavailable when that cannot be stored. */
  readonly remove: (id: string) => void;
}

/** What a challenge is for: a registration by one session, or a proof. */
export type PasskeyPurpose = `register ${string}` | "prove";

/** What an answer of an authenticator is held to. */
export interface Expected {
  readonly purpose: PasskeyPurpose;
  /** The origin of the page, from the headers of its request. */
  readonly origin: string;
  readonly nowMs: number;
}

export type NewCredential = Pick<PasskeyRecord, "credentialId" | "domain" | "publicKey" | "counter" | "isSynced"> & {
  readonly challenge: Challenge;
};

export interface Challenge {
  readonly text: string;
  readonly endsAtMs: number;
}

/** Why an answer of an authenticator is not accepted. */
export class PasskeyRefused extends Error {
  override readonly name = "PasskeyRefused";
}

/** W3C Web Authentication. Challenges are recognised by the process that made them, and not stored. */
export interface WebAuthn {
  /** COSE algorithms that are accepted, the preferred one first. */
  readonly algorithms: readonly number[];
  /** What authenticators keep of a key: its id, base64url. */
  readonly userHandle: (keyId: string) => string;
  readonly challenge: (purpose: PasskeyPurpose, endsAtMs: number) => string;
  /** @throws PasskeyRefused */
  readonly verifyRegistration: (answer: PasskeyRegistration, expected: Expected) => Promise<NewCredential>;
  /** @throws PasskeyRefused */
  readonly verifyAssertion: (
    answer: PasskeyAssertion,
    expected: Expected,
    passkey: PasskeyRecord,
  ) => Promise<{ readonly counter: number; readonly challenge: Challenge }>;
}
