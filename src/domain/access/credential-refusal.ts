import type { operations } from "#contract/index.ts";
import type { Caller, Context, Operation } from "#contract/operation.ts";
import { elevationRequired } from "#contract/sessions.ts";
import { DomainError, invalid } from "#domain/common/error.ts";
import type { SessionRecord } from "#domain/ports/sessions.ts";
import type { Sessions } from "./sessions.ts";

type Table = typeof operations;
type Credential = Pick<Caller, "credential" | "session">;

/** Operations of the table that only a session does. */
export type SessionOperation = {
  [K in keyof Table]: Table[K] extends { readonly forSessions: true } ? K : never;
}[keyof Table];

const doings: Readonly<Record<SessionOperation, string>> = {
  elevateSession: "elevate",
  createTicket: "make a ticket",
  getPasskeyCreationOptions: "register a passkey",
  createPasskey: "register a passkey",
};

/** Why a caller may not do what is for sessions. */
const notASession = (name: SessionOperation): DomainError =>
  new DomainError("FORBIDDEN", `cannot ${doings[name]}: this is for a session, and a key asks (it needs none)`);

function tokenRefusal({ credential }: Credential): DomainError | undefined {
  if (credential === "socket") {
    return invalid(
      "X-API-Key",
      "Required",
      "cannot make a token: tokens belong to a key, and this caller has none (send one, or make one with POST /auth/keys)",
    );
  }
  if (credential !== "session") return undefined;
  // It would outlive the sign-out.
  return new DomainError("FORBIDDEN", "cannot make a token in a session (make it with the key itself)");
}

/** Only what stands for a whole key, and was not made from it by a browser. */
function codeRefusal({ credential }: Credential): DomainError | undefined {
  if (credential === "key" || credential === "certificate") return undefined;
  const who = credential === "socket" ? "the Unix socket belongs to no key" : `a ${credential} asks`;
  return new DomainError(
    "FORBIDDEN",
    `cannot make a code: it stands for a whole key, and ${who} (ask with the key itself)`,
  );
}

const isForSessions = (name: string): name is SessionOperation => Object.hasOwn(doings, name);

/** Why a credential may not do what others of the same rights may; undefined where it may. */
export function credentialRefusal(caller: Credential, name: string): DomainError | undefined {
  if (name === "createToken") return tokenRefusal(caller);
  if (name === "createCode") return codeRefusal(caller);
  return isForSessions(name) && caller.session === undefined ? notASession(name) : undefined;
}

/** @throws DomainError where the kind of the credential may not do it. */
export function requireCredential(caller: Credential, name: "createToken" | "createCode"): void {
  const refusal = credentialRefusal(caller, name);
  if (refusal !== undefined) throw refusal;
}

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
