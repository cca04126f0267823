import { randomUUID } from "node:crypto";
import { type Challenge, type Expected, PasskeyRefused, type WebAuthn } from "#domain/ports/passkeys.ts";

interface ClientData {
  readonly type: string;
  readonly challenge: string;
  readonly origin: string;
}

/** Web Authentication that believes all signatures. */
export function createFakeWebAuthn(): WebAuthn {
  const made = new Map<string, { readonly purpose: string; readonly endsAtMs: number }>();

  function read(text: string, type: string, { purpose, origin, nowMs }: Expected): Challenge {
    const data = JSON.parse(Buffer.from(text, "base64url").toString()) as ClientData;
    const challenge = made.get(data.challenge);
    if (data.type !== type || data.origin !== origin) throw new PasskeyRefused("it is of another page");
    if (challenge?.purpose !== purpose || challenge.endsAtMs <= nowMs) throw new PasskeyRefused("it is not one of now");
    return { text: data.challenge, endsAtMs: challenge.endsAtMs };
  }

  return {
    algorithms: [-7],
    userHandle: (keyId) => Buffer.from(keyId).toString("base64url"),
    challenge(purpose, endsAtMs) {
      const text = Buffer.from(randomUUID()).toString("base64url");
      made.set(text, { purpose, endsAtMs });
      return text;
    },
    verifyRegistration({ id, response }, expected) {
      return Promise.resolve().then(() => ({
        challenge: read(response.clientDataJSON, "webauthn.create", expected),
        credentialId: id,
        domain: new URL(expected.origin).hostname,
        publicKey: new Uint8Array(),
        counter: 0,
        isSynced: false,
      }));
    },
    verifyAssertion({ response }, expected, { counter }) {
      return Promise.resolve().then(() => ({
        challenge: read(response.clientDataJSON, "webauthn.get", expected),
        counter: counter + 1,
      }));
    },
  };
}
