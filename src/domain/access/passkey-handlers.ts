import type { Caller, Handlers } from "#contract/operation.ts";
import type { Passkey, passkeys as rows } from "#contract/passkeys.ts";
import { DomainError, invalid } from "#domain/common/error.ts";
import { wholeList } from "#domain/common/page.ts";
import { createPlan } from "#domain/common/plan.ts";
import { type PasskeyRecord, PasskeyRefused } from "#domain/ports/sessions.ts";
import { toNullableTimestamp, toTimestamp } from "#kernel/clock.ts";
import { callerOf, ownSession, pageOrigin } from "./credential-refusal.ts";
import type { Keyring } from "./keyring.ts";
import { maxPasskeysPerKey, type Passkeys } from "./passkeys.ts";
import { allows } from "./scopes.ts";
import type { Sessions } from "./sessions.ts";

export interface PasskeyHandlerPorts {
  readonly passkeys: Passkeys;
  readonly sessions: Pick<Sessions, "find">;
  readonly keyring: Pick<Keyring, "find">;
}

const asInvalid = (error: unknown): unknown =>
  error instanceof PasskeyRefused
    ? invalid("credential", "Not a registration for this page", `cannot register the passkey: ${error.message}`)
    : error;

/** Registers passkeys of keys, and removes them. */
export function passkeyHandlers({ passkeys, sessions, keyring }: PasskeyHandlerPorts): Handlers<typeof rows> {
  const isOwn = ({ keyId }: PasskeyRecord, caller: Caller): boolean =>
    caller.credential !== "socket" && keyId === caller.keyId;
  const seesAll = ({ scopes }: Caller): boolean => allows(scopes, "keys:admin");
  const seenBy = (caller: Caller) => passkeys.list().filter((each) => seesAll(caller) || isOwn(each, caller));

  const entryOf = ({ id, name, keyId, domain, isSynced, createdAt, lastUsedAt }: PasskeyRecord): Passkey => ({
    id,
    name,
    key_id: keyId,
    key_name: keyring.find(keyId)?.name ?? "",
    domain,
    synced: isSynced,
    created_at: toTimestamp(createdAt),
    last_used_at: toNullableTimestamp(lastUsedAt),
  });

  return {
    getPasskeyRequestOptions: () => passkeys.requestOptions(),

    getPasskeyCreationOptions(_, context) {
      const caller = callerOf(context);
      const { id } = ownSession(sessions, caller, "getPasskeyCreationOptions");
      return passkeys.creationOptions(caller, id);
    },

    async createPasskey({ body: { name, credential }, query }, context) {
      const caller = callerOf(context);
      const session = ownSession(sessions, caller, "createPasskey");
      const { keyId, keyName } = caller;
      const origin = pageOrigin(context.login().origin, "register a passkey");
      if (passkeys.list().filter((each) => each.keyId === keyId).length >= maxPasskeysPerKey) {
        throw new DomainError(
          "CONFLICT",
          `cannot register a passkey: key ${keyId} has ${maxPasskeysPerKey} already (remove one)`,
        );
      }
      try {
        const verified = await passkeys.register(credential, { sessionId: session.id, origin, keyId, name });
        if (query.dry_run) return createPlan([`register the passkey ${name} of key ${keyId} (${keyName})`]);
        const made = verified.store();
        context.touched({ id: made.id, name, key: keyId });
        return entryOf(made);
      } catch (error) {
        throw asInvalid(error);
      }
    },

    listPasskeys(_, context) {
      const seen = seenBy(callerOf(context));
      return { passkeys: seen.map(entryOf), ...wholeList(seen.length) };
    },

    removePasskey({ params: { id }, query }, context) {
      const found = seenBy(callerOf(context)).find((each) => each.id === id);
      if (found === undefined)
        throw new DomainError(
          "NOT_FOUND",
          "cannot remove the passkey: its id is unknown (GET /auth/passkeys lists them)",
        );
      if (query.dry_run) return createPlan([`remove the passkey ${found.name} of key ${found.keyId}`]);
      context.touched({ id, name: found.name, key: found.keyId });
      passkeys.remove(id);
      return { id, success: true, message: "passkey removed" };
    },
  };
}
