import type { Duplex } from "node:stream";
import { type ErrorCode, errorStatus } from "#contract/errors.ts";
import { lowerFirst } from "#kernel/text.ts";
import { errorBody } from "./error-reply.ts";

/**
 * Headers of every answer, so that a browser never interprets one as a page. Only pages of the service may read answers. In lower
 * case, as Fastify keeps them: it converts others with each answer.
 */
export const protectiveHeaders = {
  "cache-control": "no-store",
  "content-security-policy":
    "default-src 'none'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "cross-origin-resource-policy": "same-origin",
  // The address of a stream may hold a key.
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
} as const satisfies Readonly<Record<string, string>>;

/** The code of the error where HTTP came in the place of a handshake. */
export const plainHttp = "ERR_SSL_HTTP_REQUEST";

/** The code of the error where a request has not arrived in time. */
const tooSlow = "ERR_HTTP_REQUEST_TIMEOUT";

const parserIssues: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: "Headers are too large",
  [tooSlow]: "Request took too long to arrive",
  [plainHttp]: "This port takes HTTPS alone (https:// instead of http://)",
};

const lingerMs = 1_000;

/** Ends a connection; a client that does not hang up within a second is cut off. */
export function endSocket(socket: Duplex): void {
  const timer = setTimeout(() => socket.destroy(), lingerMs);
  socket.once("close", () => clearTimeout(timer));
  socket.end();
  // Unread data would keep the end of the connection from being noticed.
  socket.resume();
}

const reasons: Partial<Record<ErrorCode, string>> = { VALIDATION_ERROR: "Bad Request", UNAUTHORIZED: "Unauthorized" };

/** Writes an error answer on a bare socket and ends it: for calls that never became a request. */
export function rawErrorReply(
  socket: Duplex,
  code: "VALIDATION_ERROR" | "UNAUTHORIZED",
  message: string,
  requestId: string,
  details?: Record<string, string>,
): void {
  if (!socket.writable) return void socket.destroy();
  const body = JSON.stringify(errorBody(code, message, details));
  const lines = [
    `HTTP/1.1 ${errorStatus[code]} ${reasons[code]}`,
    "Content-Type: application/json; charset=utf-8",
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${requestId}`,
    ...Object.entries(protectiveHeaders).map(([name, value]) => `${name}: ${value}`),
    ...(code === "UNAUTHORIZED" ? ['WWW-Authenticate: Bearer realm="steward"'] : []),
    "Connection: close",
  ];
  // The server no longer handles errors of the socket.
  socket.on("error", () => socket.destroy());
  socket.write(`${lines.join("\r\n")}\r\n\r\n${body}`);
  endSocket(socket);
}

/**
 * Answers what the parser refused.
 * @param isSilent whether nothing has arrived on the connection. Browsers hold such ones in reserve, and would take an answer for that of the
 * request which they send next, so it is closed without one (RFC 9112 §9.5).
 * @returns false where there is nothing to answer: also for a connection that was reset.
 */
export function refuseMalformed(
  error: NodeJS.ErrnoException,
  socket: Duplex,
  requestId: string,
  isSilent: boolean,
): boolean {
  if (error.code === "ECONNRESET") {
    socket.destroy();
    return false;
  }
  if (error.code === tooSlow && isSilent) {
    socket.on("error", () => socket.destroy());
    endSocket(socket);
    return false;
  }
  const issue = parserIssues[error.code ?? ""] ?? "Malformed HTTP";
  rawErrorReply(socket, "VALIDATION_ERROR", `cannot accept the request: ${lowerFirst(issue)}`, requestId, {
    field: "request",
    issue,
  });
  return true;
}
