import { type Static, Type } from "typebox";
import { DryRunQuery, type Operations } from "./operation.ts";
import { PasskeyAssertion } from "./passkeys.ts";
import { ListShape, NullableString, NullableTimestamp, Options, Timestamp } from "./schema.ts";

/** The request header of the second half of a session. */
export const sessionHeader = "X-Steward-Session";

/** `details.reason` of what a session has to be elevated for. */
export const elevationRequired = "elevation_required";

const Secret = (description: string) => Type.String({ minLength: 1, maxLength: 200, description });

/** Of all, one. */
export const SessionInput = Options({
  key: Secret("The key whose session it is; not a token of it."),
  code: Secret("Instead of the key: a one-time code of it."),
  passkey: PasskeyAssertion,
});

export const CreatedSession = Type.Object({
  id: Type.String({ description: "Id of the session." }),
  secret: Type.String({
    description:
      "The second half of the session, for the header `X-Steward-Session`; the first is in the cookie. It is shown this once.",
  }),
  name: Type.String({ description: "Name of the key." }),
  scopes: Type.Array(Type.String(), { description: "What its key may do, those of other hosts included." }),
  elevated: Type.Boolean({ description: "Whether it may change something." }),
  elevation_ends_at: NullableTimestamp("Until when it may change something; null when it is read-only."),
  expires_at: Timestamp("When it ends at the latest, however much it is used."),
});
export type CreatedSession = Static<typeof CreatedSession>;

export const SessionEntry = Type.Object({
  id: Type.String(),
  key_id: Type.String({ description: "Id of its key." }),
  name: Type.String({ description: "Name of its key." }),
  created_at: Timestamp("When somebody signed in."),
  last_used_at: Timestamp("Last use; after a restart of the service exact to a minute."),
  idles_out_at: Timestamp("When it ends unless it is used before."),
  expires_at: Timestamp("When it ends at the latest, however much it is used."),
  elevated: Type.Boolean({ description: "Whether it may change something." }),
  elevation_ends_at: NullableTimestamp("Until when it may change something; null when it is read-only."),
  remote_address: NullableString("Where somebody signed in from."),
  current: Type.Boolean({ description: "Whether it is the session that asks." }),
});
export type SessionEntry = Static<typeof SessionEntry>;

export const SessionList = Type.Object({
  sessions: Type.Array(SessionEntry, { description: "The one used last first." }),
  ...ListShape,
});

export const EndedSession = Type.Object({
  id: Type.String(),
  success: Type.Boolean(),
  message: Type.String(),
});

export const CreatedCode = Type.Object({
  code: Type.String({ description: "The code. It is shown this once." }),
  expires_at: Timestamp("Until when it is good. It is good once."),
});

export const CreatedTicket = Type.Object({
  ticket: Type.String({ description: "The ticket, for the query parameter `ticket` of a WebSocket." }),
  expires_at: Timestamp("Until when it is good. It is good once."),
});

const SessionId = Type.Object({
  id: Type.String({ minLength: 1, description: "Id of the session.", examples: ["Zx9yW8vU"] }),
});

export const sessions = {
  createSession: {
    method: "POST",
    path: "/auth/sessions",
    tag: "Access",
    summary: "Sign in: begin a read-only session of a key",
    description:
      "With the key, with a one-time code of it (`POST /auth/codes`), or with a passkey of it (`POST /auth/passkeys/request-options`). A session has two halves, a cookie and `secret`; a request needs both. It is never wider than its key, and ends with it, when it is not used for a while, or when its time is up. It may only read until it is elevated.",
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
    summary: "Let this session change something, for a while",
    description:
      "Takes the key of the session again, or a one-time code or a passkey of it. Both halves of the session change: the former ones are worth nothing from here on.",
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
    summary: "Sessions: those of the own key, or all with keys:admin",
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
      "One of the own key, or any with keys:admin. A session that ends itself has its cookie removed. A read-only session may end those of its own key alone.",
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
    summary: "Make a one-time code to sign in with",
    description:
      "It stands for the key that asks, once, for a minute: to sign in or to elevate a session in a browser that never sees the key. Only a key or its client certificate makes codes, not a token and not a session.",
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
    summary: "Make a one-time ticket for a WebSocket of this session",
    description:
      "Browsers cannot set headers on a WebSocket: for 30 seconds and once, `?ticket=` stands for `X-Steward-Session` there. The cookie is needed beside it.",
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
