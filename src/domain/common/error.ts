import type { ErrorCode } from "#contract/errors.ts";
import { findUnavailable } from "./host-unavailable.ts";

/** An error that a caller is meant to see: a code of the contract, a message with its remedy, details. */
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

/**
 * What callers are told of an error that says that the host lacks something, see {@link findUnavailable}.
 * @param doing what cannot be done, as the message names it.
 * @returns undefined for every other error.
 */
export function unavailable(doing: string, error: unknown): DomainError | undefined {
  const found = findUnavailable(error);
  return found && new DomainError("UNAVAILABLE", `cannot ${doing}: ${found.message}`, { ...found.details }, error);
}

/** A request that is wrong in one field. */
export const invalid = (field: string, issue: string, message = `cannot accept ${field}: ${issue}`): DomainError =>
  new DomainError("VALIDATION_ERROR", message, { field, issue });

/** A caller that lacks a scope, which is named. */
export const missingScope = (
  required: string,
  granted: readonly string[],
  message = `this key lacks the scope ${required}`,
): DomainError => new DomainError("FORBIDDEN", message, { required_scope: required, granted });
