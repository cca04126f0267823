import { ApiError } from "#client/index.ts";
import { oneLine, severalLines } from "./output.ts";

/** Ended by Ctrl-C; whatever there is to say of it has been said. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";
}

/** The service does not start before an administrator has decided something: starting it again does not help. */
export class NeedsDecision extends Error {
  override readonly name = "NeedsDecision";
}

/** There is no key of the local service that this user may read. */
export class NoKey extends Error {
  override readonly name = "NoKey";
}

/** Nothing listens where the local service would. */
export class NoService extends Error {
  override readonly name = "NoService";
}

/** Whether an error says that the service is out of reach, and not that it refused something. */
export const isOutOfReach = (error: unknown): boolean => error instanceof TypeError && error.cause instanceof Error;

/** Whether a call was ended by Ctrl-C before it had its answer. */
export const isInterrupted = (error: unknown): boolean => error instanceof DOMException && error.name === "AbortError";

/** Whether nothing listens at the address, or there is no such host: no request has arrived anywhere. */
export const isRefused = (error: unknown): boolean => {
  if (error instanceof NoService) return true;
  const cause = error instanceof TypeError ? error.cause : undefined;
  return (
    cause instanceof Error &&
    "code" in cause &&
    ["ECONNREFUSED", "ENOENT", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH"].includes(String(cause.code))
  );
};

const isTimeout = (error: unknown): boolean => error instanceof DOMException && error.name === "TimeoutError";

function reasonOf(cause: Error): string {
  // Several addresses were tried: each has its own reason.
  if (cause instanceof AggregateError) {
    return [...new Set(cause.errors.map((each) => (each instanceof Error ? each.message : String(each))))].join(", ");
  }
  return cause.message;
}

/** A line that is longer says no more. */
const longestLine = 2000;

/**
 * An error in words for people: text alone, on one line but for settings, which may have several faults. What it holds may come from
 * the other end of a connection.
 */
export function explainError(error: unknown): string {
  return severalLines(messageOf(error))
    .split("\n")
    .map((line) => (line.length > longestLine ? `${line.slice(0, longestLine)}…` : line))
    .join("\n");
}

function messageOf(error: unknown): string {
  if (error instanceof ApiError) {
    const request = error.requestId === undefined ? "" : `, request ${error.requestId}`;
    return oneLine(`${error.message} (${error.code}${request})`);
  }
  if (error instanceof TypeError && error.cause instanceof Error)
    return oneLine(`cannot reach the service: ${reasonOf(error.cause)} (is it running?)`);
  if (error instanceof TypeError && "code" in error && error.code === "ERR_INVALID_URL") {
    // A path is put together with the address that was given.
    const given = oneLine(String("base" in error ? error.base : "input" in error ? error.input : ""));
    return `cannot use the address ${given}: it is no URL (such as http://127.0.0.1:8470)`;
  }
  if (isTimeout(error)) return "cannot reach the service: no answer in time (--timeout says how long to wait)";
  // Several lines where settings have several faults.
  return error instanceof Error ? error.message : String(error);
}
