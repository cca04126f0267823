import { type Static, Type } from "typebox";
import { DryRunQuery, type Operations } from "./operation.ts";
import { ListShape, NullableString, NullableTimestamp, Strict, Timestamp } from "./schema.ts";

const Base64Url = (maxLength: number, description: string) =>
  Type.String({ minLength: 1, maxLength, pattern: "^[0-9A-Za-z_-]+$", examples: ["rZ3fYw8sQm2pTn5v"], description });

// The names of members of these are those of W3C Web Authentication, whose JSON forms browsers read and write by themselves.
const credentialMembers = {
  id: Base64Url(1400, "Id of the credential, base64url."),
  rawId: Base64Url(1400, "The same as `id`."),
  type: Type.Literal("public-key"),
  authenticatorAttachment: Type.Optional(NullableString("How the authenticator is attached; ignored.")),
  clientExtensionResults: Type.Optional(Type.Object({}, { description: "Results of extensions; ignored." })),
};

/** `AuthenticationResponseJSON`: what `PublicKeyCredential.toJSON()` makes of what `navigator.credentials.get()` returns. */
export const PasskeyAssertion = Type.Object(
  {
    ...credentialMembers,
    response: Type.Object(
      {
        clientDataJSON: Base64Url(4000, "Client data: what the browser reports about the page, base64url."),
        authenticatorData: Base64Url(4000, "Authenticator data, base64url."),
        signature: Base64Url(2000, "Signature over both, base64url."),
        userHandle: Type.Optional(NullableString("Id of the key that the passkey belongs to, base64url.")),
      },
      { description: "Response of the authenticator, with its signature." },
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
        clientDataJSON: Base64Url(4000, "Client data: what the browser reports about the page, base64url."),
        attestationObject: Base64Url(20_000, "Attestation object with the new credential, base64url."),
        transports: Type.Optional(
          Type.Array(Type.String({ maxLength: 40 }), {
            maxItems: 16,
            description: "How the authenticator can be reached; ignored.",
          }),
        ),
      },
      { description: "Response of the authenticator, with the new credential." },
    ),
  },
  { description: "`RegistrationResponseJSON` of W3C Web Authentication." },
);
export type PasskeyRegistration = Static<typeof PasskeyRegistration>;

const challenge = Type.String({
  description: "Challenge for the authenticator to sign, base64url. It can be used once, within two minutes.",
});
const timeout = Type.Integer({ description: "Milliseconds that the browser waits for the user." });
const verification = Type.Literal("required", { description: "The authenticator must verify the user." });

export const PasskeyRequestOptions = Type.Object({
  challenge,
  timeout,
  userVerification: verification,
});

const PublicKeyType = Type.Literal("public-key");

export const PasskeyCreationOptions = Type.Object({
  challenge,
  timeout,
  rp: Type.Object(
    { name: Type.String({ description: "Name that the authenticator shows." }) },
    { description: "The relying party: this service." },
  ),
  user: Type.Object({
    id: Type.String({ description: "Id of the key of the session, base64url." }),
    name: Type.String({ description: "Name of the key and of the host, shown when a user chooses a passkey." }),
    displayName: Type.String({ description: "Name of the key." }),
  }),
  pubKeyCredParams: Type.Array(
    Type.Object({ type: PublicKeyType, alg: Type.Integer({ description: "A COSE algorithm." }) }),
    { description: "Signatures that are accepted, the preferred one first." },
  ),
  excludeCredentials: Type.Array(Type.Object({ type: PublicKeyType, id: Type.String() }), {
    description: "Passkeys that the key has already: an authenticator does not need a second one.",
  }),
  authenticatorSelection: Type.Object(
    {
      residentKey: Type.Literal("required", {
        description: "The passkey is stored on the authenticator, so that users do not have to enter a name.",
      }),
      requireResidentKey: Type.Literal(true, { description: "The same, for older browsers." }),
      userVerification: verification,
    },
    { description: "Requirements for the authenticator." },
  ),
  attestation: Type.Literal("none", { description: "The model of the authenticator is not requested." }),
});
export type PasskeyCreationOptions = Static<typeof PasskeyCreationOptions>;

export const Passkey = Type.Object({
  id: Type.String({ description: "Id of the passkey." }),
  name: Type.String({ description: "Name given by the user." }),
  key_id: Type.String({ description: "Id of its key." }),
  key_name: Type.String({ description: "Name of its key." }),
  domain: Type.String({ description: "The host name in the address of the page; the passkey works only there." }),
  synced: Type.Boolean({ description: "Whether the authenticator has synchronised it to others." }),
  created_at: Timestamp("When it was registered."),
  last_used_at: NullableTimestamp("When it was last used to sign in or to elevate a session; null if never."),
});
export type Passkey = Static<typeof Passkey>;

export const PasskeyList = Type.Object({
  passkeys: Type.Array(Passkey, { description: "The newest first." }),
  ...ListShape,
});

export const PasskeyInput = Strict({
  name: Type.String({ minLength: 1, maxLength: 100, description: "Name for the passkey.", examples: ["laptop"] }),
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
    summary: "Options for a browser to sign in with a passkey",
    description:
      "For `PublicKeyCredential.parseRequestOptionsFromJSON()` and `navigator.credentials.get()`. Send the result as `passkey` of `POST /auth/sessions` or `POST /auth/sessions/elevate`.",
    scope: "public",
    effect: "read",
    response: PasskeyRequestOptions,
    errors: [],
  },
  getPasskeyCreationOptions: {
    method: "POST",
    path: "/auth/passkeys/creation-options",
    tag: "Access",
    summary: "Options for a browser to register a passkey for the key of this session",
    description:
      "For `PublicKeyCredential.parseCreationOptionsFromJSON()` and `navigator.credentials.create()`. Send the result as `credential` of `POST /auth/passkeys`. Only in a session.",
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
      "Only in an elevated session, for its key. The holder of the passkey can open sessions of that key until the key becomes invalid or the passkey is removed. A key can have at most 16 passkeys.",
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
    summary: "Passkeys of the caller's key, or all with keys:admin",
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
    summary: "Remove a passkey: it can no longer be used to sign in",
    description:
      "A passkey of the caller's key, or any with keys:admin. Sessions that were started with it continue; end them separately.",
    scope: "self",
    effect: "write",
    params: PasskeyId,
    query: DryRunQuery,
    response: RemovedPasskey,
    errors: ["NOT_FOUND"],
  },
} as const satisfies Operations;
