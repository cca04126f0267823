import { type Static, Type } from "typebox";
import { credentialKinds, DryRunQuery, type Operations } from "./operation.ts";
import { Choice, NullableString, NullableTimestamp, Options, optional, Strict, Timestamp } from "./schema.ts";

const ScopeList = Type.Array(Type.String({ minLength: 1, maxLength: 300 }), {
  maxItems: 100,
  description:
    "Scopes (`system:read`), scopes narrowed to a resource (`services:restart:nginx.service`, `logs:read:app-*`), sets (`services:control`, which can be narrowed too) or roles (`viewer`, `operator`, `admin`).",
});

export const Identity = Type.Object({
  key_id: Type.String(),
  name: Type.String(),
  credential: Choice(credentialKinds),
  scopes: Type.Array(Type.String()),
  expires_at: NullableTimestamp("When the credential expires; null when it does not."),
});
export type Identity = Static<typeof Identity>;

export const KeyEntry = Type.Object({
  id: Type.String(),
  name: Type.String(),
  scopes: Type.Array(Type.String()),
  created_at: Timestamp("When the key was made."),
  expires_at: NullableTimestamp("When the key expires; null when it does not."),
  last_used_at: NullableTimestamp("Last use, exact to a minute; null when it was never used."),
  revoked_at: NullableTimestamp("When the key was revoked; null when it is good."),
  client_cert_sha256: NullableString(
    "SHA-256 of the client certificate that stands for the key, in hexadecimal; null when there is none.",
  ),
});
export type KeyEntry = Static<typeof KeyEntry>;

const NewKey = Strict({
  name: Type.String({ minLength: 1, maxLength: 100, pattern: "^[^\\u0000-\\u001f\\u007f]*$" }),
  scopes: ScopeList,
  ...optional({
    expires_at: Type.Unsafe<string | null>({
      type: ["string", "null"],
      format: "date-time",
      description: "When the key stops working; left out, it does not.",
    }),
    client_cert_sha256: Type.String({
      pattern: "^[0-9A-Fa-f]{2}(:?[0-9A-Fa-f]{2}){31}$",
      examples: ["9f:86:d0:81:88:4c:7d:65:9a:2f:ea:a0:c5:5a:d0:15:a3:bf:4f:1b:2b:0b:82:2c:d1:5d:6c:15:b0:f0:0a:08"],
      description:
        "SHA-256 of a client certificate, as `openssl x509 -fingerprint -sha256` prints it, with or without colons. Over TLS with client certificates it stands for the key.",
    }),
  }),
});

export const CreatedKey = Type.Object({
  id: Type.String(),
  key: Type.String({ description: "The key. It is shown this once." }),
  name: Type.String(),
  scopes: Type.Array(Type.String()),
  expires_at: NullableTimestamp("When the key expires; null when it does not."),
});
export type CreatedKey = Static<typeof CreatedKey>;

export const RevokedKey = Type.Object({
  ...KeyEntry.properties,
  success: Type.Boolean(),
  message: Type.String(),
});

/** Lifetime of a token in seconds. */
export const tokenLifetime = { minimum: 1, maximum: 86_400, default: 3600 } as const;

const NewToken = Options({
  scopes: ScopeList,
  expires_in: Type.Integer({ ...tokenLifetime, description: "Lifetime in seconds." }),
});

/** RFC 6749 §5.1. */
export const Token = Type.Object({
  access_token: Type.String(),
  token_type: Type.Literal("Bearer"),
  expires_in: Type.Integer({ description: "Seconds." }),
  scope: Type.String({ description: "Scopes, separated by spaces." }),
});
export type Token = Static<typeof Token>;

export const auth = {
  whoami: {
    method: "GET",
    path: "/auth/whoami",
    tag: "Access",
    summary: "Who this credential is and what it may do",
    scope: "self",
    effect: "read",
    response: Identity,
    errors: [],
  },
  listKeys: {
    method: "GET",
    path: "/auth/keys",
    tag: "Access",
    summary: "All keys, without their secrets",
    scope: "keys:admin",
    effect: "read",
    response: Type.Object({ keys: Type.Array(KeyEntry) }),
    errors: [],
  },
  createKey: {
    method: "POST",
    path: "/auth/keys",
    tag: "Access",
    summary: "Make a key",
    description:
      "A key cannot be given a scope that the caller does not have, nor outlive a caller that expires. Its text is shown once: a repetition under the same `Idempotency-Key` gets `CONFLICT` with the id of the key in `details.made`.",
    scope: "keys:admin",
    effect: "write",
    does: ["change_keys"],
    query: DryRunQuery,
    body: NewKey,
    response: CreatedKey,
    answerIsSecret: true,
    status: 201,
    errors: ["CONFLICT"],
  },
  revokeKey: {
    method: "DELETE",
    path: "/auth/keys/{id}",
    tag: "Access",
    summary: "Revoke a key, its tokens and its client certificate, at once",
    description:
      "Only a key that the caller could have made: one whose scopes are among those of the caller. The last key that may make keys can be revoked, too; on the host, root makes another without a key.",
    scope: "keys:admin",
    effect: "danger",
    does: ["change_keys"],
    params: Type.Object({ id: Type.String({ minLength: 1, description: "Id of the key.", examples: ["Ab3dE6gH"] }) }),
    query: DryRunQuery,
    response: RevokedKey,
    errors: ["NOT_FOUND"],
  },
  createToken: {
    method: "POST",
    path: "/auth/tokens",
    tag: "Access",
    summary: "Make a short-lived Bearer token from a key",
    description:
      "The token has the caller's scopes, or those of them that are named. It ends with its key, and one made from a token does not outlive that token. Its text is shown once: a repetition under the same `Idempotency-Key` gets `CONFLICT`.",
    scope: "self",
    effect: "write",
    does: ["make_tokens"],
    query: DryRunQuery,
    body: NewToken,
    response: Token,
    answerIsSecret: true,
    errors: ["FORBIDDEN", "CONFLICT"],
  },
} as const satisfies Operations;
