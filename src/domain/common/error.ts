import type { ErrorCode } from "#contract/errors.ts";
import { maxFaults } from "#contract/limits.ts";
import type { Caller } from "#contract/operation.ts";
import type { Scope } from "#contract/scopes.ts";
import { parseTimestamp } from "#kernel/clock.ts";
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

const isFault = (error: unknown): error is DomainError =>
  error instanceof DomainError && error.code === "VALIDATION_ERROR";

const faultsIn = ({ details = {} }: DomainError): readonly unknown[] => {
  const { field, issue, faults } = details;
  return Array.isArray(faults) ? faults : [{ field, issue }];
};

/**
 * Refuses an input once for all its faults: in the words of the first, with all in `details.faults`.
 * @throws DomainError VALIDATION_ERROR, where there is one.
 */
export function refuseAll(given: readonly (DomainError | false | undefined)[]): void {
  const found = given.filter((each) => each instanceof DomainError);
  const [first] = found;
  if (first === undefined) return;
  if (found.length === 1) throw first;
  const distinct = new Map(found.flatMap(faultsIn).map((fault) => [JSON.stringify(fault), fault]));
  const faults = [...distinct.values()].slice(0, maxFaults);
  throw new DomainError(first.code, first.message, { ...first.details, faults }, first.cause);
}

type Made<T extends readonly (() => unknown)[]> = { readonly [K in keyof T]: ReturnType<T[K]> };

/**
 * Makes the parts of an input, each of which may be refused, and names the faults of all of them.
 * @returns what each part has made.
 * @throws DomainError: that of the first part that throws; of VALIDATION_ERROR with the faults of the parts behind it.
 */
export function checked<const T extends readonly (() => unknown)[]>(...parts: T): Made<T> {
  const faults: DomainError[] = [];
  const made = parts.map((part) => {
    try {
      return part();
    } catch (error) {
      if (isFault(error)) {
        if (faults.push(error) === maxFaults) refuseAll(faults);
      }
      // Other obstacles are not reported before the request is valid.
      else if (faults.length === 0 || !(error instanceof DomainError)) throw error;
      return undefined;
    }
  });
  refuseAll(faults);
  return made as Made<T>;
}

/** @param member by which the request named it. */
export const unknownCheck = (id: string, member = "check_id"): DomainError =>
  new DomainError("NOT_FOUND", `cannot find the check ${id}: it does not exist, or it is switched off`, {
    [member]: id,
  });

export const missingScope = (
  required: string,
  granted: readonly string[],
  message = `this key lacks the scope ${required}`,
): DomainError => new DomainError("FORBIDDEN", message, { required_scope: required, granted });

/** Why a caller has not a scope that only the handler knows to be needed; the domain of access says it. */
export type ScopeLack = (caller: Caller | undefined, scope: Scope, resource?: string) => DomainError;

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
