import { type Caller, grantedTo, type Handlers, type Login } from "#contract/operation.ts";
import type { PasskeyAssertion } from "#contract/passkeys.ts";
import type { CreatedSession, sessions as rows, SessionEntry } from "#contract/sessions.ts";
import { DomainError, invalid } from "#domain/common/error.ts";
import { wholeList } from "#domain/common/page.ts";
import { createPlan } from "#domain/common/plan.ts";
import { PasskeyRefused, type SessionRecord } from "#domain/ports/sessions.ts";
import { type Clock, toNullableTimestamp, toTimestamp } from "#kernel/clock.ts";
import { defined } from "#kernel/values.ts";
import { callerOf, ownSession, pageOrigin, requireCredential, requireElevated } from "./credential-refusal.ts";
import type { Keyring } from "./keyring.ts";
import type { Passkeys } from "./passkeys.ts";
import { allows } from "./scopes.ts";
import { type IssuedSession, type Sessions, ticketLifetimeMs } from "./sessions.ts";

export interface SessionHandlerPorts {
  readonly sessions: Sessions;
  readonly passkeys: Pick<Passkeys, "prove">;
  readonly keyring: Pick<Keyring, "authenticate" | "callerOf" | "find">;
  readonly clock: Pick<Clock, "now">;
  /** Counts who signed in, or tried to. */
  readonly onLogin: (result: "ok" | "refused") => void;
}

/** Who a body is by. */
interface Proven {
  readonly caller: Caller;
  readonly passkeyId?: string;
  /** Uses a code or a challenge up. @throws DomainError where somebody else has. */
  readonly use: () => void;
}

interface Body {
  readonly key?: string;
  readonly code?: string;
  readonly passkey?: PasskeyAssertion;
}

type Refusal = "UNAUTHORIZED" | "FORBIDDEN";

const badKey = "cannot sign in: the key is not valid (it may be mistyped, revoked or expired; tokens are not accepted)";
const badCode =
  "cannot sign in: the code is not valid (a code works once, within a minute: steward console makes another)";

function createProof({ sessions, passkeys, keyring, onLogin }: SessionHandlerPorts) {
  const byKey = (key: string, refused: (message: string) => Error): Proven => {
    const caller = keyring.authenticate(key);
    if (caller?.credential !== "key") throw refused(badKey);
    return { caller, use: () => undefined };
  };

  const byCode = (code: string, refused: (message: string) => Error): Proven => {
    const found = sessions.readCode(code);
    const caller = found && keyring.callerOf(found.keyId);
    if (found === undefined || caller === undefined) throw refused(badCode);
    return {
      caller,
      use() {
        if (!sessions.useCode(found.id)) throw refused(badCode);
      },
    };
  };

  const byPasskey = async (
    passkey: PasskeyAssertion,
    origin: string,
    refused: (message: string) => Error,
  ): Promise<Proven> => {
    const asRefusal = (error: unknown): unknown =>
      error instanceof PasskeyRefused ? refused(`cannot sign in: the passkey is not valid (${error.message})`) : error;
    try {
      const { keyId, passkeyId, use } = await passkeys.prove(passkey, origin);
      const caller = keyring.callerOf(keyId);
      if (caller === undefined) throw new PasskeyRefused("its key was revoked, or has expired");
      return {
        caller,
        passkeyId,
        use() {
          try {
            use();
          } catch (error) {
            throw asRefusal(error);
          }
        },
      };
    } catch (error) {
      throw asRefusal(error);
    }
  };

  return async ({ key, code, passkey }: Body, login: Login, refusal: Refusal = "UNAUTHORIZED"): Promise<Proven> => {
    const refused = (message: string): Error => {
      onLogin("refused");
      return login.refused(refusal, message);
    };
    if ([key, code, passkey].filter((each) => each !== undefined).length !== 1) {
      throw invalid(
        "key",
        "Give a key, a code or a passkey",
        "cannot sign in: give a key, a code or a passkey, and one of them",
      );
    }
    if (key !== undefined) return byKey(key, refused);
    if (passkey === undefined) return byCode(code ?? "", refused);
    return byPasskey(passkey, pageOrigin(login.origin, "sign in with a passkey"), refused);
  };
}

const created = ({ session, secret }: IssuedSession, caller: Caller): CreatedSession => ({
  id: session.id,
  secret,
  name: caller.keyName,
  scopes: [...grantedTo(caller)],
  elevated: session.elevatedUntil !== null,
  elevation_ends_at: toNullableTimestamp(session.elevatedUntil),
  expires_at: toTimestamp(Math.min(session.endsAt, caller.expiresAt ?? session.endsAt)),
});

function createEntries({ sessions, keyring, clock }: SessionHandlerPorts) {
  return (session: SessionRecord, caller: Caller): SessionEntry => {
    const { id, keyId, createdAt, lastUsedAt, endsAt, elevatedUntil, remoteAddress } = session;
    const key = keyring.find(keyId);
    const isElevated = elevatedUntil !== null && elevatedUntil > clock.now();
    const ends = Math.min(endsAt, key?.expiresAt ?? endsAt);
    return {
      id,
      key_id: keyId,
      name: key?.name ?? "",
      created_at: toTimestamp(createdAt),
      last_used_at: toTimestamp(lastUsedAt),
      idles_out_at: toTimestamp(Math.min(lastUsedAt + sessions.limits.idleMs, ends)),
      expires_at: toTimestamp(ends),
      elevated: isElevated,
      elevation_ends_at: toNullableTimestamp(isElevated ? elevatedUntil : null),
      remote_address: remoteAddress,
      current: caller.session?.id === id,
    };
  };
}

type Rows = Handlers<typeof rows>;

function signingIn(ports: SessionHandlerPorts): Pick<Rows, "createSession" | "elevateSession"> {
  const { sessions, onLogin } = ports;
  const prove = createProof(ports);
  return {
    async createSession({ body, query }, context) {
      const login = context.login();
      const { caller, passkeyId, use } = await prove(body, login);
      login.by(caller);
      if (query.dry_run) return createPlan([`begin a read-only session of key ${caller.keyId} (${caller.keyName})`]);
      use();
      const made = sessions.begin(caller.keyId, login.remoteAddress);
      login.sendCookie(made.cookie);
      onLogin("ok");
      context.touched(defined({ session: made.session.id, passkey: passkeyId }));
      return created(made, caller);
    },

    async elevateSession({ body, query }, context) {
      const asking = callerOf(context);
      const session = ownSession(sessions, asking, "elevateSession");
      const login = context.login();
      const { caller, passkeyId, use } = await prove(body, login, "FORBIDDEN");
      if (caller.keyId !== session.keyId)
        throw login.refused(
          "FORBIDDEN",
          "cannot elevate: this is not the key of the session (sign in with it instead)",
        );
      if (query.dry_run) return createPlan([`let session ${session.id} change something for a while`]);
      use();
      const made = sessions.elevate(session);
      login.sendCookie(made.cookie);
      onLogin("ok");
      context.touched(defined({ session: session.id, passkey: passkeyId }));
      return created(made, caller);
    },
  };
}

/** Sessions, and the codes and tickets that lead to them. */
export function sessionHandlers(ports: SessionHandlerPorts): Rows {
  const { sessions, clock } = ports;
  const entryOf = createEntries(ports);

  const isOwn = (session: SessionRecord, caller: Caller): boolean =>
    caller.credential !== "socket" && session.keyId === caller.keyId;
  const seesAll = ({ scopes }: Caller): boolean => allows(scopes, "keys:admin");

  return {
    ...signingIn(ports),

    listSessions(_, context) {
      const caller = callerOf(context);
      const seen = sessions.list().filter((session) => seesAll(caller) || isOwn(session, caller));
      return { sessions: seen.map((session) => entryOf(session, caller)), ...wholeList(seen.length) };
    },

    endSession({ params: { id }, query }, context) {
      const caller = callerOf(context);
      const session = sessions.find(id);
      if (session === undefined || !(seesAll(caller) || isOwn(session, caller))) {
        throw new DomainError("NOT_FOUND", "cannot end the session: its id is unknown, or it has ended");
      }
      if (!isOwn(session, caller)) requireElevated(caller);
      if (query.dry_run) return createPlan([`end session ${id} of key ${session.keyId}`]);
      context.touched({ id, key: session.keyId });
      sessions.end(id);
      if (caller.session?.id === id) context.login().sendCookie(undefined);
      return { id, success: true, message: "session ended" };
    },

    createCode({ query }, context) {
      const caller = callerOf(context);
      requireCredential(caller, "createCode");
      if (query.dry_run) return createPlan([`make a one-time code of key ${caller.keyId}`]);
      const { code, expiresAt } = sessions.createCode(caller.keyId);
      context.touched({ expires_at: toTimestamp(expiresAt) });
      return { code, expires_at: toTimestamp(expiresAt) };
    },

    createTicket(_, context) {
      const session = ownSession(sessions, callerOf(context), "createTicket");
      return { ticket: sessions.createTicket(session.id), expires_at: toTimestamp(clock.now() + ticketLifetimeMs) };
    },
  };
}
