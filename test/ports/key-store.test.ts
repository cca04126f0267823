import { chmodSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { afterEach, describe, expect, it } from "vitest";
import { openKeyStore, type SqliteKeyStore } from "#adapters/keystore/index.ts";
import type { KeyRecord, TokenRecord } from "#domain/ports/access.ts";
import { directoryPerTest } from "./support/directories.ts";

const key = (id: string, changes: Partial<KeyRecord> = {}): KeyRecord => ({
  ...{ id, name: `key ${id}`, scopes: ["system:read", "services:restart:a*.service"], digest: "07".repeat(32) },
  ...{ createdAt: 1_700_000_000_000, expiresAt: null, lastUsedAt: null, revokedAt: null, clientCert: null },
  ...changes,
});
const token = (id: string, keyId: string): TokenRecord => ({
  ...{ id, keyId, scopes: [], digest: "09".repeat(32), expiresAt: 1_800_000_000_000 },
});
/** A store as it was before keys had client certificates. */
const firstFormat = `
  CREATE TABLE keys (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, scopes TEXT NOT NULL, digest TEXT NOT NULL,
    created_at INTEGER NOT NULL, expires_at INTEGER, last_used_at INTEGER, revoked_at INTEGER
  ) STRICT;
  CREATE TABLE tokens (
    id TEXT PRIMARY KEY, key_id TEXT NOT NULL REFERENCES keys(id), scopes TEXT NOT NULL, digest TEXT NOT NULL,
    expires_at INTEGER NOT NULL
  ) STRICT;
  INSERT INTO keys VALUES ('aaaaaaaa', 'key aaaaaaaa', 'system:read', '${"07".repeat(32)}', 1700000000000, NULL, NULL, 7);
  INSERT INTO tokens VALUES ('t1', 'aaaaaaaa', '', '${"09".repeat(32)}', 1800000000000);
  PRAGMA user_version = 1;
`;
const at = directoryPerTest();
let opened: SqliteKeyStore | undefined;
afterEach(() => {
  opened?.dispose();
  opened = undefined;
});
const open = (): SqliteKeyStore => {
  opened?.dispose();
  opened = openKeyStore({ stateDir: at() });
  return opened;
};
const writeFile = (sql: string): void => {
  const database = new DatabaseSync(at("keys.db"));
  database.exec(sql);
  database.close();
};

describe("the key store", () => {
  it("has every key that was put in, oldest first, also when it is opened again", () => {
    const records = [
      key("bbbbbbbb", { createdAt: 2 }),
      key("aaaaaaaa", { createdAt: 1, expiresAt: 5, scopes: [], name: 'odd "name" ü', clientCert: "ab".repeat(32) }),
    ];
    const store = open();
    expect([store.keys(), store.tokens()]).toEqual([[], []]);
    for (const record of records) store.insertKey(record);
    expect(() => store.insertKey(key("aaaaaaaa"))).toThrow();
    expect(open().keys()).toEqual([...records].reverse());
  });

  it("records revocations, uses and tokens", () => {
    const store = open();
    store.insertKey(key("aaaaaaaa"));
    for (const id of ["t1", "t2"]) store.insertToken(token(id, "aaaaaaaa"));
    store.revokeKey("aaaaaaaa", 11);
    store.touchKeys(new Map([["aaaaaaaa", 12]]));
    store.deleteTokens(["t1", "nobody"]);
    const again = open();
    expect(again.keys()).toEqual([key("aaaaaaaa", { revokedAt: 11, lastUsedAt: 12 })]);
    expect(again.tokens()).toEqual([token("t2", "aaaaaaaa")]);
  });

  it("migrates what the version before this one has written", () => {
    writeFile(firstFormat);
    const store = open();
    expect(store.keys()).toEqual([key("aaaaaaaa", { scopes: ["system:read"], revokedAt: 7 })]);
    expect(store.tokens()).toEqual([token("t1", "aaaaaaaa")]);
    store.insertKey(key("bbbbbbbb", { createdAt: 1_700_000_000_001, clientCert: "ab".repeat(32) }));
    expect(open().keys()).toHaveLength(2);
  });

  it("is not opened where a later version has written it, another service has it, or its directory is missing", () => {
    writeFile("PRAGMA user_version = 3");
    expect(open).toThrow(/its format 3 is of another version of Steward/);
    writeFile("PRAGMA user_version = 0");
    open();
    expect(() => openKeyStore({ stateDir: at() })).toThrow(/another Steward runs with this state directory/);
    expect(() => openKeyStore({ stateDir: at("nowhere") })).toThrow(/cannot open the key store .*nowhere/);
  });

  it("reports when others can read its file", () => {
    const mask = process.umask(0o077);
    const store = open();
    process.umask(mask);
    expect(store.check()).toBeUndefined();
    chmodSync(at("keys.db"), 0o644);
    expect(store.check()).toMatch(/mode 644 \(chmod 600 it\)$/);
  });
});
