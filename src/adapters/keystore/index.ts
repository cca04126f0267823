import { statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { syncDirectory } from "#adapters/files/index.ts";
import { inTransaction, isDamage, numberOrNull, type Row, requireOwn, textOrNull } from "#adapters/sqlite/index.ts";
import type { KeyRecord, KeyStore, TokenRecord } from "#domain/ports/access.ts";
import type { Dispose } from "#kernel/clock.ts";
import { addPath, errorMessage, orElse } from "#kernel/errors.ts";
import { findKeyStoreLoss, KeyStoreLost, keyStoreName, moveKeyStoreAside, traceOfKeys } from "./state-dir.ts";

export { KeyStoreLost } from "./state-dir.ts";

const schemaVersion = 2;
const schema = `
  CREATE TABLE keys (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, scopes TEXT NOT NULL, digest TEXT NOT NULL,
    created_at INTEGER NOT NULL, expires_at INTEGER, last_used_at INTEGER, revoked_at INTEGER, client_cert TEXT
  ) STRICT;
  CREATE TABLE tokens (
    id TEXT PRIMARY KEY, key_id TEXT NOT NULL REFERENCES keys(id), scopes TEXT NOT NULL, digest TEXT NOT NULL,
    expires_at INTEGER NOT NULL
  ) STRICT;
  PRAGMA user_version = ${schemaVersion};
`;

const fromFirst = `ALTER TABLE keys ADD COLUMN client_cert TEXT; PRAGMA user_version = ${schemaVersion};`;

const splitWords = (value: unknown): readonly string[] => String(value).split(" ").filter(Boolean);

export interface SqliteKeyStore extends KeyStore {
  /** @returns the reason when it is readable by others or cannot be read. */
  readonly check: () => string | undefined;
  readonly dispose: Dispose;
}

function makeTables(database: DatabaseSync, trace: string | undefined): void {
  if (trace !== undefined) throw new KeyStoreLost(`it has no tables, ${trace}`);
  database.exec(schema);
}

function requireIntact(database: DatabaseSync): void {
  const [row] = database.prepare("PRAGMA quick_check(1)").all();
  const verdict = row?.["quick_check"];
  if (verdict !== "ok") throw new KeyStoreLost(`it is corrupt: ${String(verdict)}`);
}

function openDatabase(stateDir: string, whereLost: "refuse" | "make"): DatabaseSync {
  const path = join(stateDir, keyStoreName);
  const loss = whereLost === "refuse" ? findKeyStoreLoss(stateDir) : undefined;
  if (loss !== undefined) throw new KeyStoreLost(loss);
  // A directory that others could write to until now may hold a store that they know the keys of.
  requireOwn(path);
  const database = new DatabaseSync(path);
  try {
    // A commit is on disk before it is acknowledged, and a second service on this state directory fails at its start.
    database.exec("PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;");
    database.exec("BEGIN EXCLUSIVE;");
    const version = Number(database.prepare("PRAGMA user_version").get()?.["user_version"]);
    if (version === 0) makeTables(database, whereLost === "refuse" ? traceOfKeys(stateDir) : undefined);
    else if (version === 1) database.exec(fromFirst);
    else if (version !== schemaVersion) throw new Error(`its format ${version} is of another version of Steward`);
    requireIntact(database);
    database.exec("COMMIT;");
    if (version === 0) {
      database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
      syncDirectory(stateDir);
    }
    return database;
  } catch (error) {
    database.close();
    throw isDamage(error) && error instanceof Error
      ? new KeyStoreLost(`it is corrupt: ${error.message}`, { cause: error })
      : error;
  }
}

const remedy =
  "restore it from a backup, or make a new admin key and give up all other keys: steward serve --new-admin-key";

export const lostKeys = (stateDir: string, reason: string): KeyStoreLost =>
  new KeyStoreLost(`cannot open the key store ${join(stateDir, keyStoreName)}: ${reason} (${remedy})`);

/** Why a start would refuse the key store. Opens nothing; undefined also where this user may not look. */
export function describeKeyStoreLoss(stateDir: string): string | undefined {
  try {
    const loss = findKeyStoreLoss(stateDir);
    return loss === undefined ? undefined : lostKeys(stateDir, loss).message;
  } catch {
    return undefined;
  }
}

export interface LostKeyStore {
  readonly reason: string;
  readonly aside: string | undefined;
}

interface KeyStoreOptions {
  readonly stateDir: string;
  readonly replaceLost?: ((lost: LostKeyStore) => void) | undefined;
}

function openOrReplace(stateDir: string, replaceLost: KeyStoreOptions["replaceLost"]): DatabaseSync {
  try {
    return openDatabase(stateDir, "refuse");
  } catch (error) {
    if (!(error instanceof KeyStoreLost) || replaceLost === undefined) throw error;
    const aside = moveKeyStoreAside(stateDir, Date.now());
    const database = openDatabase(stateDir, "make");
    replaceLost({ reason: error.message, aside });
    return database;
  }
}

const toKeyRecord = (row: Row): KeyRecord => ({
  id: String(row["id"]),
  name: String(row["name"]),
  scopes: splitWords(row["scopes"]),
  digest: String(row["digest"]),
  createdAt: Number(row["created_at"]),
  expiresAt: numberOrNull(row["expires_at"]),
  lastUsedAt: numberOrNull(row["last_used_at"]),
  revokedAt: numberOrNull(row["revoked_at"]),
  clientCert: textOrNull(row["client_cert"]),
});

const tokenOf = (row: Row): TokenRecord => ({
  id: String(row["id"]),
  keyId: String(row["key_id"]),
  scopes: splitWords(row["scopes"]),
  digest: String(row["digest"]),
  expiresAt: Number(row["expires_at"]),
});

/** @throws KeyStoreLost when it is missing, empty or corrupt after an earlier run. @throws Error when it is open elsewhere. */
export function openKeyStore({ stateDir, replaceLost }: KeyStoreOptions): SqliteKeyStore {
  const path = join(stateDir, keyStoreName);
  let database: DatabaseSync;
  try {
    database = openOrReplace(stateDir, replaceLost);
  } catch (error) {
    if (error instanceof KeyStoreLost) throw lostKeys(stateDir, error.message);
    const reason = errorMessage(error);
    const why = reason.includes("locked") ? "another Steward runs with this state directory (stop it first)" : reason;
    throw new Error(`cannot open the key store ${path}: ${why}`, { cause: error });
  }
  const insertKey = database.prepare("INSERT INTO keys VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)");
  const revokeKey = database.prepare("UPDATE keys SET revoked_at = ? WHERE id = ?");
  const insertToken = database.prepare("INSERT INTO tokens VALUES (?, ?, ?, ?, ?)");
  const deleteToken = database.prepare("DELETE FROM tokens WHERE id = ?");
  const touchKey = database.prepare("UPDATE keys SET last_used_at = ? WHERE id = ?");
  const countKeys = database.prepare("SELECT count(*) FROM keys");

  let fault: string | undefined;

  const change = (work: () => void): void => {
    try {
      inTransaction(database, work);
      fault = undefined;
    } catch (error) {
      fault = `key store ${path} cannot be written: ${errorMessage(error)}`;
      throw addPath(error, path);
    }
  };

  return {
    keys: () => database.prepare("SELECT * FROM keys ORDER BY created_at, id").all().map(toKeyRecord),
    tokens: () => database.prepare("SELECT * FROM tokens").all().map(tokenOf),
    insertKey({ id, name, scopes, digest, createdAt, expiresAt, lastUsedAt, revokedAt, clientCert }) {
      const times = [createdAt, expiresAt, lastUsedAt, revokedAt];
      change(() => void insertKey.run(id, name, scopes.join(" "), digest, ...times, clientCert));
    },
    revokeKey: (id, revokedAt) => change(() => void revokeKey.run(revokedAt, id)),
    insertToken: ({ id, keyId, scopes, digest, expiresAt }) =>
      change(() => void insertToken.run(id, keyId, scopes.join(" "), digest, expiresAt)),
    deleteTokens: (ids) =>
      change(() => {
        for (const id of ids) deleteToken.run(id);
      }),
    touchKeys: (uses) =>
      change(() => {
        for (const [id, at] of uses) touchKey.run(at, id);
      }),
    check() {
      try {
        countKeys.get();
        if (fault !== undefined)
          orElse(() => change(() => database.exec(`PRAGMA user_version = ${schemaVersion}`)), undefined);
        if (fault !== undefined) return fault;
        const mode = statSync(path).mode & 0o777;
        return mode === 0o600 ? undefined : `key store ${path} has mode ${mode.toString(8)} (chmod 600 it)`;
      } catch (error) {
        return `key store ${path} cannot be read: ${errorMessage(error)}`;
      }
    },
    dispose: () => database.close(),
  };
}
