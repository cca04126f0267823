import type { FastifyError, FastifyReply, FastifyRequest } from "fastify";
import type { ErrorBody } from "#contract/error-body.ts";
import { type ErrorCode, errorStatus } from "#contract/errors.ts";
import { DomainError, unavailable } from "#domain/common/error.ts";
import { lowerFirst } from "#kernel/text.ts";
import type { Logger } from "#telemetry/logger.ts";
import { hasRelayedClientGone } from "./relayed.ts";

const frameworkIssues: Readonly<Record<string, readonly [field: string, issue: string]>> = {
  FST_ERR_BAD_URL: ["path", "Malformed percent-encoding"],
  FST_ERR_MAX_PARAM_LENGTH: ["path", "A part of it is too long"],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ["Content-Type", "Must be application/json"],
  FST_ERR_CTP_BODY_TOO_LARGE: ["body", "Must be at most 1 MiB"],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ["Content-Length", "Differs from the length of the body"],
  FST_ERR_CTP_INVALID_JSON_BODY: ["body", "Malformed JSON"],
  FST_ERR_CTP_EMPTY_JSON_BODY: ["body", "Malformed JSON"],
};

const isFastifyError = (error: unknown): error is FastifyError => error instanceof Error && "statusCode" in error;

/** The error as the contract has it; undefined for one that callers must not see. */
function toDomainError(error: unknown): DomainError | undefined {
  if (error instanceof DomainError) return error;
  const shortage = unavailable("complete the request", error);
  if (shortage !== undefined) return shortage;
  if (!isFastifyError(error)) return undefined;
  const { statusCode = errorStatus.INTERNAL_ERROR, code } = error;
  if (statusCode === errorStatus.NOT_FOUND) return new DomainError("NOT_FOUND", "cannot find this path");
  if (statusCode >= errorStatus.INTERNAL_ERROR) return undefined;
  const [field, issue] =
    frameworkIssues[code] ?? (error instanceof SyntaxError ? ["body", "Malformed JSON"] : ["request", error.message]);
  return new DomainError("VALIDATION_ERROR", `cannot accept the request: ${lowerFirst(issue)}`, { field, issue });
}

/** The list of all faults, which has one member where only one is known. */
function faultsOf({ field, issue, faults }: Readonly<Record<string, unknown>>): object {
  const isOnlyOne = faults === undefined && typeof field === "string" && typeof issue === "string";
  return isOnlyOne ? { faults: [{ field, issue }] } : {};
}

export function errorBody(code: ErrorCode, message: string, details?: Readonly<Record<string, unknown>>): ErrorBody {
  const faults = code === "VALIDATION_ERROR" && details !== undefined ? faultsOf(details) : {};
  return { error: { code, message, ...(details !== undefined && { details: { ...details, ...faults } }) } };
}

/** All say alike what was not found: the parameter that names it. */
function notFoundDetails({ details = {} }: DomainError, { params }: FastifyRequest): Readonly<Record<string, unknown>> {
  if ("field" in details) return details;
  const named = params as Readonly<Record<string, unknown>>;
  const field = Object.keys(named).at(-1) ?? Object.keys(details)[0] ?? "path";
  return { field, issue: "Not found", ...named, ...details };
}

const isAborted = (error: unknown): boolean => error instanceof Error && error.name === "AbortError";

/** Work that ended since nobody waits for it any more. */
const isOfGoneClient = (error: unknown, { raw }: FastifyRequest): boolean =>
  isAborted(error) && (raw.socket.destroyed || hasRelayedClientGone());

const stopping = (error: unknown): DomainError =>
  new DomainError(
    "UNAVAILABLE",
    "cannot complete the request: the service is stopping (try again once it runs)",
    { retryable: true },
    error,
  );

/**
 * Makes the error body of whatever was thrown. Internal errors go to the log; callers get the request id.
 * @param shutdown fires when requests are aborted since the service stops.
 */
export function createErrorBody(log: Logger, shutdown: AbortSignal) {
  return (error: unknown, request: FastifyRequest): ErrorBody => {
    const ended = shutdown.aborted && isAborted(error) ? stopping(error) : toDomainError(error);
    const known = isOfGoneClient(error, request)
      ? new DomainError("UNAVAILABLE", "cannot answer: the client has gone", undefined, error)
      : ended;
    if (known === undefined) {
      log.error({ err: error, request_id: request.id }, "request failed");
      const message = `cannot complete the request: internal error (the log has it under request id ${request.id})`;
      return errorBody("INTERNAL_ERROR", message);
    }
    if (known.code === "INTERNAL_ERROR") log.error({ err: known, request_id: request.id }, "request failed");
    // The log gets the cause, which the caller does not see.
    else if (known !== error && !isOfGoneClient(error, request) && known.code === "UNAVAILABLE")
      log.warn({ err: error, request_id: request.id }, "request failed");
    const details = known.code === "NOT_FOUND" ? notFoundDetails(known, request) : known.details;
    return errorBody(known.code, known.message, details);
  };
}

export const createErrorReply =
  (toBody: ReturnType<typeof createErrorBody>) =>
  (error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply =>
    sendError(reply, toBody(error, request));

function sendError(reply: FastifyReply, body: ErrorBody): FastifyReply {
  const { code, details } = body.error;
  const status = errorStatus[code];
  reply.request.record.error = { code, field: details?.field };
  const { retry_after_seconds: retryAfter }: Readonly<Record<string, unknown>> = details ?? {};
  if (typeof retryAfter === "number") reply.header("Retry-After", retryAfter);
  if (status === errorStatus.UNAUTHORIZED) {
    // RFC 6750 §3.1: the error is named only where a Bearer credential was sent.
    const error = reply.request.headers.authorization === undefined ? "" : ', error="invalid_token"';
    reply.header("WWW-Authenticate", `Bearer realm="steward"${error}`);
  }
  return reply.code(status).type("application/json; charset=utf-8").serializer(JSON.stringify).send(body);
}
