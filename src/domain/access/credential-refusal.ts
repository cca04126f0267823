import type { operations } from "#contract/index.ts";
import type { Caller } from "#contract/operation.ts";
import { DomainError, invalid } from "#domain/common/error.ts";

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
export const notASession = (name: SessionOperation): DomainError =>
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
