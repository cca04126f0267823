import type { ErrorCode } from "#contract/errors.ts";
import { parseTimestamp } from "#contract/schema.ts";
import { lowerFirst } from "#kernel/text.ts";
import { findUnavailable } from "./host-unavailable.ts";

export class DomainError extends Error {
  override readonly name = "DomainError";
  readonly code: ErrorCode;
  readonly details: Readonly<Record<string, unknown>> | undefined;

  constructor(code: ErrorCode, message: string, details?: Readonly<Record<string, unknown>>, cause?: unknown) {
    super(message, { cause });
    this.code = code;
    this.details = details;
  }
}

/** The error for callers when the host lacks something, see {@link findUnavailable}; undefined for other errors. */
export function unavailable(doing: string, error: unknown): DomainError | undefined {
  const found = findUnavailable(error);
  return found && new DomainError("UNAVAILABLE", `cannot ${doing}: ${found.message}`, { ...found.details }, error);
}

export const invalid = (
  field: string,
  issue: string,
  message = `cannot accept ${field}: ${lowerFirst(issue)}`,
): DomainError => new DomainError("VALIDATION_ERROR", message, { field, issue });

export const unknownCheck = (id: string): DomainError =>
  new DomainError("NOT_FOUND", `cannot find the check ${id}: it does not exist, or it is switched off`, {
    check_id: id,
  });

export const missingScope = (
  required: string,
  granted: readonly string[],
  message = `this key lacks the scope ${required}`,
): DomainError => new DomainError("FORBIDDEN", message, { required_scope: required, granted });

/** `details.reason` of what a window of the settings holds back. */
export const outsideWindow = "outside_window";

export const isWindowRefusal = (error: unknown): boolean =>
  error instanceof DomainError && error.details?.["reason"] === outsideWindow;

/** @returns epoch milliseconds. @throws DomainError for anything else than RFC 3339. */
export function readTime(field: string, text: string): number {
  const millis = parseTimestamp(text);
  if (millis === undefined) throw invalid(field, "Must be an RFC 3339 time such as 2026-01-31T12:00:00Z");
  return millis;
}
