import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";
import { isoCBOR } from "@simplewebauthn/server/helpers";
import type { PasskeyAssertion, PasskeyRegistration } from "#contract/passkeys.ts";

/** What an answer can have wrong. */
export interface AnswerFaults {
  readonly origin?: string;
  readonly domain?: string;
  readonly challenge?: string;
  readonly type?: string;
  readonly crossOrigin?: boolean;
  /** It has not asked who uses it. */
  readonly isUnverified?: boolean;
  /** Flips a bit of the signature. */
  readonly isForged?: boolean;
  readonly counter?: number;
  readonly userHandle?: string;
  readonly format?: string;
  readonly statement?: ReadonlyMap<string, unknown>;
}

const sha256 = (data: string | Uint8Array): Buffer => createHash("sha256").update(data).digest();
const flags = { present: 0x01, verified: 0x04, hasCredential: 0x40 } as const;

/** The public key as COSE has it (RFC 9052): an ES256 key on P-256. */
function coseOf(key: KeyObject): Uint8Array {
  const { x = "", y = "" } = key.export({ format: "jwk" });
  const entries: [number, number | Uint8Array<ArrayBuffer>][] = [
    [1, 2],
    [3, -7],
    [-1, 1],
    [-2, Uint8Array.from(Buffer.from(x, "base64url"))],
    [-3, Uint8Array.from(Buffer.from(y, "base64url"))],
  ];
  return isoCBOR.encode(new Map(entries));
}

/** A browser with an authenticator that keeps one passkey, for pages of an origin. */
export function createAuthenticator(origin: string) {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const credentialId = randomBytes(32);
  const id = credentialId.toString("base64url");
  let counter = 0;
  let user = "bm9ib2R5";

  const clientData = (type: string, challenge: string, faults: AnswerFaults): Buffer =>
    Buffer.from(
      JSON.stringify({
        type: faults.type ?? type,
        challenge: faults.challenge ?? challenge,
        origin: faults.origin ?? origin,
        crossOrigin: faults.crossOrigin ?? false,
      }),
    );

  const authenticatorData = (faults: AnswerFaults, credential: Uint8Array = new Uint8Array()): Buffer => {
    const head = Buffer.alloc(5);
    const verified = faults.isUnverified === true ? 0 : flags.verified;
    head[0] = flags.present | verified | (credential.length === 0 ? 0 : flags.hasCredential);
    head.writeUInt32BE(faults.counter ?? counter, 1);
    return Buffer.concat([sha256(faults.domain ?? new URL(origin).hostname), head, credential]);
  };

  const head = { id, rawId: id, type: "public-key", clientExtensionResults: {} } as const;

  return {
    id,

    /** Answers creation options. */
    create(options: { readonly challenge: string; readonly user: { readonly id: string } }, faults: AnswerFaults = {}) {
      user = options.user.id;
      const length = Buffer.alloc(2);
      length.writeUInt16BE(credentialId.length);
      const credential = Buffer.concat([Buffer.alloc(16), length, credentialId, coseOf(publicKey)]);
      const attestation = isoCBOR.encode(
        new Map<string, string | Map<string, never> | Uint8Array<ArrayBuffer>>([
          ["fmt", faults.format ?? "none"],
          ["attStmt", new Map((faults.statement ?? new Map()) as Map<string, never>)],
          ["authData", Uint8Array.from(authenticatorData(faults, credential))],
        ]),
      );
      return {
        ...head,
        response: {
          clientDataJSON: clientData("webauthn.create", options.challenge, faults).toString("base64url"),
          attestationObject: Buffer.from(attestation).toString("base64url"),
          transports: ["internal"],
        },
      } satisfies PasskeyRegistration;
    },

    /** Answers request options. */
    get(options: { readonly challenge: string }, faults: AnswerFaults = {}) {
      counter += 1;
      const data = authenticatorData(faults);
      const client = clientData("webauthn.get", options.challenge, faults);
      const signature = sign("sha256", Buffer.concat([data, sha256(client)]), privateKey);
      if (faults.isForged === true) signature[10] = (signature[10] ?? 0) ^ 1;
      return {
        ...head,
        response: {
          clientDataJSON: client.toString("base64url"),
          authenticatorData: data.toString("base64url"),
          signature: signature.toString("base64url"),
          userHandle: faults.userHandle ?? user,
        },
      } satisfies PasskeyAssertion;
    },
  };
}
