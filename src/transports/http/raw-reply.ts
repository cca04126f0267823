import type { Duplex } from "node:stream";
import type { ErrorCode } from "#contract/errors.ts";
import { errorStatus } from "#contract/errors.ts";
import { errorBody } from "./error-reply.ts";
import { protectiveHeaders } from "./protective-headers.ts";

/** What Node's HTTP parser refuses before there is a request. */
const parserIssues: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: "Headers are too large",
  ERR_HTTP_REQUEST_TIMEOUT: "Request took too long to arrive",
};

/** How long a client that was refused may take to hang up before it is hung up on. */
const lingerMs = 1_000;

const reasons: Partial<Record<ErrorCode, string>> = { VALIDATION_ERROR: "Bad Request", UNAUTHORIZED: "Unauthorized" };

/** Writes an error answer on a bare socket and ends it: for what never became a request. */
export function rawErrorReply(
  socket: Duplex,
  code: "VALIDATION_ERROR" | "UNAUTHORIZED",
  message: string,
  requestId: string,
  details?: Record<string, string>,
): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
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
  // The server has let go of the socket, or is about to: errors and a client that does not hang up are ours to deal with.
  socket.on("error", () => socket.destroy());
  const timer = setTimeout(() => socket.destroy(), lingerMs);
  socket.once("close", () => clearTimeout(timer));
  socket.end(`${lines.join("\r\n")}\r\n\r\n${body}`);
  socket.resume();
}

/**
 * Answers what the parser refused. A connection that was reset has nobody to answer.
 * @returns whether there was something to refuse.
 */
export function refuseMalformed(error: NodeJS.ErrnoException, socket: Duplex, requestId: string): boolean {
  if (error.code === "ECONNRESET") {
    socket.destroy();
    return false;
  }
  const issue = parserIssues[error.code ?? ""] ?? "Malformed HTTP";
  rawErrorReply(socket, "VALIDATION_ERROR", `cannot accept the request: ${issue}`, requestId, {
    field: "request",
    issue,
  });
  return true;
}
