import { lstatSync, statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { KeyRecord, KeyStore, TokenRecord } from "#domain/access/ports.ts";
import type { Dispose } from "#domain/kernel/clock.ts";
import { keyStoreName } from "./state-dir.ts";

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

/** From the format before to this one. */
const fromFirst = `ALTER TABLE keys ADD COLUMN client_cert TEXT; PRAGMA user_version = ${schemaVersion};`;

const number = (value: unknown): number => Number(value);
const nullableNumber = (value: unknown): number | null => (value === null ? null : Number(value));
const nullableText = (value: unknown): string | null => (typeof value === "string" ? value : null);
const list = (value: unknown): readonly string[] => String(value).split(" ").filter(Boolean);

export interface SqliteKeyStore extends KeyStore {
  /**
   * Whether the store is private (readable by its owner alone) and can be read.
   * @returns the reason when not.
   */
  readonly check: () => string | undefined;
  readonly dispose: Dispose;
}

function openDatabase(path: string): DatabaseSync {
  // A folder that others could write to until now may hold a store that they know the keys of.
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat !== undefined && (!stat.isFile() || stat.uid !== process.getuid?.()))
    throw new Error("it is not a file of this user's own");
  const database = new DatabaseSync(path);
  try {
    // FULL: a commit is on the disk before it is acknowledged. EXCLUSIVE: a second service on the same
    // state folder fails here, at its start, instead of working from keys that this one has revoked.
    database.exec("PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;");
    database.exec("BEGIN EXCLUSIVE;");
    const version = number(database.prepare("PRAGMA user_version").get()?.["user_version"]);
    if (version === 0) database.exec(schema);
    else if (version === 1) database.exec(fromFirst);
    else if (version !== schemaVersion) throw new Error(`its format ${version} is of another version of Steward`);
    database.exec("COMMIT;");
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/**
 * Opens the key store, making it when it is missing.
 * @throws Error when it cannot be opened, or another service has it open.
 */
export function openKeyStore({ stateDir }: { stateDir: string }): SqliteKeyStore {
  const path = join(stateDir, keyStoreName);
  let database: DatabaseSync;
  try {
    database = openDatabase(path);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const why = reason.includes("locked") ? "another Steward runs with this state folder (stop it first)" : reason;
    throw new Error(`cannot open the key store ${path}: ${why}`, { cause: error });
  }
  const insertKey = database.prepare("INSERT INTO keys VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)");
  const revokeKey = database.prepare("UPDATE keys SET revoked_at = ? WHERE id = ?");
  const insertToken = database.prepare("INSERT INTO tokens VALUES (?, ?, ?, ?, ?)");
  const deleteToken = database.prepare("DELETE FROM tokens WHERE id = ?");
  const touchKey = database.prepare("UPDATE keys SET last_used_at = ? WHERE id = ?");
  const countKeys = database.prepare("SELECT count(*) FROM keys");

  let fault: string | undefined;

  /** Does the work whole or not at all, and remembers when the disk did not take it. */
  const inTransaction = (work: () => void): void => {
    try {
      database.exec("BEGIN IMMEDIATE");
      work();
      database.exec("COMMIT");
      fault = undefined;
    } catch (error) {
      fault = `key store ${path} cannot be written: ${error instanceof Error ? error.message : String(error)}`;
      // A full disk makes SQLite roll back by itself.
      if (database.isTransaction) database.exec("ROLLBACK");
      throw error;
    }
  };

  /** A disk that was full may have room again. */
  const tryDisk = (): void => {
    try {
      inTransaction(() => database.exec(`PRAGMA user_version = ${schemaVersion}`));
    } catch {
      // The fault that it left says why.
    }
  };

  return {
    keys: () =>
      database
        .prepare("SELECT * FROM keys ORDER BY created_at, id")
        .all()
        .map(
          (row): KeyRecord => ({
            id: String(row["id"]),
            name: String(row["name"]),
            scopes: list(row["scopes"]),
            digest: String(row["digest"]),
            createdAt: number(row["created_at"]),
            expiresAt: nullableNumber(row["expires_at"]),
            lastUsedAt: nullableNumber(row["last_used_at"]),
            revokedAt: nullableNumber(row["revoked_at"]),
            clientCert: nullableText(row["client_cert"]),
          }),
        ),
    tokens: () =>
      database
        .prepare("SELECT * FROM tokens")
        .all()
        .map(
          (row): TokenRecord => ({
            id: String(row["id"]),
            keyId: String(row["key_id"]),
            scopes: list(row["scopes"]),
            digest: String(row["digest"]),
            expiresAt: number(row["expires_at"]),
          }),
        ),
    insertKey: (key) => {
      const { id, name, scopes, digest, createdAt, expiresAt, lastUsedAt, revokedAt, clientCert } = key;
      inTransaction(() => {
        insertKey.run(id, name, scopes.join(" "), digest, createdAt, expiresAt, lastUsedAt, revokedAt, clientCert);
      });
    },
    revokeKey: (id, revokedAt) =>
      inTransaction(() => {
        revokeKey.run(revokedAt, id);
      }),
    insertToken: ({ id, keyId, scopes, digest, expiresAt }) =>
      inTransaction(() => {
        insertToken.run(id, keyId, scopes.join(" "), digest, expiresAt);
      }),
    deleteTokens: (ids) =>
      inTransaction(() => {
        for (const id of ids) deleteToken.run(id);
      }),
    touchKeys: (uses) =>
      inTransaction(() => {
        for (const [id, at] of uses) touchKey.run(at, id);
      }),
    check() {
      try {
        countKeys.get();
        if (fault !== undefined) tryDisk();
        if (fault !== undefined) return fault;
        const mode = statSync(path).mode & 0o777;
        return mode === 0o600 ? undefined : `key store ${path} has mode ${mode.toString(8)} (chmod 600 it)`;
      } catch (error) {
        return `key store ${path} cannot be read: ${error instanceof Error ? error.message : String(error)}`;
      }
    },
    dispose: () => database.close(),
  };
}
