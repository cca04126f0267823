import type { ErrorCode } from "#contract/errors.ts";
import { apiBase } from "#contract/limits.ts";
import { unreadHeader } from "#contract/log-entry.ts";
import {
  canWait,
  idempotencyKeyForm,
  type Operation,
  type Operations,
  takesIdempotencyKey,
} from "#contract/operation.ts";
import { proposalReasonForm, proposalReasonHeader } from "#domain/access/approval-gate.ts";
import { planTokenForm, planTokenHeader } from "#domain/access/plan-tokens.ts";
import { overrideHeader } from "#domain/access/window-gate.ts";
import { respondAsync } from "./context.ts";
import { revalidate } from "./entity-tags.ts";
import { replayedErrors, replayedHeader } from "./idempotency.ts";
import { protectiveHeaders } from "./raw-reply.ts";
import { overrideForm } from "./windows.ts";

type Json = Readonly<Record<string, unknown>>;

/** An answer of the table: a success of a row, the handshake of a stream, or an error of any of them. */
export type AnswerKind =
  | { readonly kind: "success"; readonly operation: Operation; readonly status: number }
  | { readonly kind: "stream" }
  | { readonly kind: "error"; readonly code: ErrorCode; readonly ofDeprecated?: boolean };

interface AnswerHeader {
  readonly description: string;
  readonly schema: Json;
  /** Whether every answer that can have it does. */
  readonly always?: true;
  readonly isOn: (answer: AnswerKind) => boolean;
}

const text = (example: string): Json => ({ type: "string", examples: [example] });
const count = (example: number): Json => ({ type: "integer", minimum: 0, examples: [example] });
const constant = (value: string): Json => ({ type: "string", const: value });

const isAny = (): boolean => true;
const onError =
  (...codes: readonly ErrorCode[]) =>
  (answer: AnswerKind): boolean =>
    answer.kind === "error" && codes.includes(answer.code);
/** On successes of the rows that meet the condition, and on errors, which all rows share. */
const onRows =
  (meets: (operation: Operation) => boolean, codes?: readonly ErrorCode[]) =>
  (answer: AnswerKind): boolean =>
    answer.kind === "success"
      ? meets(answer.operation)
      : answer.kind === "error" && (codes?.includes(answer.code) ?? true);
const onAccepted = (answer: AnswerKind): boolean => answer.kind === "success" && answer.status === 202;

const isLimited = ({ scope, session, openToLoopback }: Operation): boolean =>
  (scope !== "public" || session === "signsIn") && !openToLoopback;
const isLimitedAnswer = (answer: AnswerKind): boolean => answer.kind === "stream" || onRows(isLimited)(answer);

/** On every answer of a deprecated row; errors are shared by all rows. */
const onDeprecated = (answer: AnswerKind): boolean =>
  answer.kind === "success"
    ? answer.operation.deprecated !== undefined
    : answer.kind === "error" && answer.ofDeprecated === true;

const properName = (name: string): string => name.replaceAll(/\b[a-z]/g, (letter) => letter.toUpperCase());

/** Why each of the headers that protect browsers is there. */
const protections: Readonly<Record<keyof typeof protectiveHeaders, string>> = {
  "cache-control": "Answers are of one caller at one time.",
  "content-security-policy": "A browser that shows an answer as a page runs nothing of it.",
  "cross-origin-resource-policy": "Pages of others cannot embed an answer.",
  "referrer-policy": "Addresses stay here: that of a stream may hold a key.",
  "x-content-type-options": "No browser guesses another type.",
};

const limits = { isOn: isLimitedAnswer };

/** Every header that an answer can have, beside those that HTTP has for the connection and the body. */
const answerHeaders: Readonly<Record<string, AnswerHeader>> = {
  "X-Request-Id": {
    description: "Id of this request in the log.",
    schema: text("pQ3xV0aT-1k"),
    always: true,
    isOn: isAny,
  },
  ...Object.fromEntries(
    Object.entries(protectiveHeaders).map(([name, value]) => [
      properName(name),
      {
        description: protections[name as keyof typeof protections],
        // What has a version may be kept, and is asked for again each time.
        schema: name === "cache-control" ? { type: "string", enum: [value, revalidate] } : constant(value),
        always: true,
        isOn: isAny,
      },
    ]),
  ),
  "X-RateLimit-Limit": { ...limits, description: "Requests in the tighter window.", schema: count(100) },
  "X-RateLimit-Remaining": { ...limits, description: "Requests left in the tighter window.", schema: count(99) },
  "X-RateLimit-Reset": {
    ...limits,
    description: "When the tighter window starts over, epoch seconds.",
    schema: count(1_795_729_110),
  },
  "RateLimit-Policy": {
    ...limits,
    description: "Both windows, and the day's tokens where a budget of them was asked for: name, quota, seconds.",
    schema: text('"permin";q=100;w=60, "perhour";q=1000;w=3600'),
  },
  RateLimit: {
    ...limits,
    description: "The tighter window, and the tokens: name, how much is left, seconds until it starts over.",
    schema: text('"permin";r=99;t=60'),
  },
  "Retry-After": {
    description: "Seconds to wait: on every 429, and where it is known when the missing thing will be there.",
    schema: count(30),
    isOn: onError("RATE_LIMITED", "UNAVAILABLE"),
  },
  "WWW-Authenticate": {
    description: "How to authenticate (RFC 6750).",
    schema: text('Bearer realm="steward"'),
    always: true,
    isOn: onError("UNAUTHORIZED"),
  },
  "Set-Cookie": {
    description:
      "The first half of a session, `HttpOnly` and `SameSite=Strict`; over TLS `Secure` and named `__Host-steward…`. At sign-out it is removed.",
    schema: text("__Host-steward=sth_Zx9yW8vU_…; Path=/; HttpOnly; SameSite=Strict; Secure"),
    isOn: (answer) => answer.kind === "success" && answer.operation.session !== undefined,
  },
  ETag: {
    description: "Version of the answer, for `If-None-Match` (RFC 9110).",
    schema: text('W/"q1Zc0p4x"'),
    isOn: (answer) => answer.kind === "success" && answer.operation.versioned === true,
  },
  Vary: {
    description: "Headers of the request that the answer depends on.",
    schema: text("Accept-Encoding"),
    isOn: isAny,
  },
  "Access-Control-Allow-Origin": {
    description: "The origin of the page that asks, where the settings allow it.",
    schema: text("https://console.example"),
    isOn: isAny,
  },
  "Access-Control-Expose-Headers": {
    description: "What such a page may read.",
    schema: text("X-Request-Id, Retry-After"),
    isOn: isAny,
  },
  Location: {
    description: "Address of the operation, or of the approval that the call waits for.",
    schema: text(`${apiBase}/operations/20260131-120000-4f2a`),
    always: true,
    isOn: onAccepted,
  },
  "Preference-Applied": {
    description: "The preferences that were followed (RFC 7240 §3).",
    schema: text(`${respondAsync}, wait=10`),
    isOn: onRows(({ outlives }) => outlives === true),
  },
  Pragma: {
    description: "For caches that know no `Cache-Control` (RFC 6749 §5.1): on answers to mutations.",
    schema: constant("no-cache"),
    isOn: onRows(({ effect }) => effect !== "read"),
  },
  [replayedHeader]: {
    description: "The answer is that of an earlier request with the same `Idempotency-Key`.",
    schema: constant("true"),
    isOn: onRows(takesIdempotencyKey, replayedErrors),
  },
  Deprecation: {
    description: "Since when the operation is deprecated (RFC 9745).",
    schema: { type: "string", pattern: "^@[0-9]+$", examples: ["@1798761600"] },
    isOn: onDeprecated,
  },
  Sunset: {
    description: "Until when a deprecated operation continues working at least (RFC 8594).",
    schema: text("Sat, 01 Jan 2028 00:00:00 GMT"),
    isOn: onDeprecated,
  },
  Link: {
    description: "What takes the place of a deprecated operation, and where that is explained (RFC 8288).",
    schema: text(`<${apiBase}/system/units>; rel="successor-version"`),
    isOn: onDeprecated,
  },
  "X-Accel-Buffering": {
    description: "On event streams, so that a proxy passes each event on at once.",
    schema: constant("no"),
    isOn: (answer) => answer.kind === "success" && answer.operation.streams !== undefined,
  },
  [unreadHeader]: {
    description: "On exports: the journal files that cannot be read, as `unread` in other answers, in JSON.",
    schema: text('[{"file":"/var/log/journal/system.journal","reason":"it cannot be opened (EIO)"}]'),
    isOn: (answer) => answer.kind === "success" && answer.operation.mediaTypes !== undefined,
  },
  "Sec-WebSocket-Version": {
    description: "The version that streams speak (RFC 6455 §4.4), on refusals of a handshake.",
    schema: constant("13"),
    isOn: (answer) => answer.kind === "error",
  },
  "Sec-WebSocket-Accept": {
    description: "Proof that the handshake was read (RFC 6455 §4.2.2).",
    schema: text("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="),
    isOn: ({ kind }) => kind === "stream",
  },
};

/** What a page of another origin may read: not what is for browsers, proxies and WebSockets themselves. */
export const readableHeaders: readonly string[] = Object.keys(answerHeaders).filter(
  (name) =>
    !Object.hasOwn(protectiveHeaders, name.toLowerCase()) && !/^(?:Access-Control|Sec-|Set-|X-Accel|Pragma)/.test(name),
);

const isHeaderOn = (answer: AnswerKind) => (name: string) => answerHeaders[name]?.isOn(answer) === true;

/** References to the headers that the answer can have. */
export const headersOf = (answer: AnswerKind): Json =>
  Object.fromEntries(
    Object.keys(answerHeaders)
      .filter(isHeaderOn(answer))
      .map((name) => [name, { $ref: `#/components/headers/${name}` }]),
  );

/** The headers of these rows. */
export function headerComponents(table: Operations): Json {
  const isDeprecated = Object.values(table).some(({ deprecated }) => deprecated !== undefined);
  return Object.fromEntries(
    Object.entries(answerHeaders)
      .filter(([, { isOn }]) => isDeprecated || isOn !== onDeprecated)
      .map(([name, { description, schema, always }]) => [
        name,
        { description, ...(always && { required: true }), schema },
      ]),
  );
}

interface RequestHeader {
  readonly header: Json;
  readonly isOn: (operation: Operation) => boolean;
}

const requestHeaders: Readonly<Record<string, RequestHeader>> = {
  Prefer: {
    header: {
      name: "Prefer",
      description:
        "`respond-async` (RFC 7240): do not wait for the end; the answer is 202 with the address of the operation in `Location`. `wait=10`: wait that many seconds before. Other preferences are ignored.",
      schema: { type: "string", examples: [`${respondAsync}, wait=10`] },
    },
    isOn: ({ outlives }) => outlives === true,
  },
  IfNoneMatch: {
    header: {
      name: "If-None-Match",
      description:
        "The `ETag` of an answer that the caller has (RFC 9110 §13.1.2): if nothing has changed, the answer is 304 without a body.",
      schema: { type: "string", examples: ['W/"q1Zc0p4x"'] },
    },
    isOn: ({ versioned }) => versioned === true,
  },
  PlanToken: {
    header: {
      name: planTokenHeader,
      description:
        "The `plan_token` of a dry run of the same call, by the same key: it is planned again, and carried out only if the plan is still the same. Else it is refused with 409 and `details.reason`: `plan_changed` (with the new `plan`), `plan_used`, `plan_expired` or `plan_mismatch`. In a session, what has the effect `danger` is refused without it (`plan_required`, with the `plan` and its token). A repetition with the same `Idempotency-Key` may use its token again.",
      schema: { type: "string", pattern: planTokenForm.source },
    },
    isOn: ({ effect }) => effect !== "read",
  },
  ProposalReason: {
    header: {
      name: proposalReasonHeader,
      description: "Why the call is made, for those who have to approve it.",
      schema: { type: "string", pattern: proposalReasonForm.source, examples: ["security update, #4711"] },
    },
    isOn: canWait,
  },
  IdempotencyKey: {
    header: {
      name: "Idempotency-Key",
      description:
        "Names this request, so that a repetition within 24 hours gets the first answer, with `Idempotent-Replayed`, and does nothing again. With another request it is refused with 400. Errors that may pass are not kept.",
      schema: { type: "string", pattern: idempotencyKeyForm.source, examples: ["6f1c7a52-restart-nginx"] },
    },
    isOn: takesIdempotencyKey,
  },
  WindowOverride: {
    header: {
      name: overrideHeader,
      description:
        "Why a window of the settings that holds the call back is overridden; takes the scope `windows:override`. It is in the audit log.",
      schema: { type: "string", pattern: overrideForm.source, examples: ["the site is down, #4711"] },
    },
    isOn: ({ effect }) => effect !== "read",
  },
};

/** References to the headers that a request can have beside its credential. */
export const requestHeadersOf = (operation: Operation): readonly Json[] =>
  Object.entries(requestHeaders)
    .filter(([, { isOn }]) => isOn(operation))
    .map(([name]) => ({ $ref: `#/components/parameters/${name}` }));

export const parameterComponents: Json = Object.fromEntries(
  Object.entries(requestHeaders).map(([name, { header }]) => [name, { in: "header", required: false, ...header }]),
);
