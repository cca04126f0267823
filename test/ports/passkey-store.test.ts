import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openSessionStore } from "#adapters/session-store/index.ts";
import type { PasskeyRecord, PasskeyStore } from "#domain/ports/passkeys.ts";
import { createFakePasskeyStore } from "../fakes/passkey-store.ts";

let stateDir: string;
let close: () => void = () => undefined;
beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), "steward-passkeys-"));
});
afterEach(() => {
  close();
  rmSync(stateDir, { recursive: true, force: true });
});

function openReal(): PasskeyStore {
  close();
  const { passkeys, dispose } = openSessionStore({
    stateDir,
    onTrouble: ({ message }) => expect.unreachable(message),
  });
  close = () => {
    close = () => undefined;
    dispose();
  };
  return passkeys;
}

describe.each([
  ["fake", createFakePasskeyStore],
  ["sqlite", openReal],
] as const)("passkey store: %s", (_, make: () => PasskeyStore) => {
  it("keeps passkeys, replaces and removes them", () => {
    const store = make();
    const passkey: PasskeyRecord = {
      ...{ id: "a", keyId: "key", name: "laptop", credentialId: "Y3JlZA", domain: "localhost" },
      ...{ publicKey: Uint8Array.of(1, 2, 0xff), counter: 4_294_967_295, isSynced: true },
      ...{ createdAt: 1000, lastUsedAt: null },
    };
    store.put(passkey);
    store.put({ ...passkey, id: "b", isSynced: false, publicKey: new Uint8Array() });
    store.put({ ...passkey, counter: 0, lastUsedAt: 2000 });
    expect([...store.list()].sort((one, other) => (one.id < other.id ? -1 : 1))).toEqual([
      { ...passkey, counter: 0, lastUsedAt: 2000 },
      { ...passkey, id: "b", isSynced: false, publicKey: new Uint8Array() },
    ]);
    store.remove("a");
    store.remove("gone");
    expect(store.list().map(({ id }) => id)).toEqual(["b"]);
  });
});

it("keeps them over a restart, beside the sessions of an earlier version", () => {
  const passkey: PasskeyRecord = {
    ...{ id: "a", keyId: "key", name: "laptop", credentialId: "Y3JlZA", domain: "localhost" },
    ...{ publicKey: Uint8Array.of(1, 2, 0xff), counter: 7, isSynced: false, createdAt: 1000, lastUsedAt: 2000 },
  };
  openReal().put(passkey);
  close();
  // As before there were passkeys.
  const database = new DatabaseSync(join(stateDir, "sessions.db"));
  database.exec("ALTER TABLE passkeys RENAME TO kept");
  database.close();
  expect(openReal().list()).toEqual([]);
  close();
  const again = new DatabaseSync(join(stateDir, "sessions.db"));
  again.exec("DROP TABLE passkeys; ALTER TABLE kept RENAME TO passkeys");
  again.close();
  expect(openReal().list()).toEqual([passkey]);
});
