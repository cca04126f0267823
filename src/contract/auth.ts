import { type Static, Type } from "typebox";
import { credentialKinds, DryRunQuery, type Operations } from "./operation.ts";
import {
  Choice,
  ListShape,
  NullableString,
  NullableTimestamp,
  Options,
  optional,
  Strict,
  Timestamp,
} from "./schema.ts";

const ScopeList = Type.Array(Type.String({ minLength: 1, maxLength: 600 }), {
  maxItems: 100,
  description:
    "Scopes (`system:read`), scopes narrowed to a resource (`services:restart:nginx.service`, `logs:read:app-*`), sets (`services:control`, which can be narrowed too) or roles (`viewer`, `operator`, `admin`). With the prefix `propose:`, calls that need the scope wait until another key has approved them. The suffix `@` with a host name or pattern limits the scope to these hosts: `services:restart:nginx.service@web-*`, `operator@web-1`.",
});

export const Identity = Type.Object({
  key_id: Type.String({ description: "Id of the key; a token has the id of its key." }),
  name: Type.String({ description: "Name of the key." }),
  credential: Choice(
    credentialKinds,
    "Kind of credential: the key itself, one of its tokens, its client certificate, one of its sessions, or a Unix socket.",
  ),
  scopes: Type.Array(Type.String(), { description: "Scopes of the key, including those for other hosts." }),
  expires_at: NullableTimestamp("When the credential expires; null if it does not."),
  host: Type.Optional(Type.String({ examples: ["web1.example.org"], description: "Name of this host." })),
});
export type Identity = Static<typeof Identity>;

export const KeyEntry = Type.Object({
  id: Type.String(),
  name: Type.String(),
  scopes: Type.Array(Type.String(), { description: "Scopes of the key." }),
  created_at: Timestamp("When the key was created."),
  expires_at: NullableTimestamp("When the key expires; null if it does not."),
  last_used_at: NullableTimestamp("Last use, accurate to a minute; null if it was never used."),
  revoked_at: NullableTimestamp("When the key was revoked; null if it is valid."),
  client_cert_sha256: NullableString(
    "SHA-256 fingerprint, in hexadecimal, of the client certificate that can be used as the key; null if there is none.",
  ),
});
export type KeyEntry = Static<typeof KeyEntry>;

export const KeyList = Type.Object({
  keys: Type.Array(KeyEntry, { description: "Also list revoked keys." }),
  ...ListShape,
});

export const KeyInput = Strict({
  name: Type.String({
    description: "Name for people, shown in the list of keys and in the audit log.",
    minLength: 1,
    maxLength: 100,
    pattern: "^[^\\u0000-\\u001f\\u007f]*$",
  }),
  scopes: ScopeList,
  ...optional({
    expires_at: Type.Unsafe<string | null>({
      type: ["string", "null"],
      format: "date-time",
      description: "When the key expires; without it, the key does not expire.",
    }),
    client_cert_sha256: Type.String({
      pattern: "^[0-9A-Fa-f]{2}(:?[0-9A-Fa-f]{2}){31}$",
      examples: ["9f:86:d0:81:88:4c:7d:65:9a:2f:ea:a0:c5:5a:d0:15:a3:bf:4f:1b:2b:0b:82:2c:d1:5d:6c:15:b0:f0:0a:08"],
      description:
        "SHA-256 fingerprint of a client certificate, as `openssl x509 -fingerprint -sha256` prints it, with or without colons. Over TLS with client certificates, the certificate can be used as the key.",
    }),
  }),
});

export const CreatedKey = Type.Object({
  id: Type.String(),
  key: Type.String({ description: "The key. It is shown only this once." }),
  name: Type.String(),
  scopes: Type.Array(Type.String(), { description: "Scopes of the key." }),
  expires_at: NullableTimestamp("When the key expires; null if it does not."),
});
export type CreatedKey = Static<typeof CreatedKey>;

export const RevokedKey = Type.Object({
  ...KeyEntry.properties,
  success: Type.Boolean(),
  message: Type.String(),
});

/** Lifetime of a token in seconds. */
export const tokenLifetime = { minimum: 1, maximum: 86_400, default: 3600 } as const;

export const TokenInput = Options({
  scopes: ScopeList,
  expires_in: Type.Integer({ ...tokenLifetime, description: "Lifetime in seconds." }),
});

/** RFC 6749 §5.1. */
export const Token = Type.Object({
  access_token: Type.String({ description: "The token, for `Authorization: Bearer`." }),
  token_type: Type.Literal("Bearer", { description: "Token type (RFC 6750)." }),
  expires_in: Type.Integer({ description: "Seconds." }),
  scope: Type.String({ description: "Scopes, separated by spaces." }),
});
export type Token = Static<typeof Token>;

/** Which gate has something to say; `policy` is what a session or another kind of credential of a key may not do, or has to bring. */
export const judgementKinds = ["scope", "window", "approval", "limit", "policy"] as const;

export const Judgement = Type.Object({
  operation: Type.String({ description: "The operation that was asked about." }),
  resource: NullableString("The resource that was asked about; null for all resources."),
  allowed: Type.Boolean({
    description:
      "Whether this credential may call the operation now, provided that it meets what `because` asks for: a plan, or the approval of another key.",
  }),
  because: Type.Array(
    Type.Object({
      kind: Choice(judgementKinds, "The rule that decides."),
      message: Type.String({ description: "The reason; if the call is not allowed, the message of the refusal." }),
    }),
    { description: "Each reason against the call, or what allows it." },
  ),
});
export type Judgement = Static<typeof Judgement>;

const KeyId = Type.Object({ id: Type.String({ minLength: 1, description: "Id of the key.", examples: ["Ab3dE6gH"] }) });

export const auth = {
  whoami: {
    method: "GET",
    path: "/auth/whoami",
    tag: "Access",
    summary: "The key of this credential and its scopes",
    scope: "self",
    effect: "read",
    fromMemory: true,
    response: Identity,
    errors: [],
  },
  canI: {
    method: "GET",
    path: "/auth/can",
    tag: "Access",
    summary: "Whether this credential may do something now, and why",
    description:
      "The operation is not called. The messages are those that the call itself would be refused with. What only the call can know is not evaluated: its body, the state of the host, and further scopes that depend on these, which are needed to cancel an operation, to approve a call, and for a check with several fixes, of which one is chosen by what it finds.",
    scope: "self",
    effect: "read",
    fromMemory: true,
    query: Type.Object(
      {
        operation: Type.String({
          minLength: 1,
          maxLength: 64,
          description: "Name of the operation.",
          examples: ["restartService"],
        }),
        resource: Type.Optional(
          Type.String({
            minLength: 1,
            maxLength: 255,
            description: "The resource to ask about; all resources unless given.",
            examples: ["nginx.service"],
          }),
        ),
      },
      { additionalProperties: false },
    ),
    response: Judgement,
    errors: [],
  },
  listKeys: {
    method: "GET",
    path: "/auth/keys",
    tag: "Access",
    summary: "All keys, without the secrets",
    scope: "keys:admin",
    effect: "read",
    fromMemory: true,
    response: KeyList,
    errors: [],
  },
  getKey: {
    method: "GET",
    path: "/auth/keys/{id}",
    tag: "Access",
    summary: "One key, without its secret",
    scope: "keys:admin",
    effect: "read",
    fromMemory: true,
    params: KeyId,
    response: KeyEntry,
    errors: ["NOT_FOUND"],
  },
  createKey: {
    method: "POST",
    path: "/auth/keys",
    tag: "Access",
    summary: "Create a key",
    description:
      "A key cannot have a scope that the caller does not have, nor outlive a caller that expires. The key is shown only once: a repeated call with the same `Idempotency-Key` gets `CONFLICT` with the id of the key in `details.made`.",
    scope: "keys:admin",
    effect: "write",
    query: DryRunQuery,
    body: KeyInput,
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
      "Only a key that the caller could have created, that is, with scopes among those of the caller. The last key that may create keys can be revoked too; on the host, root can create another without a key.",
    scope: "keys:admin",
    effect: "danger",
    params: KeyId,
    query: DryRunQuery,
    response: RevokedKey,
    errors: ["NOT_FOUND"],
  },
  createToken: {
    method: "POST",
    path: "/auth/tokens",
    tag: "Access",
    summary: "Create a short-lived Bearer token from a key",
    description:
      "The token has the scopes of the caller, or those of them that are named. It becomes invalid with its key, and a token created with a token does not outlive that token. The token is shown only once: a repeated call with the same `Idempotency-Key` gets `CONFLICT`.",
    scope: "self",
    effect: "write",
    query: DryRunQuery,
    body: TokenInput,
    response: Token,
    answerIsSecret: true,
    errors: ["FORBIDDEN", "CONFLICT"],
  },
} as const satisfies Operations;
