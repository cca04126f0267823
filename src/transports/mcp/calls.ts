import type { FastifyInstance } from "fastify";
import { apiBase } from "#contract/limits.ts";
import type { Caller } from "#contract/operation.ts";
import { proposalReasonHeader } from "#domain/access/approval-gate.ts";
import { planTokenHeader } from "#domain/access/plan-tokens.ts";
import { invalid } from "#domain/common/error.ts";
import { isRecord } from "#kernel/values.ts";
import { cleaned } from "./text.ts";
import { planToken, statedReason, type ToolRow } from "./tools.ts";

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
  readonly relay: <T>(origin: Pick<Origin, "caller" | "signal">, call: () => PromiseLike<T>) => Promise<T>;
}

/** Who calls by which way: the admitted caller and its address. */
export interface Origin {
  readonly caller: Caller;
  readonly address: string;
  /** Ends with the request of the client. */
  readonly signal: AbortSignal;
}

export interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

/** More than a model reads with profit; what is longer is asked for in pages. */
const maxAnswerBytes = 64 * 1024;

const textOf = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));
const textsOf = (value: unknown): readonly string[] => (Array.isArray(value) ? value : [value]).map(textOf);

/** A segment of a path; undefined where a URL would take it for another path. */
const segment = (value: unknown): string | undefined => {
  const text = value === undefined ? "" : textOf(value);
  return text === "" || text === "." || text === ".." ? undefined : encodeURIComponent(text);
};

/** Arguments that the row has not are sent as members of the body or query, so that they are refused as over HTTP. */
function requestOf({ operation, places }: ToolRow, given: Arguments) {
  const { path, method, body } = operation;
  const query = new URLSearchParams();
  const members: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(given)) {
    const place = places[name] ?? (method === "GET" || body === undefined ? "query" : "body");
    if (name === planToken || name === statedReason || value === undefined) continue;
    if (place === "params") continue;
    if (place === "body") members[name] = value;
    else for (const each of textsOf(value)) query.append(name, each);
  }
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const text = segment(given[name]);
    if (text === undefined) throw invalid(name, "Must be given");
    return text;
  });
  const { size } = query;
  return { url: `${apiBase}${filled}${size === 0 ? "" : `?${query.toString()}`}`, method, members };
}

/** The header of an argument, which has printable ASCII alone; nothing where it is not given. */
const headerOf = (header: string, value: unknown): Record<string, string> =>
  value === undefined ? {} : { [header]: textOf(value).replaceAll(/[^ -~]+/g, " ") };

/**
 * Calls a row as the caller of a tool: the same way in as over HTTP, without a connection.
 * @throws DomainError `VALIDATION_ERROR` where the path cannot be filled in.
 */
export async function call({ app, relay }: Server, row: ToolRow, given: Arguments, origin: Origin): Promise<Answer> {
  const { url, method, members } = requestOf(row, given);
  const isMutation = row.operation.effect !== "read";
  const response = await relay(origin, () =>
    app.inject({
      method,
      url,
      headers: {
        host: "localhost",
        ...headerOf(planTokenHeader, given[planToken]),
        ...(isMutation && headerOf(proposalReasonHeader, given[statedReason])),
        ...(row.operation.outlives && { prefer: "respond-async" }),
      },
      ...(method !== "GET" && row.operation.body !== undefined && { payload: members }),
      remoteAddress: origin.address,
    }),
  );
  const answer: unknown = response.body === "" ? {} : response.json();
  return { status: response.statusCode, body: isRecord(answer) ? answer : { answer } };
}

const isGood = (status: number): boolean => status < 400;

/** An answer as a client gets it: what is too long is refused, since half of it would be taken for the whole. */
export function toResult({ status, body }: Answer): ToolResult {
  const content = cleaned(body) as Record<string, unknown>;
  const text = JSON.stringify(content);
  const bytes = Buffer.byteLength(text);
  if (bytes > maxAnswerBytes) return refusal(tooLong(bytes));
  return {
    content: [{ type: "text", text }],
    structuredContent: content,
    ...(!isGood(status) && { isError: true }),
  };
}

const tooLong = (bytes: number): string =>
  `the answer has ${bytes} bytes, and a tool answers ${maxAnswerBytes} at most (narrow it: a smaller limit, a filter, a shorter time)`;

/** A refusal of this transport, in the form of the service's own. */
export function refusal(message: string): ToolResult {
  const structuredContent = { error: { code: "VALIDATION_ERROR", message } };
  return { content: [{ type: "text", text: JSON.stringify(structuredContent) }], structuredContent, isError: true };
}
