import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openKeyStore, type SqliteKeyStore } from "#adapters/keystore/index.ts";
import type { KeyRecord, KeyStore, TokenRecord } from "#domain/ports/access.ts";
import { createFakeKeyStore } from "../fakes/key-store.ts";

const key = (id: string, changes: Partial<KeyRecord> = {}): KeyRecord => ({
  id,
  name: `key ${id}`,
  scopes: ["system:read", "services:restart:a*.service"],
  digest: "07".repeat(32),
  createdAt: 1_700_000_000_000,
  expiresAt: null,
  lastUsedAt: null,
  revokedAt: null,
  clientCert: null,
  ...changes,
});
const token = (id: string, keyId: string): TokenRecord => ({
  id,
  keyId,
  scopes: [],
  digest: "09".repeat(32),
  expiresAt: 1_800_000_000_000,
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
let stateDir: string;
let open: SqliteKeyStore | undefined;
beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), "steward-keys-"));
});
afterEach(() => {
  open?.dispose();
  open = undefined;
  rmSync(stateDir, { recursive: true, force: true });
});
const openReal = (): SqliteKeyStore => {
  open?.dispose();
  open = openKeyStore({ stateDir });
  return open;
};

describe.each([
  ["fake", createFakeKeyStore],
  ["sqlite", openReal],
] as const)("key store: %s", (_, make: () => KeyStore) => {
  it("starts empty", () => {
    const store = make();
    expect([store.keys(), store.tokens()]).toEqual([[], []]);
  });

  it("gives back what was put in, oldest first", () => {
    const store = make();
    const records = [
      key("bbbbbbbb", { createdAt: 2 }),
      key("aaaaaaaa", { createdAt: 1, expiresAt: 5, scopes: [], name: 'odd "name" ü', clientCert: "ab".repeat(32) }),
    ];
    for (const record of records) store.insertKey(record);
    expect(store.keys()).toEqual([...records].reverse());
  });

  it("refuses a second key of the same id", () => {
    const store = make();
    store.insertKey(key("aaaaaaaa"));
    expect(() => store.insertKey(key("aaaaaaaa"))).toThrow();
    expect(store.keys()).toHaveLength(1);
  });

  it("keeps revocations, uses and tokens", () => {
    const store = make();
    store.insertKey(key("aaaaaaaa"));
    store.insertToken(token("t1", "aaaaaaaa"));
    store.insertToken(token("t2", "aaaaaaaa"));
    store.revokeKey("aaaaaaaa", 11);
    store.touchKeys(new Map([["aaaaaaaa", 12]]));
    store.deleteTokens(["t1", "nobody"]);
    expect(store.keys()).toEqual([key("aaaaaaaa", { revokedAt: 11, lastUsedAt: 12 })]);
    expect(store.tokens()).toEqual([token("t2", "aaaaaaaa")]);
  });
});

describe("key store on disk", () => {
  it("is private, and there again when it is opened again", () => {
    openReal().insertKey(key("aaaaaaaa"));
    const again = openReal();
    expect(again.keys()).toEqual([key("aaaaaaaa")]);
    again.insertToken(token("t1", "aaaaaaaa"));
    expect(openReal().tokens()).toEqual([token("t1", "aaaaaaaa")]);
  });

  it("takes over what the version before this one has left", () => {
    const database = new DatabaseSync(join(stateDir, "keys.db"));
    database.exec(firstFormat);
    database.close();
    const store = openReal();
    expect(store.keys()).toEqual([key("aaaaaaaa", { scopes: ["system:read"], revokedAt: 7 })]);
    expect(store.tokens()).toEqual([token("t1", "aaaaaaaa")]);
    store.insertKey(key("bbbbbbbb", { createdAt: 1_700_000_000_001, clientCert: "ab".repeat(32) }));
    expect(openReal().keys()).toHaveLength(2);
  });

  it("leaves a store alone that a later version has written", () => {
    const database = new DatabaseSync(join(stateDir, "keys.db"));
    database.exec("PRAGMA user_version = 3");
    database.close();
    expect(() => openKeyStore({ stateDir })).toThrow(/its format 3 is of another version of Steward/);
  });

  it("reports when others can read it", () => {
    const mask = process.umask(0o077);
    const store = openReal();
    process.umask(mask);
    expect(store.check()).toBeUndefined();
    expect(statSync(join(stateDir, "keys.db")).mode & 0o777).toBe(0o600);
  });

  it("belongs to one service at a time", () => {
    openReal();
    expect(() => openKeyStore({ stateDir })).toThrow(/another Steward runs with this state folder/);
  });

  it("says so when it cannot be opened", () => {
    expect(() => openKeyStore({ stateDir: join(stateDir, "nowhere") })).toThrow(/cannot open the key store .*nowhere/);
  });
});
