/** The closed list of error codes and their HTTP statuses. No other file names a failure status. */
export const errorStatus = {
  VALIDATION_ERROR: 400,
  UNAUTHORIZED: 401,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  CONFLICT: 409,
  RATE_LIMITED: 429,
  INTERNAL_ERROR: 500,
  UNAVAILABLE: 503,
} as const;

export type ErrorCode = keyof typeof errorStatus;

export const isErrorStatus = (status: number): boolean => status >= errorStatus.VALIDATION_ERROR;

/** The meaning of each code, as in the contract. */
export const errorMeaning: Readonly<Record<ErrorCode, string>> = {
  VALIDATION_ERROR: "Invalid request; `details` has `field` and `issue`, and all faults in `faults`.",
  UNAUTHORIZED: "Invalid or missing API key.",
  FORBIDDEN:
    "Insufficient permissions; `details` has `required_scope` and `granted`, or `field` for a host or origin that is not allowed, or `hook` and `reason` if a plugin refuses the call.",
  NOT_FOUND:
    "Resource not found; `details` has `field`, the parameter that names it, with its value, and `issue`. For an unknown path, `faults` may suggest the right one, or the methods that it accepts.",
  CONFLICT:
    "Another mutation of that kind is running; `details` has `operation_id`. Or a repeated call whose first answer contained a secret; `details.made` says what was created. Or a plan that is out of date; `details.reason` says why, and `plan` is the new one.",
  RATE_LIMITED: "Too many requests; `Retry-After` says when to try again.",
  INTERNAL_ERROR: "Server error.",
  UNAVAILABLE: "Something on the host or at a provider is missing or does not answer; `details` has `retryable`.",
};

export const isErrorCode = (value: string): value is ErrorCode => Object.hasOwn(errorStatus, value);
