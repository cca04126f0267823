import type { Static } from "typebox";
import { errorStatus, isErrorCode } from "#contract/errors.ts";
import { type OperationName, operations } from "#contract/index.ts";
import { apiBase } from "#contract/limits.ts";
import type { Input, Operation } from "#contract/operation.ts";
import type { OperationEntry } from "#contract/operation-entry.ts";
import { isRecord } from "#kernel/values.ts";
import { isAccepted, readAnswer } from "./answer.ts";
import { ApiError } from "./errors.ts";
import { addressOf, type DeprecationNotice, deprecationOf } from "./http.ts";

export { ApiError, WaitsForApproval } from "./errors.ts";

type Table = typeof operations;

/** The answer to a call: a plan when the call asked for a dry run, its bytes where it may be of any length. */
export type Answer<K extends OperationName> = Table[K] extends { readonly mediaTypes: object }
  ? ReadableStream<Uint8Array>
  : Static<Table[K]["response"]>;

type Call<K extends OperationName> = (
  ...input: Record<string, never> extends Partial<Input<Table[K]>>
    ? [Partial<Input<Table[K]>>?]
    : [Partial<Input<Table[K]>>]
) => Promise<Answer<K>>;

export type Client = { readonly [K in OperationName]: Call<K> };

export const toApiError = async (response: Response): Promise<ApiError> =>
  readApiError(response, await response.text());

export function readApiError(response: Response, text: string): ApiError {
  const requestId = response.headers.get("X-Request-Id") ?? undefined;
  let { status } = response;
  try {
    const body: unknown = JSON.parse(text);
    const error = isRecord(body) ? body["error"] : undefined;
    if (isRecord(error) && typeof error["code"] === "string" && isErrorCode(error["code"])) {
      // A late error has the status of the answer that it breaks off.
      status = errorStatus[error["code"]];
      const details = isRecord(error["details"]) ? error["details"] : undefined;
      return new ApiError({ code: error["code"], message: String(error["message"]), status, details, requestId });
    }
  } catch {
    // Not JSON: not an answer of the service.
  }
  const message = `cannot read the answer: status ${status}, not an error body of Steward`;
  return new ApiError({ code: "UNREADABLE", message, status, requestId });
}

function address(base: string, operation: Operation, input: Readonly<Record<string, unknown>>): URL {
  const params = isRecord(input["params"]) ? input["params"] : {};
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(params[name])));
  const url = addressOf(base, `${operation.base === "root" ? "" : apiBase}${path}`);
  for (const [name, value] of Object.entries(isRecord(input["query"]) ? input["query"] : {})) {
    for (const one of Array.isArray(value) ? (value as readonly unknown[]) : [value]) {
      if (typeof one === "string" || typeof one === "number" || typeof one === "boolean") {
        url.searchParams.append(name, String(one));
      }
    }
  }
  return url;
}

/** Whether the service is on this machine: compressing takes longer there than sending. */
const isOnThisMachine = ({ hostname }: URL): boolean => /^(localhost|127\.[\d.]+|\[::1\])$/.test(hostname);

export interface ClientOptions {
  readonly url: string;
  /** API key or token; not needed for public operations and with a client certificate. */
  readonly key?: string | undefined;
  readonly fetch?: typeof globalThis.fetch;
  readonly signal?: AbortSignal;
  /**
   * The `plan_token` of a dry run: the same call of the mutation does what that plan says, or is refused with `CONFLICT`. It is
   * good for one call, so it belongs to a client of its own: `createClient({ ...options, planToken })`.
   */
  readonly planToken?: string | undefined;
  /** Called with each answer of an operation that is to go. */
  readonly onDeprecated?: (notice: DeprecationNotice) => void;
}

const isDryRun = ({ query }: Readonly<Record<string, unknown>>): boolean =>
  isRecord(query) && query["dry_run"] === true;

/** @throws ApiError when the service refuses; errors of `fetch` when it cannot be reached. */
export async function request(
  options: ClientOptions,
  operation: Operation,
  input: Readonly<Record<string, unknown>>,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const { url, key, fetch = globalThis.fetch, signal, planToken } = options;
  const body = input["body"];
  const target = address(url, operation, input);
  const response = await fetch(target, {
    method: operation.method,
    redirect: "error",
    headers: {
      ...(key !== undefined && { "X-API-Key": key }),
      // Elsewhere `fetch` asks for the codings that it can read. Browsers do so everywhere.
      ...(isOnThisMachine(target) && { "Accept-Encoding": "identity" }),
      ...(body !== undefined && { "Content-Type": "application/json" }),
      ...(planToken !== undefined && operation.effect !== "read" && !isDryRun(input) && { "X-Plan-Token": planToken }),
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(signal && { signal }),
  });
  const notice = options.onDeprecated && deprecationOf(operation, response);
  if (notice !== undefined) options.onDeprecated?.(notice);
  if (!response.ok) throw await toApiError(response);
  return response;
}

/**
 * A typed client made from the operations table, for Node and browsers.
 * @throws ApiError from calls that the service refuses, or with an unreadable answer; errors of `fetch` when it cannot be reached.
 */
export function createClient(options: ClientOptions): Client {
  const call = async (operation: Operation, input: Readonly<Record<string, unknown>>): Promise<unknown> => {
    return readAnswer(operation, input, await request(options, operation, input));
  };

  const methods = Object.entries<Operation>(operations).map(([name, operation]) => [
    name,
    (input: Readonly<Record<string, unknown>> = {}) => call(operation, input),
  ]);
  // Each method has the type that its row gives it.
  return Object.fromEntries(methods) as Client;
}

export type LongOperationName = {
  readonly [K in keyof Table]: Table[K] extends { readonly outlives: true } ? K : never;
}[keyof Table];

/**
 * Begins an operation that outlives its request, without waiting. The same idempotency key begins nothing else.
 * @returns the operation, or the answer when the service needed none.
 * @throws ApiError when the service refuses; errors of `fetch` when it cannot be reached.
 */
export async function beginOperation<K extends LongOperationName>(
  options: ClientOptions,
  name: K,
  input: Partial<Input<Table[K]>>,
  idempotencyKey: string,
): Promise<{ readonly operation: OperationEntry } | { readonly answer: unknown }> {
  const row: Operation = operations[name];
  const headers = { Prefer: "respond-async", "Idempotency-Key": idempotencyKey };
  const response = await request(options, row, { ...input }, headers);
  const body = await readAnswer(row, input, response);
  return isAccepted(row, response) ? { operation: body as OperationEntry } : { answer: body };
}
