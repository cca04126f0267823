import type { Static, TSchema } from "typebox";
import type { Effect } from "./effects.ts";
import type { ErrorCode } from "./errors.ts";
import type { Accepted } from "./operation-entry.ts";
import type { Scope } from "./scopes.ts";
import { Type } from "./type.ts";

/**
 * One row of the operations table: everything that is said about an operation, said once.
 * Routes, validation, serialisation, the OpenAPI document, the typed client, the permission
 * table and the metrics label all derive from it.
 */
export interface Operation {
  readonly method: "GET" | "POST" | "DELETE";
  /** Path below the base, in the contract's notation: `/system/services/{name}/restart`. */
  readonly path: `/${string}`;
  /** `root` puts the path at the root of the address instead of under `/api/v1`. */
  readonly base?: "root";
  readonly tag: "Health" | "System" | "Updates" | "Connectors" | "Plugins" | "Access" | "Observability";
  readonly summary: string;
  readonly description?: string;
  /** The scope that a key needs; `self`: any valid key; `public`: none at all. */
  readonly scope: Scope | "self" | "public";
  /** Scopes that the key needs besides. */
  readonly alsoNeeds?: readonly Scope[];
  /** A peer on loopback without a forwarding header needs no key where settings allow it (`/metrics`). */
  readonly openToLoopback?: true;
  /** For a scope that may be narrowed: the resource that the call touches, in its canonical name. */
  readonly resource?: (params: Readonly<Record<string, string>>) => string;
  /**
   * For a scope that may be narrowed, where what the call touches is not known before it is answered: a key whose scope is
   * narrowed is let in, and the handler answers no more than what it may see.
   */
  readonly narrows?: "answer";
  readonly effect: "read" | "write" | "danger";
  /** What it does; its scopes cover what that takes. Every mutation says so. */
  readonly does?: readonly Effect[];
  /** What it does besides is said by the fix that it carries out, and the handler demands what that takes. */
  readonly doesMore?: "fix";
  /** It outlives its request: a caller who would rather not wait gets the address of its operation. */
  readonly outlives?: true;
  /** Its answer may take minutes, in which nothing moves on the connection. */
  readonly takesLong?: true;
  /** Its answer can be had in pieces, as an {@link EventStream}. */
  readonly streams?: true;
  /** Its answer holds a secret that is shown once: it is not kept for repetitions, which get `CONFLICT`. */
  readonly answerIsSecret?: true;
  readonly params?: TSchema;
  readonly query?: TSchema;
  /** A body whose every member is optional may be left out altogether. */
  readonly body?: TSchema;
  readonly response: TSchema;
  /** Status of success, 200 unless said. */
  readonly status?: 200 | 201;
  /** Media type of success, JSON unless said. */
  readonly mediaType?: "text/plain";
  /**
   * Errors beyond those that every operation shares, see {@link errorsOf}. `UNAVAILABLE` is named here too where something else
   * than files can be missing.
   */
  readonly errors: readonly ErrorCode[];
}

export type Operations = Readonly<Record<string, Operation>>;

/** `?dry_run=true` on a mutation: answer with a {@link Plan} and do nothing. */
export const DryRunQuery = Type.Object(
  {
    dry_run: Type.Optional(
      Type.Boolean({ default: false, description: "Answer with what would be done, and do nothing." }),
    ),
  },
  { additionalProperties: false },
);

/** `safe`: loses nothing. `moderate`: touches what can be had again. `risky`: has to be confirmed. */
export const risks = ["safe", "moderate", "risky"] as const;
export type Risk = (typeof risks)[number];

/** What a mutation would do. */
export const Plan = Type.Object({
  dry_run: Type.Literal(true),
  steps: Type.Array(Type.String(), { description: "What would be done, in order." }),
  units: Type.Array(Type.String(), { description: "systemd units that would be touched." }),
  packages: Type.Array(Type.String(), { description: "Packages that would be touched." }),
  bytes: Type.Integer({ description: "Bytes that would be downloaded." }),
  requires_reboot: Type.Boolean(),
  frees_bytes: Type.Optional(Type.Integer({ description: "Bytes on disk that would become free, as far as known." })),
  fix_id: Type.Optional(Type.String()),
  risk: Type.Optional(
    Type.Unsafe<Risk>({ type: "string", enum: [...risks], description: "`risky` needs to be confirmed." }),
  ),
  reason: Type.Optional(
    Type.String({ description: "Why nothing would be done, where there are no steps; else what would be left alone." }),
  ),
});
export type Plan = Static<typeof Plan>;

type Part<T, K extends string> = T extends { readonly [P in K]: infer S extends TSchema } ? Static<S> : undefined;
type WithoutUndefined<T> = { [K in keyof T as T[K] extends undefined ? never : K]: T[K] };

/** What a handler is given: the checked parameters, query (defaults filled in) and body. */
export type Input<T> = WithoutUndefined<{
  params: Part<T, "params">;
  query: Part<T, "query">;
  body: Part<T, "body">;
}>;

/**
 * An answer that was written as JSON (RFC 8259, UTF-8) where it was made, in the shape of `T`: for what is too big to be
 * made as objects first.
 */
export class SerializedJson<T> {
  readonly bytes: Uint8Array;
  /** Exists for the compiler alone: without it every `T` would be the same. */
  declare readonly shape?: T;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }
}

/** One server-sent event: its type, and data that is sent as JSON. */
export interface ServerSentEvent {
  readonly event: string;
  readonly data: object;
}

/**
 * An answer in pieces: server-sent events (WHATWG HTML, §9.2). What throws before the first event is an error answer as any
 * other; the iteration is ended early when the client goes.
 */
export class EventStream {
  readonly events: AsyncIterable<ServerSentEvent>;

  constructor(events: AsyncIterable<ServerSentEvent>) {
    this.events = events;
  }
}

/**
 * What a handler answers. A mutation answers a {@link Plan} when it was asked for a dry run, and that it was accepted when it
 * goes on by itself and its caller would rather not wait.
 */
export type Output<T extends Operation> = T["effect"] extends "read"
  ? Static<T["response"]> | SerializedJson<Static<T["response"]>>
  : Static<T["response"]> | Plan | Accepted | (T extends { readonly streams: true } ? EventStream : never);

/**
 * How a caller says who it is: by a key, a token made from it, a client certificate that goes with it, or by the Unix socket that
 * nobody but the administrator can open.
 */
export const credentialKinds = ["key", "token", "certificate", "socket"] as const;

/** Who calls: a key, by one of its credentials, or the administrator over a Unix socket. */
export interface Caller {
  /** Id of the key; all its tokens share it. Over the administrator's socket `root`, or `owner`. */
  readonly keyId: string;
  readonly keyName: string;
  readonly credential: (typeof credentialKinds)[number];
  readonly scopes: readonly string[];
  /** Epoch milliseconds; null when the credential does not expire. */
  readonly expiresAt: number | null;
}

/** A budget that calls draw on, for the headers of the answer. */
export interface Quota {
  readonly name: string;
  readonly limit: number;
  readonly remaining: number;
  readonly windowSeconds: number;
  /** Until it starts anew. */
  readonly resetSeconds: number;
}

/** What every handler may ask besides its input. */
export interface Context {
  /** Absent only for operations that need no key. */
  readonly caller: Caller | undefined;
  /** Fires when the client has gone or the service is shutting down. */
  readonly signal: () => AbortSignal;
  /** Whether the caller would rather not wait (RFC 7240, `respond-async`). */
  readonly prefersAsync: () => boolean;
  /** What tells this request from others that look the same; a repetition by a caller with the same rights bears the same one. */
  readonly idempotencyKey: () => string | undefined;
  /** Names what the call made or changed, for the audit log; never a secret. A read that names something is in there too. */
  readonly touched: (target: Readonly<Record<string, string>>) => void;
  /** Names a budget beside that of requests: it goes into the headers of the answer, whether it is refused or not. */
  readonly drawsOn: (quota: Quota) => void;
  /** Runs a task once the answer has left or its client has gone, for what would cut the answer off. */
  readonly afterReply: (task: () => Promise<void>) => void;
}

/** One handler for each row: a missing one, or a wrong field in an answer, does not compile. */
export type Handlers<T extends Operations> = {
  readonly [K in keyof T]: (input: Input<T[K]>, context: Context) => Promise<Output<T[K]>> | Output<T[K]>;
};

/**
 * All error codes that an operation can answer with, the shared ones included. Every request can be malformed, or come
 * under a foreign name or from a foreign origin, so `VALIDATION_ERROR` and `FORBIDDEN` are everybody's. Whatever needs a key may
 * meet a full disk or too many open files, which is `UNAVAILABLE`.
 */
export function errorsOf({ scope, errors }: Operation): readonly ErrorCode[] {
  const needsKey: readonly ErrorCode[] = scope === "public" ? [] : ["UNAUTHORIZED", "RATE_LIMITED", "UNAVAILABLE"];
  return [...new Set<ErrorCode>(["VALIDATION_ERROR", ...needsKey, "FORBIDDEN", ...errors, "INTERNAL_ERROR"])];
}
