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
    "Scopes (`system:read`), scopes narrowed to a resource (`services:restart:nginx.service`, `logs:read:app-*`), sets (`services:control`, which can be narrowed too) or roles (`viewer`, `operator`, `admin`). `propose:` before one has calls that need it wait until another key has approved them. `@` and a name or pattern of hosts limit each to these: `services:restart:nginx.service@web-*`, `operator@web-1`.",
});

export const Identity = Type.Object({
  key_id: Type.String({ description: "Id of the key, also of its tokens." }),
  name: Type.String({ description: "Name of the key." }),
  credential: Choice(
    credentialKinds,
    "What was presented: the key itself, a token of it, its client certificate, a session of it, or a Unix socket.",
  ),
  scopes: Type.Array(Type.String(), { description: "What it may do, those of other hosts included." }),
  expires_at: NullableTimestamp("When the credential expires; null when it does not."),
  host: Type.Optional(Type.String({ examples: ["web1.example.org"], description: "Name of this host." })),
});
export type Identity = Static<typeof Identity>;

export const KeyEntry = Type.Object({
  id: Type.String(),
  name: Type.String(),
  scopes: Type.Array(Type.String(), { description: "What it may do." }),
  created_at: Timestamp("When the key was made."),
  expires_at: NullableTimestamp("When the key expires; null when it does not."),
  last_used_at: NullableTimestamp("Last use, exact to a minute; null when it was never used."),
  revoked_at: NullableTimestamp("When the key was revoked; null when it is good."),
  client_cert_sha256: NullableString(
    "SHA-256 of the client certificate that stands for the key, in hexadecimal; null when there is none.",
  ),
});
export type KeyEntry = Static<typeof KeyEntry>;

export const KeyList = Type.Object({
  keys: Type.Array(KeyEntry, { description: "Revoked ones too." }),
  ...ListShape,
});

export const KeyInput = Strict({
  name: Type.String({
    description: "For people: it is in the list of keys and in the audit log.",
    minLength: 1,
    maxLength: 100,
    pattern: "^[^\\u0000-\\u001f\\u007f]*$",
  }),
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
  scopes: Type.Array(Type.String(), { description: "What it may do." }),
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

export const TokenInput = Options({
  scopes: ScopeList,
  expires_in: Type.Integer({ ...tokenLifetime, description: "Lifetime in seconds." }),
});

/** RFC 6749 §5.1. */
export const Token = Type.Object({
  access_token: Type.String({ description: "The token, for `Authorization: Bearer`." }),
  token_type: Type.Literal("Bearer", { description: "How it is sent (RFC 6750)." }),
  expires_in: Type.Integer({ description: "Seconds." }),
  scope: Type.String({ description: "Scopes, separated by spaces." }),
});
export type Token = Static<typeof Token>;

/** Which gate has something to say; `policy` is what a session or another kind of credential of a key may not do, or has to bring. */
export const judgementKinds = ["scope", "window", "approval", "limit", "policy"] as const;

export const Judgement = Type.Object({
  operation: Type.String({ description: "The operation that was asked about." }),
  resource: NullableString("The resource that was asked about; null for all."),
  allowed: Type.Boolean({
    description:
      "Whether this credential may call it now, with what `because` asks for: a plan, the approval of another key.",
  }),
  because: Type.Array(
    Type.Object({
      kind: Choice(judgementKinds, "What decides."),
      message: Type.String({ description: "Why; where it is not allowed, what the refusal says." }),
    }),
    { description: "Each reason against it, or what allows it." },
  ),
});
export type Judgement = Static<typeof Judgement>;

const KeyId = Type.Object({ id: Type.String({ minLength: 1, description: "Id of the key.", examples: ["Ab3dE6gH"] }) });

export const auth = {
  whoami: {
    method: "GET",
    path: "/auth/whoami",
    tag: "Access",
    summary: "Who this credential is and what it may do",
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
      "Nothing is done. The sentences are those that the call itself would be refused with. What only the call can know is not judged: its body, what the host has, and the further scopes that depend on them, which are those of an operation that is cancelled, of a call that is approved, and of the one among several fixes of a check that fits what is found.",
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
            description: "What it is to be done to; all resources unless given.",
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
    summary: "All keys, without their secrets",
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
    summary: "Make a key",
    description:
      "A key cannot be given a scope that the caller does not have, nor outlive a caller that expires. Its text is shown once: a repetition under the same `Idempotency-Key` gets `CONFLICT` with the id of the key in `details.made`.",
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
      "Only a key that the caller could have made: one whose scopes are among those of the caller. The last key that may make keys can be revoked, too; on the host, root makes another without a key.",
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
    summary: "Make a short-lived Bearer token from a key",
    description:
      "The token has the caller's scopes, or those of them that are named. It ends with its key, and one made from a token does not outlive that token. Its text is shown once: a repetition under the same `Idempotency-Key` gets `CONFLICT`.",
    scope: "self",
    effect: "write",
    query: DryRunQuery,
    body: TokenInput,
    response: Token,
    answerIsSecret: true,
    errors: ["FORBIDDEN", "CONFLICT"],
  },
} as const satisfies Operations;
