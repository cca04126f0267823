import { type Static, type TSchema, Type } from "typebox";
import type { Effect } from "./effects.ts";
import type { ErrorCode } from "./errors.ts";
import type { Accepted } from "./operation-entry.ts";
import { Choice, Options } from "./schema.ts";
import type { Scope } from "./scopes.ts";

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
  readonly tag: "Health" | "System" | "Packages" | "Updates" | "Connectors" | "Plugins" | "Access" | "Observability";
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
  /** The effects of a mutation; its scopes cover theirs. */
  readonly does?: readonly Effect[];
  /** The fix that it runs has further effects, whose scopes the handler requires. */
  readonly doesMore?: "fix";
  /** Whether it outlives its request, so that a caller may prefer the address of the operation to waiting. */
  readonly outlives?: true;
  /** Whether its answer may take minutes without any data. */
  readonly takesLong?: true;
  /** Whether its answer is available in pieces, as an {@link EventStream}. */
  readonly streams?: true;
  /** Whether its answer has a secret that is shown once: it is not stored for repetitions, which get `CONFLICT`. */
  readonly answerIsSecret?: true;
  readonly params?: TSchema;
  readonly query?: TSchema;
  /** Optional as a whole when all its members are. */
  readonly body?: TSchema;
  readonly response: TSchema;
  readonly status?: 200 | 201;
  readonly mediaType?: "text/plain";
  /** Errors beyond the common ones of {@link errorsOf}. Lists `UNAVAILABLE` where more than files can be missing. */
  readonly errors: readonly ErrorCode[];
}

export type Operations = Readonly<Record<string, Operation>>;

/** `?dry_run=true` on a mutation: answer with a {@link Plan} without doing anything. */
export const DryRunQuery = Options({
  dry_run: Type.Boolean({ default: false, description: "Answer with what would be done, and do nothing." }),
});

/** `safe`: without loss. `moderate`: changes something replaceable. `risky`: must be confirmed. */
export const risks = ["safe", "moderate", "risky"] as const;
export type Risk = (typeof risks)[number];

/** How far the host can return to the snapshot. */
export const WayBack = {
  rollback: Type.Optional(
    Choice(
      ["full", "partial"],
      "`partial`: some packages could not be returned, since no file of their version can be had.",
    ),
  ),
  rollback_lacks: Type.Optional(Type.Array(Type.String(), { description: "Names of those packages." })),
};

export const Plan = Type.Object({
  dry_run: Type.Literal(true),
  steps: Type.Array(Type.String(), { description: "What would be done, in order." }),
  units: Type.Array(Type.String(), { description: "systemd units that would be touched." }),
  packages: Type.Array(Type.String(), { description: "Packages that would be touched." }),
  bytes: Type.Integer({ description: "Bytes that would be downloaded." }),
  requires_reboot: Type.Boolean(),
  frees_bytes: Type.Optional(Type.Integer({ description: "Bytes on disk that would become free, as far as known." })),
  ...WayBack,
  fix_id: Type.Optional(Type.String()),
  risk: Type.Optional(Choice(risks, "`risky` needs to be confirmed.")),
  reason: Type.Optional(
    Type.String({ description: "Why nothing would be done, where there are no steps; else what would be left alone." }),
  ),
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

/** The answer of a handler: a {@link Plan} for a dry run, or {@link Accepted} when a mutation goes on without its caller. */
export type Output<T extends Operation> = T["effect"] extends "read"
  ? Static<T["response"]> | SerializedJson<Static<T["response"]>>
  : Static<T["response"]> | Plan | Accepted | (T extends { readonly streams: true } ? EventStream : never);

/** A key, a token of it, its client certificate, or the Unix socket that only the administrator can open. */
export const credentialKinds = ["key", "token", "certificate", "socket"] as const;

export interface Caller {
  /** Of the key, also for its tokens. Over the administrator's socket `root`, or `owner`. */
  readonly keyId: string;
  readonly keyName: string;
  readonly credential: (typeof credentialKinds)[number];
  readonly scopes: readonly string[];
  /** Epoch milliseconds; null for never. */
  readonly expiresAt: number | null;
}

export interface Quota {
  readonly name: string;
  readonly limit: number;
  readonly remaining: number;
  readonly windowSeconds: number;
  /** Until it is reset. */
  readonly resetSeconds: number;
}

export interface Context {
  /** Undefined for operations without a key. */
  readonly caller: Caller | undefined;
  /** Fires when the client disconnects or the service stops. */
  readonly signal: () => AbortSignal;
  /** RFC 7240, `respond-async`. */
  readonly prefersAsync: () => boolean;
  /** Identifies this request; repetitions by a caller with the same rights have the same one. */
  readonly idempotencyKey: () => string | undefined;
  /** Names what the call created or changed, for the audit log; never a secret. A read with targets is recorded too. */
  readonly touched: (target: Readonly<Record<string, string>>) => void;
  /** Reports a further budget, for the headers of any answer. */
  readonly drawsOn: (quota: Quota) => void;
  /** Runs a task after the answer was sent or its client disconnected, for tasks that would interrupt the answer. */
  readonly afterReply: (task: () => Promise<void>) => void;
}

/** One handler for each row; a missing one, or a wrong field in an answer, does not compile. */
export type Handlers<T extends Operations> = {
  readonly [K in keyof T]: (input: Input<T[K]>, context: Context) => Promise<Output<T[K]>> | Output<T[K]>;
};

/**
 * All error codes of an operation. Every request can be malformed, or have a foreign host or origin, so all have `VALIDATION_ERROR` and
 * `FORBIDDEN`. With a key, a full disk or too many open files cause `UNAVAILABLE`.
 */
export function errorsOf({ scope, errors }: Operation): readonly ErrorCode[] {
  const needsKey: readonly ErrorCode[] = scope === "public" ? [] : ["UNAUTHORIZED", "RATE_LIMITED", "UNAVAILABLE"];
  return [...new Set<ErrorCode>(["VALIDATION_ERROR", ...needsKey, "FORBIDDEN", ...errors, "INTERNAL_ERROR"])];
}
