import { ProviderFailed } from "#domain/ports/connectors.ts";
import { orElse } from "#kernel/errors.ts";
import { isRecord } from "#kernel/values.ts";
import { scrub } from "./scrub.ts";

export const fieldOf = (value: unknown, name: string): unknown => (isRecord(value) ? value[name] : undefined);

export const nonEmptyString = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined;

const maxMs = 86_400_000;

const inBounds = (ms: number): number | null =>
  Number.isFinite(ms) ? Math.min(Math.max(Math.ceil(ms), 0), maxMs) : null;

const dateForm = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

function fromHeader(value: string, now: number): number | null {
  const text = value.trim();
  if (/^\d{1,12}(\.\d{1,9})?$/.test(text)) return inBounds(Number(text) * 1000);
  return dateForm.test(text) ? inBounds(Date.parse(text) - now) : null;
}

export function readRetryAfter(
  { headers, body }: { readonly headers: Readonly<Record<string, string>>; readonly body: string },
  now: number,
): number | null {
  const ms = headers["retry-after-ms"]?.trim() ?? "";
  if (/^\d{1,12}(\.\d{1,9})?$/.test(ms)) return inBounds(Number(ms));
  const header = headers["retry-after"];
  if (header !== undefined) return fromHeader(header, now);
  // Google says it in the body (google.rpc.RetryInfo).
  const [, seconds] = /"retryDelay"\s*:\s*"(\d{1,9}(?:\.\d{1,9})?)s"/.exec(body) ?? [];
  return seconds === undefined ? null : inBounds(Number(seconds) * 1000);
}

export interface Party {
  readonly provider: string;
  readonly host: string;
  readonly model: string;
  readonly secrets: readonly string[];
  readonly remedy: string;
}

/** An answer that is an error by its status. The libraries' own errors have the same fields. */
export class ErrorAnswer extends Error {
  override readonly name = "ErrorAnswer";
  readonly statusCode: number;
  readonly responseHeaders: Readonly<Record<string, string>>;
  readonly responseBody: string;

  constructor(statusCode: number, headers: Headers, body: string) {
    super(`answered with status ${statusCode}`);
    this.statusCode = statusCode;
    this.responseHeaders = Object.fromEntries(headers);
    this.responseBody = body;
  }
}

function chainOf(error: unknown): readonly unknown[] {
  const chain: unknown[] = [];
  for (let each = error; each !== undefined && chain.length < 10; each = fieldOf(each, "cause")) chain.push(each);
  return chain;
}

type Answer = NonNullable<ReturnType<typeof answerOf>>;

function answerOf(error: unknown) {
  const status = fieldOf(error, "statusCode");
  if (typeof status !== "number") return undefined;
  const headers = fieldOf(error, "responseHeaders");
  const isRetryable = fieldOf(error, "isRetryable");
  return {
    status,
    headers: isRecord(headers)
      ? Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)]))
      : {},
    body: nonEmptyString(fieldOf(error, "responseBody")) ?? "",
    message: error instanceof ErrorAnswer ? undefined : nonEmptyString(fieldOf(error, "message")),
    isRetryable: typeof isRetryable === "boolean" ? isRetryable : undefined,
  };
}

function sentenceIn(body: unknown): string | undefined {
  const error = fieldOf(body, "error");
  const detail = fieldOf(body, "detail");
  const first = Array.isArray(detail) ? fieldOf(detail[0], "msg") : detail;
  return (
    nonEmptyString(fieldOf(error, "message")) ??
    nonEmptyString(error) ??
    nonEmptyString(fieldOf(body, "message")) ??
    nonEmptyString(first) ??
    nonEmptyString(body)
  );
}

const parseJson = (body: string): unknown => orElse((): unknown => JSON.parse(body), undefined);

function refusalWords(status: number, { model, remedy }: Party): string {
  if (status === 401 || status === 403) return "does not accept the key";
  if (status === 404) return `does not know the model ${model}, or its address is wrong (${remedy})`;
  if (status === 413) return "rejects the request as too large";
  if (status === 429) return "limits the rate of requests";
  return status >= 500 ? "has an internal error" : "refuses this";
}

const isRetryableStatus = (status: number): boolean =>
  status === 408 || status === 409 || status === 429 || (status >= 500 && status !== 501 && status !== 505);

function retryHint({ headers, body, isRetryable }: Answer): boolean | undefined {
  const header = headers["x-should-retry"];
  if (header === "true" || header === "false") return header === "true";
  // It comes with a status that says otherwise, and does not pass by itself.
  if (body.includes('"insufficient_quota"')) return false;
  return isRetryable === false ? false : undefined;
}

function refused(answer: Answer, party: Party, now: number): ProviderFailed {
  const { status } = answer;
  const sentence = scrub(sentenceIn(parseJson(answer.body)) ?? answer.message ?? "", party.secrets);
  const reported = sentence === "" ? "" : `: ${sentence}`;
  return new ProviderFailed(`${party.provider} ${refusalWords(status, party)} (${status})${reported}`, {
    failure: "refused",
    status,
    isRetryable: retryHint(answer) ?? isRetryableStatus(status),
    retryAfterMs: readRetryAfter(answer, now),
  });
}

/** What providers call an error, where they give no status. */
const namedStatuses: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  context_length_exceeded: 400,
  authentication_error: 401,
  invalid_api_key: 401,
  permission_error: 403,
  not_found_error: 404,
  model_not_found: 404,
  insufficient_quota: 429,
  rate_limit_error: 429,
  rate_limit_exceeded: 429,
  resource_exhausted: 429,
  api_error: 500,
  internal_server_error: 500,
  server_error: 500,
  overloaded_error: 503,
  service_unavailable: 503,
  unavailable: 503,
};

/** The status that an error stands for, by its own word. */
function statusNamed(error: unknown): number | undefined {
  for (const name of ["code", "status", "type"]) {
    const value = fieldOf(error, name);
    const status = Number(value);
    if (Number.isInteger(status) && status >= 400 && status <= 599) return status;
    const named = typeof value === "string" ? namedStatuses[value.toLowerCase()] : undefined;
    if (named !== undefined) return named;
  }
  return undefined;
}

/** An error that came in an answer without an error's status, or in an event of a stream. */
function refusedInside(body: unknown, party: Party, now: number, headers: Answer["headers"] = {}): ProviderFailed {
  const status = statusNamed(fieldOf(body, "error")) ?? statusNamed(body);
  const text = JSON.stringify(body) ?? "";
  if (status !== undefined)
    return refused({ status, headers, body: text, message: undefined, isRetryable: undefined }, party, now);
  const sentence = scrub(sentenceIn(body) ?? "", party.secrets);
  return new ProviderFailed(`${party.provider} gave up${sentence === "" ? "" : `: ${sentence}`}`, {
    failure: "refused",
    isRetryable: fieldOf(body, "isRetryable") === true,
  });
}

const certificateCode = /^(ERR_TLS_CERT|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|HOSTNAME_MISMATCH|INVALID_CA)/;
const tlsCode = /^(ERR_TLS_|ERR_SSL_|EPROTO$)/;
const silentCodes: readonly string[] = ["UND_ERR_HEADERS_TIMEOUT", "UND_ERR_BODY_TIMEOUT"];
const brokenCodes: readonly string[] = [
  "ECONNRESET",
  "EPIPE",
  "UND_ERR_SOCKET",
  "UND_ERR_RES_CONTENT_LENGTH_MISMATCH",
  "UND_ERR_CLOSED",
  "UND_ERR_DESTROYED",
];
const unreachableCode = /^(E(?!RR_)[A-Z_]+|UND_ERR_CONNECT_TIMEOUT)$/;
const unreadableCode = /^(HPE_|Z_|ERR_|UND_ERR_)/;

/** A failure without an answer. */
export const failed = (
  failure: Exclude<ProviderFailed["failure"], "refused">,
  message: string,
  isRetryable = false,
): ProviderFailed => new ProviderFailed(message, { failure, isRetryable });

export const unreachable = (message: string, isRetryable = false): ProviderFailed =>
  failed("unreachable", message, isRetryable);

function networkFailure(code: string, { provider, host }: Party): ProviderFailed | undefined {
  if (silentCodes.includes(code)) return failed("silent", `${provider} did not answer in time`, true);
  if (brokenCodes.includes(code))
    return unreachable(`the connection to ${provider} at ${host} broke off (${code})`, true);
  if (certificateCode.test(code))
    return unreachable(`the certificate of ${provider} at ${host} cannot be trusted (${code})`);
  if (tlsCode.test(code)) return unreachable(`${provider} at ${host} failed in the TLS handshake (${code})`);
  // A name that does not exist will not in a second either.
  if (unreachableCode.test(code))
    return unreachable(`${provider} cannot be reached at ${host} (${code})`, code !== "ENOTFOUND");
  return unreadableCode.test(code) ? notUnderstood({ provider }) : undefined;
}

export const notUnderstood = ({ provider }: Pick<Party, "provider">): ProviderFailed =>
  failed("unreadable", `${provider} sent an answer that cannot be parsed`);

export const brokenOff = ({ provider }: Pick<Party, "provider">): ProviderFailed =>
  unreachable(`the answer of ${provider} was cut off`, true);

/** Nothing of what was thrown is kept: it may contain the key. */
export function toProviderFailed(error: unknown, party: Party, now: number): ProviderFailed {
  const chain = chainOf(error);
  const known = chain.find((each) => each instanceof ProviderFailed);
  if (known !== undefined) return known;
  const answer = answerOf(error);
  if (answer !== undefined && (answer.status < 200 || answer.status > 299)) return refused(answer, party, now);
  const whole = answer === undefined ? undefined : parseJson(answer.body);
  if (answer !== undefined && (fieldOf(whole, "error") ?? null) !== null)
    return refusedInside(whole, party, now, answer.headers);
  for (const each of chain) {
    const code = nonEmptyString(fieldOf(each, "code"));
    const isCode = each instanceof Error && code !== undefined && /^[A-Z0-9_]{1,64}$/.test(code);
    const failure = isCode ? networkFailure(code, party) : undefined;
    if (failure !== undefined) return failure;
  }
  if (error instanceof Error) return notUnderstood(party);
  // In the middle of a stream a provider says what is wrong in an event, without a status.
  return refusedInside(error, party, now);
}
