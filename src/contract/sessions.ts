import { type Static, Type } from "typebox";
import { DryRunQuery, type Operations } from "./operation.ts";
import { PasskeyAssertion } from "./passkeys.ts";
import { ListShape, NullableString, NullableTimestamp, Options, Timestamp } from "./schema.ts";

/** The request header of the second half of a session. */
export const sessionHeader = "X-Steward-Session";

/** `details.reason` of what a session must be elevated for. */
export const elevationRequired = "elevation_required";

const Secret = (description: string) => Type.String({ minLength: 1, maxLength: 200, description });

/** Of all, one. */
export const SessionInput = Options({
  key: Secret("The key that the session is for; not a token."),
  code: Secret("Instead of the key: a one-time code created with it."),
  passkey: PasskeyAssertion,
});

export const CreatedSession = Type.Object({
  id: Type.String({ description: "Id of the session." }),
  secret: Type.String({
    description:
      "The second half of the session, for the header `X-Steward-Session`; the first half is in the cookie. It is shown only this once.",
  }),
  name: Type.String({ description: "Name of the key." }),
  scopes: Type.Array(Type.String(), { description: "Scopes of the key, including those for other hosts." }),
  elevated: Type.Boolean({ description: "Whether the session may make changes." }),
  elevation_ends_at: NullableTimestamp("Until when the session may make changes; null if it is read-only."),
  expires_at: Timestamp("When the session ends even if it is in use."),
});
export type CreatedSession = Static<typeof CreatedSession>;

export const SessionEntry = Type.Object({
  id: Type.String(),
  key_id: Type.String({ description: "Id of its key." }),
  name: Type.String({ description: "Name of its key." }),
  created_at: Timestamp("When the session was opened."),
  last_used_at: Timestamp("Last use; accurate to a minute after a restart of the service."),
  idles_out_at: Timestamp("When the session ends unless it is used before."),
  expires_at: Timestamp("When the session ends even if it is in use."),
  elevated: Type.Boolean({ description: "Whether the session may make changes." }),
  elevation_ends_at: NullableTimestamp("Until when the session may make changes; null if it is read-only."),
  remote_address: NullableString("Address of the client that signed in."),
  current: Type.Boolean({ description: "Whether it is the session of this request." }),
});
export type SessionEntry = Static<typeof SessionEntry>;

export const SessionList = Type.Object({
  sessions: Type.Array(SessionEntry, { description: "Ordered by last use, the newest first." }),
  ...ListShape,
});

export const EndedSession = Type.Object({
  id: Type.String(),
  success: Type.Boolean(),
  message: Type.String(),
});

export const CreatedCode = Type.Object({
  code: Type.String({ description: "The code. It is shown only this once." }),
  expires_at: Timestamp("When it expires. It can be used once."),
});

export const CreatedTicket = Type.Object({
  ticket: Type.String({ description: "The ticket, for the query parameter `ticket` of a WebSocket." }),
  expires_at: Timestamp("When it expires. It can be used once."),
});

const SessionId = Type.Object({
  id: Type.String({ minLength: 1, description: "Id of the session.", examples: ["Zx9yW8vU"] }),
});

export const sessions = {
  createSession: {
    method: "POST",
    path: "/auth/sessions",
    tag: "Access",
    summary: "Sign in: open a read-only session of a key",
    description:
      "With the key, with a one-time code created with it (`POST /auth/codes`), or with one of its passkeys (`POST /auth/passkeys/request-options`). A session has two halves, a cookie and `secret`; a request needs both. It never has more scopes than its key. It ends when the key becomes invalid, when it is not used for a while, or when its maximum lifetime is over. It is read-only until it is elevated.",
    scope: "public",
    session: "signsIn",
    effect: "write",
    query: DryRunQuery,
    body: SessionInput,
    response: CreatedSession,
    answerIsSecret: true,
    status: 201,
    errors: ["UNAUTHORIZED", "RATE_LIMITED", "UNAVAILABLE"],
  },
  elevateSession: {
    method: "POST",
    path: "/auth/sessions/elevate",
    tag: "Access",
    summary: "Elevate this session: allow it to make changes for a while",
    description:
      "Needs the key of the session again, or a one-time code or a passkey of that key. Both halves of the session are replaced; the former ones become invalid.",
    scope: "self",
    session: "own",
    forSessions: true,
    effect: "write",
    query: DryRunQuery,
    body: SessionInput,
    response: CreatedSession,
    answerIsSecret: true,
    errors: [],
  },
  listSessions: {
    method: "GET",
    path: "/auth/sessions",
    tag: "Access",
    summary: "Sessions of the caller's key, or all with keys:admin",
    scope: "self",
    effect: "read",
    fromMemory: true,
    response: SessionList,
    errors: [],
  },
  endSession: {
    method: "DELETE",
    path: "/auth/sessions/{id}",
    tag: "Access",
    summary: "Sign out: end a session at once",
    description:
      "A session of the caller's key, or any with keys:admin. If a session ends itself, its cookie is removed. A read-only session can end only sessions of its own key.",
    scope: "self",
    session: "own",
    effect: "write",
    params: SessionId,
    query: DryRunQuery,
    response: EndedSession,
    errors: ["NOT_FOUND"],
  },
  createCode: {
    method: "POST",
    path: "/auth/codes",
    tag: "Access",
    summary: "Create a one-time code to sign in",
    description:
      "The code can be used once within a minute in place of the key, to sign in or to elevate a session in a browser that never sees the key. Only a key or its client certificate can create codes, not a token or a session.",
    scope: "self",
    effect: "write",
    query: DryRunQuery,
    response: CreatedCode,
    answerIsSecret: true,
    status: 201,
    errors: ["FORBIDDEN"],
  },
  createTicket: {
    method: "POST",
    path: "/auth/tickets",
    tag: "Access",
    summary: "Create a one-time ticket for a WebSocket of this session",
    description:
      "Browsers cannot set headers on a WebSocket: `?ticket=` replaces `X-Steward-Session` there, once and within 30 seconds. The cookie is needed as well.",
    scope: "self",
    forSessions: true,
    effect: "read",
    fromMemory: true,
    response: CreatedTicket,
    answerIsSecret: true,
    status: 201,
    errors: ["FORBIDDEN"],
  },
} as const satisfies Operations;
