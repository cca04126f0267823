import { type auth, tokenLifetime } from "#contract/auth.ts";
import { type Caller, type Context, grantedTo, type Handlers, type Plan } from "#contract/operation.ts";
import { checked, DomainError, invalid, missingScope } from "#domain/common/error.ts";
import { wholeList } from "#domain/common/page.ts";
import { createPlan } from "#domain/common/plan.ts";
import type { KeyRecord } from "#domain/ports/access.ts";
import { type Clock, parseTimestamp, toNullableTimestamp, toTimestamp } from "#kernel/clock.ts";
import { counted } from "#kernel/text.ts";
import { defined } from "#kernel/values.ts";
import { requireCredential } from "./credential-refusal.ts";
import type { Keyring } from "./keyring.ts";
import { allows, describeUnknown, expandScopes, knownScopes, notCovered } from "./scopes.ts";

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

function unknownScope(entry: string): DomainError {
  const { hint, meant } = describeUnknown(entry);
  const [field, issue] = ["scopes", `unknown scope or role: ${entry}`];
  const faults = [{ field, issue, ...defined({ did_you_mean: meant }) }];
  return new DomainError("VALIDATION_ERROR", `cannot accept ${field}: ${issue}${hint}`, { field, issue, faults });
}

function scopesOf(entry: string): readonly string[] {
  const expanded = expandScopes([entry]);
  if ("unknown" in expanded) throw unknownScope(entry);
  return expanded.scopes;
}

function grantable(wanted: readonly string[], caller: Caller): readonly string[] {
  const scopes = [...new Set(checked(...[...new Set(wanted)].map((entry) => () => scopesOf(entry))).flat())];
  const granted = grantedTo(caller);
  const [missing] = notCovered(granted, scopes);
  if (missing !== undefined) {
    throw missingScope(missing, granted, `cannot grant ${missing}: this key does not have it itself`);
  }
  return scopes;
}

/** The end of a new key, not after that of the caller; null for never. */
function expiryFor(wanted: string | null | undefined, caller: Caller, now: number): number | null {
  const expiresAt = wanted == null ? null : (parseTimestamp(wanted) ?? null);
  if (expiresAt !== null && expiresAt <= now) throw invalid("expires_at", "is in the past");
  // An elevated session has shown its key.
  const latest = caller.session === undefined ? caller.expiresAt : caller.session.keyExpiresAt;
  if (latest !== null && (expiresAt === null || expiresAt > latest)) {
    const end = toTimestamp(latest);
    throw invalid("expires_at", `must not be later than ${end}, when the calling credential expires`);
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

function listKeys(keyring: Pick<Keyring, "list">) {
  const all = keyring.list();
  return { keys: all.map(keyEntry), ...wholeList(all.length) };
}

/** @throws DomainError `NOT_FOUND`. */
function requireKey(keyring: Pick<Keyring, "find">, id: string, doing: "find" | "revoke"): KeyRecord {
  const key = keyring.find(id);
  if (key === undefined) throw new DomainError("NOT_FOUND", `cannot ${doing} key: no key has this id`);
  return key;
}

const keyPlan = (name: string, scopes: readonly string[]): Plan =>
  createPlan([`make a key named ${name} with ${counted(scopes.length, "scope")}: ${scopes.join(", ")}`]);

const tokenPlan = (keyId: string, scopes: readonly string[], expiresAt: number): Plan =>
  createPlan([`make a token of key ${keyId} that ends at ${toTimestamp(expiresAt)}`], {}, { digested: scopes });

export function accessHandlers(ports: {
  keyring: Pick<Keyring, "list" | "find" | "certified" | "create" | "revoke" | "createToken" | "scopesHere">;
  clock: Pick<Clock, "now">;
  hostName: () => string;
}): Omit<Handlers<typeof auth>, "canI"> {
  const { keyring, clock } = ports;

  const canMakeKeys = (key: KeyRecord): boolean => {
    const isGood = key.revokedAt === null && (key.expiresAt === null || key.expiresAt > clock.now());
    return isGood && allows(keyring.scopesHere(key), "keys:admin");
  };
  const isLastAdmin = (key: KeyRecord): boolean =>
    canMakeKeys(key) && !keyring.list().some((other) => other.id !== key.id && canMakeKeys(other));

  return {
    whoami(_, context) {
      const caller = callerOf(context);
      return {
        key_id: caller.keyId,
        name: caller.keyName,
        credential: caller.credential,
        scopes: [...grantedTo(caller)],
        expires_at: toNullableTimestamp(caller.expiresAt),
        host: ports.hostName(),
      };
    },

    listKeys: () => listKeys(keyring),

    getKey: ({ params: { id } }) => keyEntry(requireKey(keyring, id, "find")),

    createKey({ body, query }, context) {
      const caller = callerOf(context);
      const [scopes, expiresAt, certificate] = checked(
        () => grantable(body.scopes, caller),
        () => expiryFor(body.expires_at, caller, clock.now()),
        () => certificateFor(body.client_cert_sha256, keyring),
      );
      if (query.dry_run) return keyPlan(body.name, scopes);
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
      const known = requireKey(keyring, params.id, "revoke");
      const granted = grantedTo(caller);
      const [missing] = notCovered(granted, knownScopes(known.scopes));
      if (missing !== undefined) {
        const message = `cannot revoke key ${known.id}: it has the scope ${missing}, and this key does not`;
        throw missingScope(missing, granted, message);
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
      requireCredential(caller, "createToken");
      const scopes = body.scopes === undefined ? grantedTo(caller) : grantable(body.scopes, caller);
      const now = clock.now();
      const wantedEnd = now + (body.expires_in ?? tokenLifetime.default) * 1000;
      const expiresAt = Math.min(wantedEnd, caller.expiresAt ?? wantedEnd);
      if (query.dry_run) return tokenPlan(caller.keyId, scopes, expiresAt);
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
