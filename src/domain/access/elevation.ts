import type { Caller, Operation } from "#contract/operation.ts";
import { elevationRequired } from "#contract/sessions.ts";
import { DomainError } from "#domain/common/error.ts";

const message =
  "this session is read-only: sign in again for administrative access (POST /auth/sessions/elevate with the key or a code)";

const isReadOnly = ({ session }: Caller): boolean => session !== undefined && !session.isElevated;

/** Why a session may not do something that a key may; undefined where it may. */
export function elevationRefusal(
  caller: Caller,
  { effect = "read", session }: Partial<Pick<Operation, "effect" | "session">>,
): DomainError | undefined {
  if (effect === "read" || session === "own" || !isReadOnly(caller)) return undefined;
  return new DomainError("FORBIDDEN", message, { reason: elevationRequired });
}

/** @throws DomainError `FORBIDDEN` in a read-only session. */
export function requireElevated(caller: Caller): void {
  if (isReadOnly(caller)) throw new DomainError("FORBIDDEN", message, { reason: elevationRequired });
}
