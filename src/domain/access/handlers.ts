import { type auth, tokenLifetime } from "#contract/auth.ts";
import type { Caller, Context, Handlers } from "#contract/operation.ts";
import { parseTimestamp } from "#contract/schema.ts";
import { DomainError, invalid, missingScope } from "#domain/common/error.ts";
import { createPlan } from "#domain/common/plan.ts";
import type { KeyRecord } from "#domain/ports/access.ts";
import { type Clock, toNullableTimestamp, toTimestamp } from "#kernel/clock.ts";
import type { Keyring } from "./keyring.ts";
import { allows, expandScopes, knownScopes, notCovered } from "./scopes.ts";

const keyEntry = (key: KeyRecord) => ({
  id: key.id,
  name: key.name,
  scopes: [...key.scopes],
  created_at: toTimestamp(key.createdAt),
  expires_at: toNullableTimestamp(key.expiresAt),
  last_used_at: toNullableTimestamp(key.lastUsedAt),
  revoked_at: toNullableTimestamp(key.revokedAt),
  client_cert_sha256: key.clientCert,
});

const callerOf = ({ caller }: Context): Caller => {
  if (caller === undefined) throw new DomainError("UNAUTHORIZED", "cannot answer: a key is needed");
  return caller;
};

function grantable(wanted: readonly string[], caller: Caller): readonly string[] {
  const expanded = expandScopes(wanted);
  if ("unknown" in expanded) throw invalid("scopes", `unknown scope or role: ${expanded.unknown}`);
  const [missing] = notCovered(caller.scopes, expanded.scopes);
  if (missing !== undefined) {
    throw missingScope(missing, caller.scopes, `cannot grant ${missing}: this key does not have it itself`);
  }
  return expanded.scopes;
}

/** The end of a new key, not after that of the caller; null for never. */
function expiryFor(wanted: string | null | undefined, caller: Caller, now: number): number | null {
  const expiresAt = wanted == null ? null : (parseTimestamp(wanted) ?? null);
  if (expiresAt !== null && expiresAt <= now) throw invalid("expires_at", "lies in the past");
  if (caller.expiresAt !== null && (expiresAt === null || expiresAt > caller.expiresAt)) {
    const end = toTimestamp(caller.expiresAt);
    throw invalid("expires_at", `must not lie beyond ${end}, when the credential that asks ends`);
  }
  return expiresAt;
}

const lastAdmin = "no other key can make keys (on the host, root makes one without a key: steward keys create)";

/** The stored form of a certificate's fingerprint; openssl writes it in capitals, with colons. */
function certificateFor(fingerprint: string | undefined, keyring: Pick<Keyring, "certified">): { clientCert?: string } {
  if (fingerprint === undefined) return {};
  const clientCert = fingerprint.replaceAll(":", "").toLowerCase();
  const holder = keyring.certified(clientCert);
  if (holder === undefined) return { clientCert };
  const issue = `stands for the key ${holder.id} (${holder.name}) already: revoke that first`;
  throw invalid("client_cert_sha256", issue);
}

export function accessHandlers(ports: {
  keyring: Pick<Keyring, "list" | "find" | "certified" | "create" | "revoke" | "createToken">;
  clock: Pick<Clock, "now">;
}): Handlers<typeof auth> {
  const { keyring, clock } = ports;

  const canMakeKeys = ({ scopes, revokedAt, expiresAt }: KeyRecord): boolean =>
    revokedAt === null && (expiresAt === null || expiresAt > clock.now()) && allows(scopes, "keys:admin");
  const isLastAdmin = (key: KeyRecord): boolean =>
    canMakeKeys(key) && !keyring.list().some((other) => other.id !== key.id && canMakeKeys(other));

  return {
    whoami(_, context) {
      const caller = callerOf(context);
      return {
        key_id: caller.keyId,
        name: caller.keyName,
        credential: caller.credential,
        scopes: [...caller.scopes],
        expires_at: toNullableTimestamp(caller.expiresAt),
      };
    },

    listKeys: () => ({ keys: keyring.list().map(keyEntry) }),

    createKey({ body, query }, context) {
      const caller = callerOf(context);
      const scopes = grantable(body.scopes, caller);
      const expiresAt = expiryFor(body.expires_at, caller, clock.now());
      const certificate = certificateFor(body.client_cert_sha256, keyring);
      if (query.dry_run) return createPlan([`make a key named ${body.name} with ${scopes.length} scopes`]);
      const { text, record } = keyring.create({ name: body.name, scopes, expiresAt, ...certificate });
      context.touched({
        id: record.id,
        name: record.name,
        scopes: scopes.join(" "),
        ...(record.clientCert !== null && { client_cert_sha256: record.clientCert }),
      });
      return {
        id: record.id,
        key: text,
        name: record.name,
        scopes: [...scopes],
        expires_at: toNullableTimestamp(expiresAt),
      };
    },

    revokeKey({ params, query }, context) {
      const caller = callerOf(context);
      const known = keyring.find(params.id);
      if (known === undefined) throw new DomainError("NOT_FOUND", "cannot revoke key: no key has this id");
      const [missing] = notCovered(caller.scopes, knownScopes(known.scopes));
      if (missing !== undefined) {
        const message = `cannot revoke key ${known.id}: it has the scope ${missing}, and this key does not`;
        throw missingScope(missing, caller.scopes, message);
      }
      const isLast = isLastAdmin(known);
      if (query.dry_run) {
        if (known.revokedAt !== null) return createPlan([]);
        return {
          ...createPlan([`revoke key ${known.id} (${known.name}) and its tokens`]),
          ...(isLast && { reason: lastAdmin }),
        };
      }
      const revoked = keyring.revoke(params.id) ?? known;
      const message = known.revokedAt === null ? "key revoked" : "key was revoked already";
      return { ...keyEntry(revoked), success: true, message: isLast ? `${message}; ${lastAdmin}` : message };
    },

    createToken({ body, query }, context) {
      const caller = callerOf(context);
      if (caller.credential === "socket") {
        throw invalid(
          "X-API-Key",
          "Required",
          "cannot make a token: tokens belong to a key, and this caller has none (send one, or make one with POST /auth/keys)",
        );
      }
      const scopes = body.scopes === undefined ? caller.scopes : grantable(body.scopes, caller);
      const now = clock.now();
      const wantedEnd = now + (body.expires_in ?? tokenLifetime.default) * 1000;
      const expiresAt = Math.min(wantedEnd, caller.expiresAt ?? wantedEnd);
      if (query.dry_run)
        return createPlan([`make a token of key ${caller.keyId} that ends at ${toTimestamp(expiresAt)}`]);
      context.touched({ scopes: scopes.join(" "), expires_at: toTimestamp(expiresAt) });
      return {
        access_token: keyring.createToken(caller.keyId, scopes, expiresAt),
        token_type: "Bearer",
        expires_in: Math.max(0, Math.floor((expiresAt - now) / 1000)),
        scope: scopes.join(" "),
      };
    },
  };
}
