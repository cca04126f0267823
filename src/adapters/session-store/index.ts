import {
  type Format,
  numberOrNull,
  openExpendable,
  type Row,
  type StoreOptions,
  textOrNull,
} from "#adapters/sqlite/index.ts";
import type { CodeRecord, PasskeyRecord, PasskeyStore, SessionRecord, SessionStore } from "#domain/ports/sessions.ts";
import type { Dispose } from "#kernel/clock.ts";

const format = {
  file: "sessions.db",
  version: 1,
  schema: `
    CREATE TABLE sessions (
      id TEXT PRIMARY KEY, key_id TEXT NOT NULL, cookie_digest TEXT NOT NULL, secret_digest TEXT NOT NULL,
      created_at INTEGER NOT NULL, ends_at INTEGER NOT NULL, elevated_until INTEGER, last_used_at INTEGER NOT NULL,
      remote_address TEXT
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE codes (
      id TEXT PRIMARY KEY, key_id TEXT NOT NULL, digest TEXT NOT NULL, expires_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
  `,
  additions: `
    CREATE TABLE IF NOT EXISTS passkeys (
      id TEXT PRIMARY KEY, key_id TEXT NOT NULL, name TEXT NOT NULL, credential_id TEXT NOT NULL, domain TEXT NOT NULL,
      public_key BLOB NOT NULL, counter INTEGER NOT NULL, is_synced INTEGER NOT NULL, created_at INTEGER NOT NULL,
      last_used_at INTEGER
    ) STRICT, WITHOUT ROWID;
  `,
  check: "SELECT * FROM sessions",
  statements: {
    all: "SELECT * FROM sessions",
    put: "INSERT OR REPLACE INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
    remove: "DELETE FROM sessions WHERE id = ?",
    touch: "UPDATE sessions SET last_used_at = ? WHERE id = ?",
    code: "SELECT * FROM codes WHERE id = ?",
    insertCode: "INSERT INTO codes VALUES (?, ?, ?, ?)",
    removeCode: "DELETE FROM codes WHERE id = ?",
    removeExpired: "DELETE FROM codes WHERE expires_at <= ?",
    passkeys: "SELECT * FROM passkeys",
    putPasskey: "INSERT OR REPLACE INTO passkeys VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    removePasskey: "DELETE FROM passkeys WHERE id = ?",
    removeOldest:
      "DELETE FROM codes WHERE key_id = ? AND id NOT IN (SELECT id FROM codes WHERE key_id = ? ORDER BY expires_at DESC LIMIT ?)",
  },
} satisfies Format;

const sessionOf = (row: Row): SessionRecord => ({
  id: String(row["id"]),
  keyId: String(row["key_id"]),
  cookieDigest: String(row["cookie_digest"]),
  secretDigest: String(row["secret_digest"]),
  createdAt: Number(row["created_at"]),
  endsAt: Number(row["ends_at"]),
  elevatedUntil: numberOrNull(row["elevated_until"]),
  lastUsedAt: Number(row["last_used_at"]),
  remoteAddress: textOrNull(row["remote_address"]),
});

const codeOf = (row: Row): CodeRecord => ({
  id: String(row["id"]),
  keyId: String(row["key_id"]),
  digest: String(row["digest"]),
  expiresAt: Number(row["expires_at"]),
});

const passkeyOf = (row: Row): PasskeyRecord => ({
  id: String(row["id"]),
  keyId: String(row["key_id"]),
  name: String(row["name"]),
  credentialId: String(row["credential_id"]),
  domain: String(row["domain"]),
  publicKey: row["public_key"] instanceof Uint8Array ? row["public_key"] : new Uint8Array(),
  counter: Number(row["counter"]),
  isSynced: row["is_synced"] === 1,
  createdAt: Number(row["created_at"]),
  lastUsedAt: numberOrNull(row["last_used_at"]),
});

export interface OpenSessionStore extends SessionStore {
  readonly passkeys: PasskeyStore;
  readonly dispose: Dispose;
}

/** Opens the sessions in the state directory. Where the file is lost or damaged, all are signed out, and passkeys are gone. */
export function openSessionStore(options: StoreOptions): OpenSessionStore {
  const { use, keep, change, dispose } = openExpendable(format, options);
  return {
    sessions: () => use(({ all }) => all.all().map(sessionOf)),
    put: ({ id, keyId, cookieDigest, secretDigest, createdAt, endsAt, elevatedUntil, lastUsedAt, remoteAddress }) =>
      keep("put", id, keyId, cookieDigest, secretDigest, createdAt, endsAt, elevatedUntil, lastUsedAt, remoteAddress),
    remove(ids) {
      for (const id of ids) keep("remove", id);
    },
    touch: (uses) =>
      change(({ touch }) => {
        for (const [id, at] of uses) touch.run(at, id);
      }),
    code: (id) => {
      const row = use(({ code }) => code.get(id));
      return row && codeOf(row);
    },
    insertCode: ({ id, keyId, digest, expiresAt }) => keep("insertCode", id, keyId, digest, expiresAt),
    takeCode(id) {
      if (use(({ code }) => code.get(id)) === undefined) return false;
      keep("removeCode", id);
      return true;
    },
    forgetCodes: (now, keyId, kept) =>
      change(({ removeExpired, removeOldest }) => {
        removeExpired.run(now);
        removeOldest.run(keyId, keyId, kept);
      }),
    passkeys: {
      list: () => use(({ passkeys }) => passkeys.all().map(passkeyOf)),
      put: ({ id, keyId, name, credentialId, domain, publicKey, counter, isSynced, createdAt, lastUsedAt }) =>
        keep(
          "putPasskey",
          ...[id, keyId, name, credentialId, domain, publicKey],
          ...[counter, Number(isSynced), createdAt, lastUsedAt],
        ),
      remove: (id) => keep("removePasskey", id),
    },
    dispose,
  };
}
