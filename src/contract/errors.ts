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
  VALIDATION_ERROR: "Invalid request; `details` carry `field` and `issue`, and `faults` has all that is wrong.",
  UNAUTHORIZED: "Invalid or missing API key.",
  FORBIDDEN:
    "Insufficient permissions; `details` carry `required_scope` and `granted`, `field` for a foreign host or origin, or `hook` and `reason` where a plugin holds it back.",
  NOT_FOUND:
    "Resource not found; `details` carry `field`, the parameter that names it, with its value, and `issue`. Of a path that there is not, `faults` may say which was meant, or which methods it takes.",
  CONFLICT:
    "Another mutation of that kind is running; `details` carry `operation_id`. Or a repetition of a call whose answer held a secret; `details.made` says what it made. Or a plan that is no longer true; `details.reason` says how, and `plan` is the new one.",
  RATE_LIMITED: "Too many requests; `Retry-After` says when to try again.",
  INTERNAL_ERROR: "Server error.",
  UNAVAILABLE: "Something on the host or at a provider is not there or does not answer; `details` carry `retryable`.",
};

export const isErrorCode = (value: string): value is ErrorCode => Object.hasOwn(errorStatus, value);
