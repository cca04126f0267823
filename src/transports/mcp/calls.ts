import type { Socket } from "node:net";
import type { FastifyInstance } from "fastify";
import { apiBase } from "#contract/limits.ts";
import { type Caller, idempotencyKeyForm, type Operation, takesIdempotencyKey } from "#contract/operation.ts";
import { planTokenForm, planTokenHeader } from "#domain/access/plan-tokens.ts";
import { cleaned } from "#domain/common/clean-text.ts";
import { type DomainError, invalid } from "#domain/common/error.ts";
import { isRecord } from "#kernel/values.ts";
import { idempotencyKey, placeOf, planToken, statedReason, type ToolRow } from "./tools.ts";

/** What a tool answers. */
export interface ToolResult {
  readonly [name: string]: unknown;
  readonly content: { readonly type: "text"; readonly text: string }[];
  readonly structuredContent: Record<string, unknown>;
  readonly isError?: true;
}

export type Arguments = Readonly<Record<string, unknown>>;

/** The way in of every request, for a caller who is admitted already. */
export interface Server {
  readonly app: Pick<FastifyInstance, "inject">;
  readonly relay: <T>(
    origin: Pick<Origin, "caller" | "socket" | "signal" | "isCounted">,
    call: () => PromiseLike<T>,
  ) => Promise<T>;
}

/** Who calls by which way: the admitted caller, its address and its connection. */
export interface Origin {
  readonly caller: Caller;
  readonly address: string;
  readonly socket: Socket;
  /** Ends with the request of the client. */
  readonly signal: AbortSignal;
  /** Whether the limits of the key have counted it. */
  readonly isCounted: boolean;
}

export interface Answer {
  readonly status: number;
  /** Of the answer as it came. */
  readonly bytes: number;
  readonly body: Record<string, unknown>;
  /** Whether the body is all of it: what is far too long is not read. */
  readonly isWhole: boolean;
}

/** More than a model reads with profit; what is longer is asked for in pages. */
const maxAnswerBytes = 64 * 1024;
/** So much may be cleaned, which makes it shorter; answers can have many megabytes, and other callers would wait meanwhile. */
const maxCleanedBytes = 4 * maxAnswerBytes;

/** @throws DomainError for what is no text in a URL. */
function textOf(name: string, value: unknown): string {
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  if (typeof value === "string" && value.isWellFormed()) return value;
  throw invalid(name, "Must be a text, a number, true or false");
}

/** Models fill in each argument that they know of, with null where they mean nothing. */
export const isNothing = (place: "params" | "query" | "body", value: unknown): boolean =>
  place === "query" && value === null;

/** A segment of a path. @throws DomainError where a URL would take it for another path. */
function segment(name: string, value: unknown): string {
  const text = textOf(name, value ?? "");
  if (text === "" || text === "." || text === "..") throw invalid(name, "Must be given");
  return encodeURIComponent(text);
}

function requestOf(row: ToolRow, given: Arguments) {
  const { operation } = row;
  const { path, method } = operation;
  const query = new URLSearchParams();
  const members: (readonly [string, unknown])[] = [];
  for (const [name, value] of Object.entries(given)) {
    if (name === planToken || name === statedReason) continue;
    if (name === idempotencyKey && takesIdempotencyKey(operation)) continue;
    const place = placeOf(row, name);
    if (place === "params") continue;
    if (place === "body") members.push([name, value]);
    else if (!isNothing(place, value)) for (const each of [value].flat()) query.append(name, textOf(name, each));
  }
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => segment(name, given[name]));
  const { size } = query;
  return {
    url: `${apiBase}${filled}${size === 0 ? "" : `?${query.toString()}`}`,
    method,
    members: Object.fromEntries(members),
  };
}

/** The arguments that are headers over HTTP. @throws DomainError in words of the argument: a client knows of no header. */
function headersOf(operation: Operation, { [planToken]: token, [idempotencyKey]: key }: Arguments) {
  const headers: Record<string, string> = {};
  if (token !== undefined && token !== null) {
    if (typeof token !== "string" || !planTokenForm.test(token))
      throw invalid(planToken, "Must be the plan_token of a dry run");
    headers[planTokenHeader] = token;
  }
  if (key !== undefined && key !== null && takesIdempotencyKey(operation)) {
    if (typeof key !== "string" || !idempotencyKeyForm.test(key))
      throw invalid(idempotencyKey, "Must be 1 to 255 printable ASCII characters");
    headers["idempotency-key"] = key;
  }
  return headers;
}

/**
 * Calls a row as the caller of a tool: the same way in as over HTTP, without a connection.
 * @throws DomainError `VALIDATION_ERROR` for arguments that no request can have.
 */
export async function call({ app, relay }: Server, row: ToolRow, given: Arguments, origin: Origin): Promise<Answer> {
  const { url, method, members } = requestOf(row, given);
  const response = await relay(origin, () =>
    app.inject({
      method,
      url,
      headers: {
        host: "localhost",
        ...headersOf(row.operation, given),
        ...(row.operation.outlives && { prefer: "respond-async" }),
      },
      ...(method !== "GET" && row.operation.body !== undefined && { payload: members }),
      remoteAddress: origin.address,
    }),
  );
  const { statusCode: status, rawPayload } = response;
  const bytes = rawPayload.byteLength;
  const isUnread = bytes === 0 || (bytes > maxCleanedBytes && row.operation.effect === "read" && isGood(status));
  const answer: unknown = isUnread ? {} : response.json();
  return { status, bytes, body: isRecord(answer) ? answer : { answer }, isWhole: bytes === 0 || !isUnread };
}

const isGood = (status: number): boolean => status < 400;

/**
 * An answer as a client gets it: what is too long is refused, since half of it would be taken for the whole.
 * @param isDone whether something was carried out: that is never said to be refused.
 */
export function toResult({ status, bytes, body }: Omit<Answer, "isWhole">, isDone = false): ToolResult {
  const whole = bytes > maxCleanedBytes ? undefined : resultOf(cleaned(body), isGood(status));
  const [text] = whole?.content ?? [];
  const length = text === undefined ? bytes : Buffer.byteLength(text.text);
  if (whole !== undefined && length <= maxAnswerBytes) return whole;
  if (!isGood(status)) return resultOf(withoutDetails(body, length), false);
  return isDone
    ? resultOf({ ...shortIn(body), omitted: `it was done; ${longBy(length)}` }, true)
    : refusal(tooLong(length));
}

const resultOf = (content: unknown, good: boolean): ToolResult => ({
  content: [{ type: "text", text: JSON.stringify(content) }],
  structuredContent: content as Record<string, unknown>,
  ...(!good && { isError: true }),
});

const longBy = (bytes: number): string => `the answer has ${bytes} bytes, and a tool answers ${maxAnswerBytes} at most`;
const tooLong = (bytes: number): string => `${longBy(bytes)} (narrow it: a smaller limit, a filter, a shorter time)`;

const shortText = 1024;
/** The members that are no lists and no long texts. */
const shortIn = (value: unknown): Record<string, unknown> =>
  cleaned(
    Object.fromEntries(
      Object.entries(isRecord(value) ? value : {}).filter(([, each]) =>
        typeof each === "string" ? each.length <= shortText : typeof each !== "object",
      ),
    ),
  ) as Record<string, unknown>;

function withoutDetails({ error }: Answer["body"], bytes: number) {
  const { details, ...rest } = isRecord(error) ? error : {};
  return { error: { ...shortIn(rest), details: { ...shortIn(details), omitted: longBy(bytes) } } };
}

/** A refusal of this transport, in the form of the service's own. */
export function refusal(message: string, details?: DomainError["details"]): ToolResult {
  return resultOf({ error: { code: "VALIDATION_ERROR", message, ...(details && { details }) } }, false);
}
