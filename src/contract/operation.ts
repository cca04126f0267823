import { type Static, type TSchema, Type } from "typebox";
import type { Deprecation } from "./deprecation.ts";
import type { ErrorCode } from "./errors.ts";
import type { Accepted } from "./operation-entry.ts";
import { Choice, NullableTimestamp, Options, Timestamp } from "./schema.ts";
import type { Scope } from "./scopes.ts";

/** What operations are about, with a description of each. */
export const tags = {
  Health: "Health of the host and of the service.",
  System: "The host: its services, logs, processes, disks, network and accounts.",
  Packages: "Installed packages, and those that can be installed.",
  Updates: "Updates, snapshots to undo them, and operations that outlive their request.",
  Connectors: "Language models behind one interface.",
  Plugins: "Checks, commands and hooks that extend the service.",
  Access: "Keys, tokens, and the audit log of their use.",
  Observability: "Metrics, alerts and traces.",
} as const;

/**
 * One row of the operations table, from which routes, validation, serialisation, the OpenAPI document, the typed client, the table of
 * permissions and the metrics label derive.
 */
export interface Operation {
  readonly method: "GET" | "POST" | "DELETE";
  /** Below the base, in the contract's notation: `/system/services/{name}/restart`. */
  readonly path: `/${string}`;
  /** `root` puts the path at the root instead of under `/api/v1`. */
  readonly base?: "root";
  readonly tag: keyof typeof tags;
  readonly summary: string;
  readonly description?: string;
  /** The required scope; `self`: any valid key; `public`: no key. */
  readonly scope: Scope | "self" | "public";
  readonly alsoNeeds?: readonly Scope[];
  /** Needs no key from loopback without a forwarding header, where settings allow it (`/metrics`). */
  readonly openToLoopback?: true;
  /** For a narrowable scope: the canonical name of the resource. */
  readonly resource?: (params: Readonly<Record<string, string>>) => string;
  /** For a narrowable scope, when the resource is known only in the answer: a narrowed key is admitted, and the handler filters. */
  readonly narrows?: "answer";
  readonly effect: "read" | "write" | "danger";
  /** The fix that it runs, or the call that it approves, needs further scopes, which the handler requires. */
  readonly doesMore?: "fix" | "approved";
  /** Whether it outlives its request, so that a caller may prefer the address of the operation to waiting. */
  readonly outlives?: true;
  /** Whether its answer may take minutes without any data. */
  readonly takesLong?: true;
  /** The schema of its events, where its answer is available in pieces, as an {@link EventStream}. */
  readonly streams?: TSchema;
  /** Media types of its answer, where that is a {@link ByteStream}, with an example of each. */
  readonly mediaTypes?: Readonly<Record<string, string>>;
  /** Whether its answer is a {@link Versioned} one, so that clients that have it get 304. */
  readonly versioned?: true;
  /** A read of what is in memory alone: nothing of the host can be missing, so it is never `UNAVAILABLE`. */
  readonly fromMemory?: true;
  /** Whether its answer has a secret that is shown once: it is not stored for repetitions, which get `CONFLICT`. */
  readonly answerIsSecret?: true;
  /** `signsIn`: the credential is in the body. `own`: a session may do it to itself while it is read-only. */
  readonly session?: "signsIn" | "own";
  /** Only a session does it: keys and tokens are refused. */
  readonly forSessions?: true;
  readonly params?: TSchema;
  readonly query?: TSchema;
  /** Optional as a whole when all its members are. */
  readonly body?: TSchema;
  readonly response: TSchema;
  readonly status?: 200 | 201;
  readonly mediaType?: "text/plain";
  /** Says on every answer that it is to go. */
  readonly deprecated?: Deprecation;
  /** Errors beyond the common ones of {@link errorsOf}. Lists `UNAVAILABLE` where more than files can be missing. */
  readonly errors: readonly ErrorCode[];
}

export type Operations = Readonly<Record<string, Operation>>;

/** `?dry_run=true` on a mutation: answer with a {@link Plan} without doing anything. */
export const DryRunQuery = Options({
  dry_run: Type.Boolean({ default: false, description: "Return what would be done, and do nothing." }),
});

/** `safe`: without loss. `moderate`: changes something replaceable. `risky`: must be confirmed. */
export const risks = ["safe", "moderate", "risky"] as const;
export type Risk = (typeof risks)[number];

/** How far the host can return to the snapshot. */
export const WayBack = {
  rollback: Type.Optional(
    Choice(
      ["full", "partial"],
      "`partial`: some packages could not be restored, because no file of their version is available.",
    ),
  ),
  rollback_lacks: Type.Optional(
    Type.Array(Type.String(), { description: "Names of the packages that could not be restored." }),
  ),
};

export const Plan = Type.Object({
  dry_run: Type.Literal(true, { description: "True in a plan." }),
  steps: Type.Array(Type.String(), { description: "What would be done, in order." }),
  units: Type.Array(Type.String(), { description: "systemd units that would be affected." }),
  packages: Type.Array(Type.String(), { description: "Packages that would be affected." }),
  bytes: Type.Integer({ description: "Bytes that would be downloaded." }),
  requires_reboot: Type.Boolean({ description: "Whether the host would have to be rebooted afterwards." }),
  frees_bytes: Type.Optional(
    Type.Integer({ description: "Disk space that would be freed, in bytes, as far as it is known." }),
  ),
  ...WayBack,
  fix_id: Type.Optional(Type.String({ description: "The fix that would be run." })),
  risk: Type.Optional(Choice(risks, "`risky` needs to be confirmed.")),
  outside_window: Type.Optional(
    Type.Object(
      {
        window: Type.String({ description: "The window that prevents the call." }),
        next_window: NullableTimestamp("When it is allowed again; null if that is not foreseeable."),
        message: Type.String({ description: "The message of the refusal." }),
      },
      { description: "Present if the call itself would be refused now because of a window in the settings." },
    ),
  ),
  needs_approval: Type.Optional(
    Type.Object(
      {
        approvers: Type.Integer({ minimum: 1, description: "Number of other keys that must approve." }),
        message: Type.String({ description: "Why." }),
      },
      { description: "Present if the call itself would wait for the approval of other keys." },
    ),
  ),
  reason: Type.Optional(
    Type.String({ description: "Why nothing would be done, if there are no steps; else what would be skipped." }),
  ),
  plan_token: Type.Optional(
    Type.String({
      // It goes into a header.
      pattern: "^plan_[A-Za-z0-9_.-]{1,250}$",
      examples: [
        "plan_q1Zc0p4xY7dKfG2m.mjuoumyo.mjAcZmCwLLTx-xRib9lmj6T_IoSnNUfsVVqxu7xhef8.qjAcZmCwLLTx-xRib9lmj6T_IoSnNUfsVVqxu7xhef8",
      ],
      description:
        "Value for `X-Plan-Token` of the same call without `dry_run`: the call then does what this plan says, or is refused.",
    }),
  ),
  plan_expires_at: Type.Optional(Timestamp("When the token expires. It can be used once.")),
});
export type Plan = Static<typeof Plan>;

type Part<T, K extends string> = T extends { readonly [P in K]: infer S extends TSchema } ? Static<S> : undefined;
type WithoutUndefined<T> = { [K in keyof T as T[K] extends undefined ? never : K]: T[K] };

/** The input of a handler: valid parameters, query (with defaults) and body. */
export type Input<T> = WithoutUndefined<{
  params: Part<T, "params">;
  query: Part<T, "query">;
  body: Part<T, "body">;
}>;

/** An answer of the shape `T`, already written as JSON (RFC 8259, UTF-8), since it is too large for objects. */
export class SerializedJson<T> {
  readonly bytes: Uint8Array;
  /** For the compiler: without it all `T` would be the same. */
  declare readonly shape?: T;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }
}

/**
 * An answer that is made only for clients that do not have it yet. Its version is what it is made of: objects, which never
 * change and of which another one is another version, and values. What is not among them must not change the answer.
 */
export class Versioned<T> {
  readonly parts: readonly unknown[];
  readonly make: () => T;

  constructor(parts: readonly unknown[], make: () => T) {
    this.parts = parts;
    this.make = make;
  }
}

export interface ServerSentEvent {
  readonly event: string;
  readonly data: object;
}

/**
 * An answer in pieces: server-sent events (WHATWG HTML, §9.2). An error before the first event is an ordinary error answer; the
 * iteration ends early when the client disconnects.
 */
export class EventStream {
  readonly events: AsyncIterable<ServerSentEvent>;

  constructor(events: AsyncIterable<ServerSentEvent>) {
    this.events = events;
  }
}

/**
 * An answer of any length, in parts that are made as the client reads them. An error before the first part is an ordinary error
 * answer; after it the connection is cut, so that what has arrived is not taken for all. The iteration ends early when the client
 * disconnects. Empty parts are not sent.
 */
export class ByteStream {
  readonly mediaType: string;
  readonly parts: AsyncIterable<Uint8Array>;
  /** Further headers of the answer, asked for once the first part is there. */
  readonly headers: () => Readonly<Record<string, string>>;

  constructor(
    mediaType: string,
    parts: AsyncIterable<Uint8Array>,
    headers: () => Readonly<Record<string, string>> = () => ({}),
  ) {
    this.mediaType = mediaType;
    this.parts = parts;
    this.headers = headers;
  }
}

/** The answer of a handler: a {@link Plan} for a dry run, or {@link Accepted} when a mutation continues without its caller. */
export type Output<T extends Operation> = T extends { readonly mediaTypes: object }
  ? ByteStream
  : T["effect"] extends "read"
    ?
        | Static<T["response"]>
        | SerializedJson<Static<T["response"]>>
        | (T extends { readonly versioned: true } ? Versioned<Static<T["response"]>> : never)
    : Static<T["response"]> | Plan | Accepted | (T extends { readonly streams: TSchema } ? EventStream : never);

/** A key, a token of it, its client certificate, the Unix socket that only the administrator can open, or a session of a key. */
export const credentialKinds = ["key", "token", "certificate", "socket", "session"] as const;

export interface Caller {
  /** Of the key, also for its tokens. Over the administrator's socket `root`, or `owner`. */
  readonly keyId: string;
  readonly keyName: string;
  readonly credential: (typeof credentialKinds)[number];
  /** What it may do on this host. */
  readonly scopes: readonly string[];
  /** The scopes as they were given, where those name hosts; else they are `scopes`. */
  readonly granted?: readonly string[];
  /** Epoch milliseconds; null for never. */
  readonly expiresAt: number | null;
  /** The session that it calls in. */
  readonly session?: {
    readonly id: string;
    /** Whether it may change something. */
    readonly isElevated: boolean;
    /** The end of its key, which may be later than its own. */
    readonly keyExpiresAt: number | null;
  };
  /** What relays the call: a transport, with what its client says of itself, or a diagnosis, with the model that it asks. */
  readonly via?: { readonly transport: "mcp" | "diagnosis"; readonly client: string; readonly reason?: string };
}

export const grantedTo = ({ granted, scopes }: Pick<Caller, "granted" | "scopes">): readonly string[] =>
  granted ?? scopes;

export interface Quota {
  readonly name: string;
  readonly limit: number;
  readonly remaining: number;
  readonly windowSeconds: number;
  /** Until it is reset. */
  readonly resetSeconds: number;
}

/** What a caller who sent a plan token has agreed to, right after it was planned again. */
export interface Planned {
  /** What a task that outlives the request has to find again before it changes something. */
  readonly transaction: readonly string[] | undefined;
  /** For operations that are found again under an idempotency key, whose own changes the plan may lack. @throws DomainError */
  readonly requireUnchanged: () => void;
}

/** What only handlers of sessions and passkeys do with a request. */
export interface Login {
  readonly remoteAddress: string | null;
  /** Of the page that asks, which is one of this service; undefined where no page does. */
  readonly origin: string | undefined;
  /** Who the call turned out to be by, for its budget and the logs. @throws DomainError `RATE_LIMITED` */
  readonly by: (caller: Caller) => void;
  /** The refusal of a credential in the body, counted as a failed login. */
  readonly refused: (code: "UNAUTHORIZED" | "FORBIDDEN", message: string) => Error;
  /** Sends the first half of a session; undefined removes it from the browser. */
  readonly sendCookie: (half: string | undefined) => void;
}

/** An operation as it is offered to a model. */
export interface ToolOffer {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of its arguments. */
  readonly schema: Readonly<Record<string, unknown>>;
}

export interface ToolAnswer {
  readonly status: number;
  /** Undefined where it is too long to be read. */
  readonly body: Readonly<Record<string, unknown>> | undefined;
  /** For a mutation, of which only the plan was asked for: the arguments that it is of, and why the model wants it. */
  readonly planned?: { readonly arguments: Readonly<Record<string, unknown>>; readonly reason: string | null };
}

/**
 * Operations as the tools of a model, for the caller of a request and with its rights: each call goes the way of any request. A
 * mutation is never carried out: its plan is the answer.
 */
export interface Tools {
  /** What a model is offered of what the caller may use or propose. */
  readonly offered: () => readonly ToolOffer[];
  /**
   * @param by the model, for the audit log.
   * @throws DomainError for an operation that is not a tool, and for arguments that no request can have.
   */
  readonly call: (
    name: string,
    given: Readonly<Record<string, unknown>>,
    by: { readonly model: string; readonly signal: AbortSignal },
  ) => Promise<ToolAnswer>;
}

export interface Context {
  /** Undefined for operations without a key. */
  readonly caller: Caller | undefined;
  /** Fires when the client disconnects or the service stops. */
  readonly signal: () => AbortSignal;
  /** RFC 7240, `respond-async`. */
  readonly prefersAsync: () => boolean;
  /** RFC 7240, `wait`, in milliseconds: how long the caller would wait at most; undefined where it does not say. */
  readonly prefersWaitMs: () => number | undefined;
  /** Identifies this request; repetitions by a caller with the same rights have the same one. */
  readonly idempotencyKey: () => string | undefined;
  /**
   * Has windows of the settings hold back what only the handler knows to be needed, as the scope of a fix or of a package.
   * @throws DomainError `CONFLICT`; for a dry run the plan says so instead.
   */
  readonly checkWindows: (scope: Scope, resource?: string) => void;
  /** Why the caller overrides windows; undefined where it does not. */
  readonly windowOverride: () => string | undefined;
  /** Says that this answer has a secret that is shown once: it is not stored for repetitions. */
  readonly answerIsSecret: () => void;
  /** Names what the call created or changed, for the audit log; never a secret. A read with targets is recorded too. */
  readonly touched: (target: Readonly<Record<string, string>>) => void;
  /** The plan that the caller has agreed to; undefined without its token. */
  readonly planned: () => Planned | undefined;
  /** Reports a further budget, for the headers of any answer. */
  readonly drawsOn: (quota: Quota) => void;
  readonly login: () => Login;
  /** Undefined where no request is behind the call, as when it was approved. */
  readonly tools: () => Tools | undefined;
  /** Runs a task after the answer was sent or its client disconnected, for tasks that would interrupt the answer. */
  readonly afterReply: (task: () => Promise<void>) => void;
}

/** One handler for each row; a missing one, or a wrong field in an answer, does not compile. */
export type Handlers<T extends Operations> = {
  readonly [K in keyof T]: (input: Input<T[K]>, context: Context) => Promise<Output<T[K]>> | Output<T[K]>;
};

/**
 * All error codes of an operation. Every request can be malformed, or have a foreign host or origin, so all have `VALIDATION_ERROR` and
 * `FORBIDDEN`. With a key, a full disk or too many open files cause `UNAVAILABLE`, but for what is read from memory. A mutation may be held back by windows of the
 * settings, or be sent with a plan that is no longer true: both are `CONFLICT`.
 */
export function errorsOf({ scope, effect, errors, fromMemory }: Operation): readonly ErrorCode[] {
  const ofHost: readonly ErrorCode[] = fromMemory === true ? [] : ["UNAVAILABLE"];
  const needsKey: readonly ErrorCode[] = scope === "public" ? [] : ["UNAUTHORIZED", "RATE_LIMITED", ...ofHost];
  const ofMutations: readonly ErrorCode[] = effect === "read" ? [] : ["CONFLICT"];
  return [
    ...new Set<ErrorCode>(["VALIDATION_ERROR", ...needsKey, "FORBIDDEN", ...errors, ...ofMutations, "INTERNAL_ERROR"]),
  ];
}

/** Whether calls may wait for the approval of others: those that take a scope, but for approvals themselves. */
export const canWait = ({ effect, scope }: Pick<Operation, "effect" | "scope">): boolean =>
  effect !== "read" && scope !== "self" && scope !== "public";

/** Whether a repetition of a call is recognized by an `Idempotency-Key`. */
export const takesIdempotencyKey = ({ method, scope }: Pick<Operation, "method" | "scope">): boolean =>
  method === "POST" && scope !== "public";
export const idempotencyKeyForm = /^[\x20-\x7e]{1,255}$/;

/** Rows about credentials and about what is done with them. */
const tagsOfSecrets: readonly Operation["tag"][] = ["Access", "Connectors"];

/**
 * Whether answers may be compressed. The length of a compressed answer shows an eavesdropper how much two parts of it have
 * in common (BREACH), so none is that might have a secret beside what a caller chose: only reads that need no more than a
 * scope for reading, and none about credentials.
 */
export function isCompressible({ method, effect, scope, tag, answerIsSecret }: Operation): boolean {
  const isPlainRead = method === "GET" && effect === "read" && (scope === "public" || scope.endsWith(":read"));
  return isPlainRead && answerIsSecret === undefined && !tagsOfSecrets.includes(tag);
}
