import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import {
  type Challenge,
  type Expected,
  type PasskeyPurpose,
  PasskeyRefused,
  type WebAuthn,
} from "#domain/ports/sessions.ts";
import { errorMessage } from "#kernel/errors.ts";

/** EdDSA, ES256 and RS256, which is what Windows Hello makes. */
const algorithms = [-8, -7, -257] as const;

const randomLength = 16;
const timeLength = 8;
const sealLength = 32;

/** Challenges that nothing has to remember: random bytes and their end, under a key that ends with the process. */
function createChallenges() {
  const key = randomBytes(32);
  const sealOf = (body: Buffer, purpose: PasskeyPurpose): Buffer =>
    createHmac("sha256", key).update(body).update(purpose).digest();

  return {
    make(purpose: PasskeyPurpose, endsAtMs: number): string {
      const body = Buffer.alloc(randomLength + timeLength);
      randomBytes(randomLength).copy(body);
      body.writeDoubleBE(endsAtMs, randomLength);
      return Buffer.concat([body, sealOf(body, purpose)]).toString("base64url");
    },
    /** @throws PasskeyRefused for what was not made here for this, or has ended. */
    read(text: string, { purpose, nowMs }: Expected): Challenge {
      const bytes = Buffer.from(text, "base64url");
      const body = bytes.subarray(0, randomLength + timeLength);
      const isOwn =
        bytes.length === body.length + sealLength &&
        timingSafeEqual(bytes.subarray(body.length), sealOf(body, purpose));
      const endsAtMs = isOwn ? body.readDoubleBE(randomLength) : 0;
      if (nowMs >= endsAtMs) throw new PasskeyRefused("its challenge is not a current one");
      // What is used up is known by this text: other spellings of the same bytes would be good again.
      return { text: bytes.toString("base64url"), endsAtMs };
    },
  };
}

/** Takes some 50 ms, once, when the first passkey is used. */
const load = async () => {
  const [webauthn, helpers] = await Promise.all([
    import("@simplewebauthn/server"),
    import("@simplewebauthn/server/helpers"),
  ]);
  return { ...webauthn, ...helpers };
};
type Library = Awaited<ReturnType<typeof load>>;
type RegistrationAnswer = Parameters<Library["verifyRegistrationResponse"]>[0]["response"];
type AssertionAnswer = Parameters<Library["verifyAuthenticationResponse"]>[0]["response"];

const wrongSignature = "its signature is wrong";

/** The library throws plain errors for all that is wrong with an answer. */
async function refuse<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw new PasskeyRefused(errorMessage(error), { cause: error });
  }
}

const domainOf = (origin: string): string => new URL(origin).hostname;

/** Pages of others may have it in a frame; browsers that do not say whose are taken for such. */
function requireOwnFrame({ decodeClientDataJSON }: Library, clientData: string): void {
  if (decodeClientDataJSON(clientData).crossOrigin === true) throw new Error("it was made in a page of another origin");
}

/** Statements with certificates name addresses of revocation lists, which the library would ask. */
function requireNoCertificates({ decodeAttestationObject, isoBase64URL }: Library, attestation: string): void {
  const decoded = decodeAttestationObject(isoBase64URL.toBuffer(attestation));
  const format = decoded.get("fmt");
  const isBare = format === "none" || (format === "packed" && decoded.get("attStmt").get("x5c") === undefined);
  if (!isBare) throw new Error("it has an attestation, which was not requested");
}

/** W3C Web Authentication by a library, which is loaded when it is needed. */
export function createWebAuthn(): WebAuthn {
  const challenges = createChallenges();
  let loading: Promise<Library> | undefined;
  const library = (): Promise<Library> => (loading ??= load());

  /** What both kinds of answers are held to; the challenge is there once the library has asked for it. */
  const held = (expected: Expected) => {
    const read: { challenge?: Challenge } = {};
    const options = {
      expectedChallenge(text: string): boolean {
        read.challenge = challenges.read(text, expected);
        return true;
      },
      expectedOrigin: expected.origin,
      expectedRPID: domainOf(expected.origin),
      requireUserVerification: true,
    };
    return { options, read };
  };

  return {
    algorithms,
    userHandle: (keyId) => Buffer.from(keyId).toString("base64url"),
    challenge: (purpose, endsAtMs) => challenges.make(purpose, endsAtMs),

    async verifyRegistration(answer, expected) {
      const loaded = await library();
      const { options, read } = held(expected);
      const verify = async () => {
        requireOwnFrame(loaded, answer.response.clientDataJSON);
        requireNoCertificates(loaded, answer.response.attestationObject);
        const response = { ...answer, clientExtensionResults: {} } as RegistrationAnswer;
        return loaded.verifyRegistrationResponse({ ...options, response, supportedAlgorithmIDs: [...algorithms] });
      };
      const { registrationInfo } = await refuse(verify());
      const { challenge } = read;
      if (registrationInfo === undefined || challenge === undefined) throw new PasskeyRefused(wrongSignature);
      const { credential, credentialBackedUp: isSynced } = registrationInfo;
      const { id: credentialId, publicKey, counter } = credential;
      return { credentialId, publicKey, counter, isSynced, domain: domainOf(expected.origin), challenge };
    },

    async verifyAssertion(answer, expected, { credentialId, publicKey, counter }) {
      const loaded = await library();
      const { options, read } = held(expected);
      const verify = async () => {
        requireOwnFrame(loaded, answer.response.clientDataJSON);
        const response = { ...answer, clientExtensionResults: {} } as AssertionAnswer;
        const credential = { id: credentialId, publicKey: new Uint8Array(publicKey), counter };
        return loaded.verifyAuthenticationResponse({ ...options, response, credential });
      };
      const { verified, authenticationInfo } = await refuse(verify());
      const { challenge } = read;
      if (!verified || challenge === undefined) throw new PasskeyRefused(wrongSignature);
      return { counter: authenticationInfo.newCounter, challenge };
    },
  };
}
