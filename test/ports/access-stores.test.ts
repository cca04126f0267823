import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openApprovalStore } from "#adapters/approvals/index.ts";
import { credentialCodec } from "#adapters/keystore/codec.ts";
import { openSessionStore } from "#adapters/session-store/index.ts";
import { openTokenLedger } from "#adapters/token-ledger/index.ts";
import { createWindowStore } from "#adapters/window-store/index.ts";
import { createKeyring } from "#domain/access/keyring.ts";
import { createSessions } from "#domain/access/sessions.ts";
import type { KeyStore, StoredWindow } from "#domain/ports/access.ts";
import { createFakeClock, type FakeClock } from "../fakes/clock.ts";
import { createFakeKeyStore } from "../fakes/key-store.ts";
import { directoryPerTest } from "./support/directories.ts";
import { approval, passkey, sessionRecord } from "./support/stores.ts";

const at = directoryPerTest();
let opened: { readonly dispose: () => void } | undefined;
const close = (): void => {
  opened?.dispose();
  opened = undefined;
};
afterEach(close);
const onTrouble = (error: Error): void => expect.unreachable(error.message);
/** As by a service that starts over. */
const reopen = <T extends { readonly dispose: () => void }>(open: () => T): T => {
  close();
  const store = open();
  opened = store;
  return store;
};

it("the approval store has the newest of each record, oldest first, until it is removed", () => {
  const store = reopen(() => openApprovalStore({ stateDir: at(), onTrouble }));
  const denied = approval("b", { createdAt: 2, status: "denied", revision: 3 });
  for (const each of [approval("b", { createdAt: 2 }), approval("a"), denied]) store.save(each);
  expect(store.list()).toEqual([approval("a"), denied]);
  store.remove(["a", "nothing"]);
  expect(store.list()).toEqual([denied]);
});

it("the token ledger adds up for each key and day beyond 32 bits, and forgets days before a day", () => {
  const ledger = reopen(() => openTokenLedger({ stateDir: at(), onTrouble }));
  const days = ["2025-12-31", "2026-01-01", "2026-01-02"];
  for (const tokens of [5, 0, 2 ** 40]) for (const day of days) ledger.add("key", day, tokens);
  ledger.add("other", "2026-01-01", 1);
  ledger.forget("2026-01-01");
  expect(days.map((day) => ledger.used("key", day))).toEqual([0, 2 ** 40 + 5, 2 ** 40 + 5]);
  expect(days.map((day) => ledger.used("other", day))).toEqual([0, 1, 0]);
});

describe("the store of limits by windows", () => {
  let [uptimeMs, nowMs, bootId] = [0, 0, ""];
  beforeEach(() => {
    [uptimeMs, nowMs, bootId] = [5_000, Date.parse("2026-11-23T00:00:00Z"), "b".repeat(32)];
  });
  const clocks = { uptimeMs: () => uptimeMs, now: () => nowMs, bootId: () => bootId };
  const open = () => reopen(() => createWindowStore({ stateDir: at(), onTrouble, clocks }));
  const one = (used: number, endsInMs: number, subject = "key"): StoredWindow => ({
    ...{ subject, name: "perhour", used, endsInMs },
  });

  it("has what was saved last of each window until it ends, and makes its file with the first request", () => {
    const store = open();
    expect(() => statSync(at("limits.db"))).toThrow("ENOENT");
    store.save([one(5, 60_000)]);
    store.save([one(9, 60_000), one(1, 1_000, "other")]);
    uptimeMs += 500;
    expect(store.load()).toEqual([one(9, 59_500), one(1, 500, "other")]);
    uptimeMs += 500;
    expect(store.load()).toEqual([one(9, 59_000)]);
  });

  it("goes by the time since the boot, whatever the clock is set to; by the clock after another boot", () => {
    open().save([one(7, 3_600_000)]);
    nowMs += 86_400_000;
    uptimeMs += 60_000;
    expect(open().load()).toEqual([one(7, 3_540_000)]);
    nowMs -= 2 * 86_400_000;
    expect(open().load()).toEqual([one(7, 3_540_000)]);
    nowMs += 86_400_000 + 120_000;
    [bootId, uptimeMs] = ["c".repeat(32), 10];
    expect(open().load()).toEqual([one(7, 3_480_000)]);
    nowMs += 3_480_000;
    expect(open().load()).toEqual([]);
  });
});

describe("the session store", () => {
  const open = () => reopen(() => openSessionStore({ stateDir: at(), onTrouble }));
  const byId = <T extends { readonly id: string }>(list: readonly T[]) =>
    list.toSorted((a, b) => (a.id < b.id ? -1 : 1));

  it("replaces, touches and removes sessions", () => {
    const store = open();
    const other = sessionRecord("b", { remoteAddress: "192.0.2.1", elevatedUntil: 5000 });
    const replaced = sessionRecord("a", { secretDigest: "t".repeat(64) });
    for (const each of [sessionRecord("a"), other, replaced]) store.put(each);
    store.touch(new Map(Object.entries({ b: 2000, gone: 1 })));
    expect(byId(store.sessions())).toEqual([replaced, { ...other, lastUsedAt: 2000 }]);
    store.remove(["a", "gone"]);
    expect(store.sessions().map(({ id }) => id)).toEqual(["b"]);
  });

  it("gives each code to one, and forgets those that are old or too many", () => {
    const store = open();
    const code = (id: string, expiresAt: number, keyId = "key") => ({ id, keyId, digest: "d".repeat(64), expiresAt });
    for (const each of [code("a", 10), code("b", 20), code("c", 30), code("d", 5, "other")]) store.insertCode(each);
    expect(store.code("a")).toEqual(code("a", 10));
    expect([store.takeCode("a"), store.takeCode("a"), store.code("a")]).toEqual([true, false, undefined]);
    store.forgetCodes(5, "key", 1);
    expect(["b", "c", "d"].map((id) => store.code(id)?.id)).toEqual([undefined, "c", undefined]);
  });

  it("replaces and removes passkeys, whose table an earlier version did not have", () => {
    open();
    close();
    const database = new DatabaseSync(at("sessions.db"));
    database.exec("DROP TABLE passkeys");
    database.close();
    const { passkeys } = open();
    const [a, b] = [passkey("a", { counter: 0, lastUsedAt: 2000 }), passkey("b", { publicKey: new Uint8Array() })];
    for (const each of [passkey("a"), b, a]) passkeys.put(each);
    expect(byId(passkeys.list())).toEqual([a, b]);
    for (const id of ["a", "gone"]) passkeys.remove(id);
    expect(passkeys.list()).toEqual([b]);
  });
});

describe("sessions over a restart", () => {
  const minuteMs = 60_000;
  let clock: FakeClock;
  let keys: KeyStore;
  let troubles: string[];
  beforeEach(() => {
    [clock, keys, troubles] = [createFakeClock(), createFakeKeyStore(), []];
  });
  /** As a service that is started again. */
  function start(stateDir = at()) {
    const store = reopen(() =>
      openSessionStore({ stateDir, onTrouble: (_, aside) => void troubles.push(aside ?? "memory") }),
    );
    const keyring = createKeyring({ store: keys, codec: credentialCodec, clock, hostName: () => "host" });
    const limits = { idleMs: 30 * minuteMs, absoluteMs: 12 * 60 * minuteMs, elevatedMs: 15 * minuteMs };
    return { keyring, ...createSessions({ store, codec: credentialCodec, keyring, clock, limits }) };
  }
  const makeKey = (): string =>
    start().keyring.create({ name: "x", scopes: ["health:read"], expiresAt: null }).record.id;

  it("stay signed in, with their times and their elevation, until they are idle for too long", async () => {
    const keyId = makeKey();
    const first = start();
    const { cookie, secret } = first.begin(keyId, "192.0.2.1");
    await clock.advance(20 * minuteMs);
    expect(first.authenticate([cookie], secret)).toBeDefined();
    first.flush();
    await clock.advance(20 * minuteMs);
    const second = start();
    expect(second.authenticate([cookie], secret)).toMatchObject({ keyId, session: { isElevated: false } });
    const [found] = second.list();
    if (found === undefined) throw new Error("the session is gone");
    expect(found.remoteAddress).toBe("192.0.2.1");
    const elevated = second.elevate(found);
    const third = start();
    expect(third.authenticate([elevated.cookie], elevated.secret)).toMatchObject({ session: { isElevated: true } });
    expect(third.authenticate([cookie], secret)).toBeUndefined();
    await clock.advance(31 * minuteMs);
    expect(start().list()).toEqual([]);
  });

  it("are over for who signed out, whose key was revoked, or when the clock was set back", () => {
    const [keyId, other] = [makeKey(), makeKey()];
    const first = start();
    const [out, revoked, later] = [keyId, other, keyId].map((id) => first.begin(id, null));
    first.end(out?.session.id ?? "");
    first.keyring.revoke(other);
    const second = start();
    expect(second.list().map(({ id }) => id)).toEqual([later?.session.id]);
    expect(second.authenticate([revoked?.cookie ?? ""], revoked?.secret ?? "")).toBeUndefined();
    clock.set(clock.now() - 2 * minuteMs);
    expect(start().list()).toEqual([]);
  });

  it("leave digests alone in the file: neither half of a session nor a code", () => {
    const keyId = makeKey();
    const sessions = start();
    const { cookie, secret } = sessions.begin(keyId, null);
    const { code } = sessions.createCode(keyId);
    const text = ["sessions.db", "sessions.db-wal"].map((name) => readFileSync(at(name), "latin1")).join("");
    for (const each of [cookie, secret, code]) expect(text).not.toContain(each.slice(13, 56));
    expect(text).toContain(keyId);
  });

  it("are started by a code once", () => {
    const keyId = makeKey();
    const { code } = start().createCode(keyId);
    const sessions = start();
    const found = sessions.readCode(code);
    expect(found).toMatchObject({ keyId });
    expect([sessions.useCode(found?.id ?? ""), sessions.useCode(found?.id ?? "")]).toEqual([true, false]);
    expect(start().readCode(code)).toBeUndefined();
  });

  it("are none where the file is corrupt, and new ones are taken; none are taken where there is no file", () => {
    const keyId = makeKey();
    const { cookie, secret } = start().begin(keyId, null);
    close();
    writeFileSync(at("sessions.db"), "damaged".repeat(1000));
    const damaged = start();
    expect(damaged.authenticate([cookie], secret)).toBeUndefined();
    expect(damaged.begin(keyId, null).session.keyId).toBe(keyId);
    const nowhere = start(at("missing"));
    expect(() => nowhere.begin(keyId, null)).toThrow(/sessions\.db could not be opened.*restart the service/);
    mkdirSync(at("missing"));
    expect([nowhere.list(), troubles]).toEqual([[], [at("sessions.db.damaged"), "memory"]]);
    rmSync(at("missing"), { recursive: true });
  });
});
