import type { Caller, Context } from "#contract/operation.ts";
import { DomainError } from "#domain/common/error.ts";
import type { SessionRecord } from "#domain/ports/sessions.ts";
import { notASession, type SessionOperation } from "./credential-refusal.ts";
import type { Sessions } from "./sessions.ts";

/** @throws DomainError without a credential. */
export function callerOf({ caller }: Pick<Context, "caller">): Caller {
  if (caller === undefined) throw new DomainError("UNAUTHORIZED", "cannot answer: a key is needed");
  return caller;
}

/** The session that asks. @throws DomainError where a key asks. */
export function ownSession(
  sessions: Pick<Sessions, "find">,
  caller: Caller,
  operation: SessionOperation,
): SessionRecord {
  const session = caller.session && sessions.find(caller.session.id);
  if (session !== undefined) return session;
  throw notASession(operation);
}

/** The origin of the page that asks. @throws DomainError where a program asks. */
export function pageOrigin(origin: string | undefined, doing: string): string {
  if (origin !== undefined) return origin;
  throw new DomainError(
    "FORBIDDEN",
    `cannot ${doing} without Origin (browsers send it; a passkey belongs to a page, and programs use a key)`,
  );
}
