import { type Static, Type } from "typebox";
import { DryRunQuery, type Operations } from "./operation.ts";
import { ListShape, NullableString, NullableTimestamp, Strict, Timestamp } from "./schema.ts";

const Base64Url = (maxLength: number, description: string) =>
  Type.String({ minLength: 1, maxLength, pattern: "^[0-9A-Za-z_-]+$", examples: ["rZ3fYw8sQm2pTn5v"], description });

// The names of members of these are those of W3C Web Authentication, whose JSON forms browsers read and write by themselves.
const credentialMembers = {
  id: Base64Url(1400, "Id of the credential, base64url."),
  rawId: Base64Url(1400, "The same."),
  type: Type.Literal("public-key"),
  authenticatorAttachment: Type.Optional(NullableString("How the authenticator is attached. It is not used.")),
  clientExtensionResults: Type.Optional(Type.Object({}, { description: "They are not used." })),
};

/** `AuthenticationResponseJSON`: what `PublicKeyCredential.toJSON()` makes of what `navigator.credentials.get()` returns. */
export const PasskeyAssertion = Type.Object(
  {
    ...credentialMembers,
    response: Type.Object(
      {
        clientDataJSON: Base64Url(4000, "What the browser says of the page, base64url."),
        authenticatorData: Base64Url(4000, "What the authenticator says of itself, base64url."),
        signature: Base64Url(2000, "The signature over both, base64url."),
        userHandle: Type.Optional(NullableString("Id of the key whose passkey it is, base64url.")),
      },
      { description: "What the authenticator has signed." },
    ),
  },
  { description: "`AuthenticationResponseJSON` of W3C Web Authentication." },
);
export type PasskeyAssertion = Static<typeof PasskeyAssertion>;

/** `RegistrationResponseJSON`: what `PublicKeyCredential.toJSON()` makes of what `navigator.credentials.create()` returns. */
const PasskeyRegistration = Type.Object(
  {
    ...credentialMembers,
    response: Type.Object(
      {
        clientDataJSON: Base64Url(4000, "What the browser says of the page, base64url."),
        attestationObject: Base64Url(20_000, "The new credential, base64url."),
        transports: Type.Optional(
          Type.Array(Type.String({ maxLength: 40 }), {
            maxItems: 16,
            description: "How the authenticator can be reached. It is not used.",
          }),
        ),
      },
      { description: "What the authenticator has made." },
    ),
  },
  { description: "`RegistrationResponseJSON` of W3C Web Authentication." },
);
export type PasskeyRegistration = Static<typeof PasskeyRegistration>;

const challenge = Type.String({
  description: "What the authenticator signs, base64url. It is good once, for two minutes.",
});
const timeout = Type.Integer({ description: "Milliseconds that the browser waits for somebody." });
const verification = Type.Literal("required", { description: "The authenticator makes sure who uses it." });

export const PasskeyRequestOptions = Type.Object({
  challenge,
  timeout,
  userVerification: verification,
});

const PublicKeyType = Type.Literal("public-key");

export const PasskeyCreationOptions = Type.Object({
  challenge,
  timeout,
  rp: Type.Object({ name: Type.String({ description: "Shown by the authenticator." }) }, { description: "Who asks." }),
  user: Type.Object({
    id: Type.String({ description: "Id of the key of the session, base64url." }),
    name: Type.String({ description: "Name of the key and of the host: shown when somebody chooses a passkey." }),
    displayName: Type.String({ description: "Name of the key." }),
  }),
  pubKeyCredParams: Type.Array(
    Type.Object({ type: PublicKeyType, alg: Type.Integer({ description: "A COSE algorithm." }) }),
    { description: "Signatures that are accepted, the preferred one first." },
  ),
  excludeCredentials: Type.Array(Type.Object({ type: PublicKeyType, id: Type.String() }), {
    description: "Passkeys that the key has already: one of them is enough on an authenticator.",
  }),
  authenticatorSelection: Type.Object(
    {
      residentKey: Type.Literal("required", {
        description: "The authenticator keeps the passkey, so that nobody has to say who they are.",
      }),
      requireResidentKey: Type.Literal(true, { description: "The same, for older browsers." }),
      userVerification: verification,
    },
    { description: "What the authenticator has to be capable of." },
  ),
  attestation: Type.Literal("none", { description: "Nobody asks which authenticator it is." }),
});
export type PasskeyCreationOptions = Static<typeof PasskeyCreationOptions>;

export const Passkey = Type.Object({
  id: Type.String({ description: "Id of the passkey." }),
  name: Type.String({ description: "What somebody calls it." }),
  key_id: Type.String({ description: "Id of its key." }),
  key_name: Type.String({ description: "Name of its key." }),
  domain: Type.String({ description: "The host name in the address of the page: it is good there alone." }),
  synced: Type.Boolean({ description: "Whether its authenticator has copied it to others." }),
  created_at: Timestamp("When it was registered."),
  last_used_at: NullableTimestamp("When somebody signed in with it, or elevated a session; null if never."),
});
export type Passkey = Static<typeof Passkey>;

export const PasskeyList = Type.Object({
  passkeys: Type.Array(Passkey, { description: "The newest first." }),
  ...ListShape,
});

export const PasskeyInput = Strict({
  name: Type.String({ minLength: 1, maxLength: 100, description: "What to call it.", examples: ["laptop"] }),
  credential: PasskeyRegistration,
});

export const RemovedPasskey = Type.Object({
  id: Type.String(),
  success: Type.Boolean(),
  message: Type.String(),
});

const PasskeyId = Type.Object({
  id: Type.String({ minLength: 1, description: "Id of the passkey.", examples: ["Pk4mN2xQ"] }),
});

export const passkeys = {
  getPasskeyRequestOptions: {
    method: "POST",
    path: "/auth/passkeys/request-options",
    tag: "Access",
    summary: "What a browser needs to sign in with a passkey",
    description:
      "For `PublicKeyCredential.parseRequestOptionsFromJSON()` and `navigator.credentials.get()`, whose answer is `passkey` of `POST /auth/sessions` or `POST /auth/sessions/elevate`.",
    scope: "public",
    effect: "read",
    response: PasskeyRequestOptions,
    errors: [],
  },
  getPasskeyCreationOptions: {
    method: "POST",
    path: "/auth/passkeys/creation-options",
    tag: "Access",
    summary: "What a browser needs to register a passkey of this session's key",
    description:
      "For `PublicKeyCredential.parseCreationOptionsFromJSON()` and `navigator.credentials.create()`, whose answer is `credential` of `POST /auth/passkeys`. Only in a session.",
    scope: "self",
    forSessions: true,
    effect: "read",
    fromMemory: true,
    response: PasskeyCreationOptions,
    errors: ["FORBIDDEN"],
  },
  createPasskey: {
    method: "POST",
    path: "/auth/passkeys",
    tag: "Access",
    summary: "Register a passkey, to sign in without the key",
    description:
      "Only in an elevated session, for its key. Whoever has the passkey gets sessions of that key until the key ends or the passkey is removed. A key has 16 at most.",
    scope: "self",
    forSessions: true,
    effect: "write",
    query: DryRunQuery,
    body: PasskeyInput,
    response: Passkey,
    status: 201,
    errors: ["CONFLICT"],
  },
  listPasskeys: {
    method: "GET",
    path: "/auth/passkeys",
    tag: "Access",
    summary: "Passkeys: those of the own key, or all with keys:admin",
    scope: "self",
    effect: "read",
    fromMemory: true,
    response: PasskeyList,
    errors: [],
  },
  removePasskey: {
    method: "DELETE",
    path: "/auth/passkeys/{id}",
    tag: "Access",
    summary: "Remove a passkey: nobody can sign in with it from here on",
    description:
      "One of the own key, or any with keys:admin. Sessions that were begun with it go on; end them by themselves.",
    scope: "self",
    effect: "write",
    params: PasskeyId,
    query: DryRunQuery,
    response: RemovedPasskey,
    errors: ["NOT_FOUND"],
  },
} as const satisfies Operations;
