import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { credentialCodec } from "#adapters/keystore/codec.ts";
import { openSessionStore } from "#adapters/session-store/index.ts";
import { createKeyring } from "#domain/access/keyring.ts";
import { createSessions } from "#domain/access/sessions.ts";
import type { KeyStore } from "#domain/ports/access.ts";
import type { SessionRecord, SessionStore } from "#domain/ports/sessions.ts";
import { createFakeClock, type FakeClock } from "../fakes/clock.ts";
import { createFakeKeyStore } from "../fakes/key-store.ts";
import { createFakeSessionStore } from "../fakes/session-store.ts";

const minuteMs = 60_000;
let stateDir: string;
let troubles: string[];
let close: () => void = () => undefined;
let clock: FakeClock;
let keys: KeyStore;
beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), "steward-sessions-"));
  troubles = [];
  clock = createFakeClock();
  keys = createFakeKeyStore();
});
afterEach(() => {
  close();
  close = () => undefined;
  rmSync(stateDir, { recursive: true, force: true });
});

function openReal(folder = stateDir): SessionStore {
  close();
  const store = openSessionStore({ stateDir: folder, onTrouble: (_, aside) => void troubles.push(aside ?? "memory") });
  close = store.dispose;
  return store;
}

const record = (id: string, rest: Partial<SessionRecord> = {}): SessionRecord => ({
  ...{ id, keyId: "key", cookieDigest: "c".repeat(64), secretDigest: "s".repeat(64) },
  ...{ createdAt: 1000, endsAt: 9000, elevatedUntil: null, lastUsedAt: 1000, remoteAddress: null },
  ...rest,
});
const byId = (store: SessionStore) => [...store.sessions()].sort((a, b) => (a.id < b.id ? -1 : 1));

describe.each([
  ["fake", createFakeSessionStore],
  ["sqlite", () => openReal()],
] as const)("session store: %s", (_, make: () => SessionStore) => {
  it("keeps sessions, replaces, touches and removes them", () => {
    const store = make();
    store.put(record("a"));
    store.put(record("b", { remoteAddress: "192.0.2.1", elevatedUntil: 5000 }));
    store.put(record("a", { secretDigest: "t".repeat(64) }));
    store.touch(
      new Map([
        ["b", 2000],
        ["gone", 1],
      ]),
    );
    expect(byId(store)).toEqual([
      record("a", { secretDigest: "t".repeat(64) }),
      record("b", { remoteAddress: "192.0.2.1", elevatedUntil: 5000, lastUsedAt: 2000 }),
    ]);
    store.remove(["a", "gone"]);
    expect(byId(store).map(({ id }) => id)).toEqual(["b"]);
  });

  it("gives each code to one, and forgets what is old or too many", () => {
    const store = make();
    const code = (id: string, expiresAt: number, keyId = "key") => ({ id, keyId, digest: "d".repeat(64), expiresAt });
    for (const each of [code("a", 10), code("b", 20), code("c", 30), code("d", 5, "other")]) store.insertCode(each);
    expect(store.code("a")).toEqual(code("a", 10));
    expect([store.takeCode("a"), store.takeCode("a"), store.code("a")]).toEqual([true, false, undefined]);
    store.forgetCodes(5, "key", 1);
    expect(["b", "c", "d"].map((id) => store.code(id)?.id)).toEqual([undefined, "c", undefined]);
  });
});

/** As a service that is started anew. */
function start(folder = stateDir) {
  const keyring = createKeyring({ store: keys, codec: credentialCodec, clock, hostName: () => "host" });
  const limits = { idleMs: 30 * minuteMs, absoluteMs: 12 * 60 * minuteMs, elevatedMs: 15 * minuteMs };
  return {
    keyring,
    sessions: createSessions({ store: openReal(folder), codec: credentialCodec, keyring, clock, limits }),
  };
}
const makeKey = (): string => start().keyring.create({ name: "x", scopes: ["health:read"], expiresAt: null }).record.id;

it("keeps people signed in over a restart, with their times", async () => {
  const keyId = makeKey();
  const first = start();
  const { cookie, secret } = first.sessions.begin(keyId, "192.0.2.1");
  await clock.advance(20 * minuteMs);
  expect(first.sessions.authenticate([cookie], secret)).toBeDefined();
  first.sessions.flush();
  await clock.advance(20 * minuteMs);
  const second = start();
  expect(second.sessions.authenticate([cookie], secret)).toMatchObject({ keyId, session: { isElevated: false } });
  expect(second.sessions.list()).toMatchObject([{ remoteAddress: "192.0.2.1" }]);
  const found = second.sessions.list()[0];
  if (found === undefined) throw new Error("the session is gone");
  const elevated = second.sessions.elevate(found);
  const third = start();
  expect(third.sessions.authenticate([elevated.cookie], elevated.secret)).toMatchObject({
    session: { isElevated: true },
  });
  expect(third.sessions.authenticate([cookie], secret)).toBeUndefined();
  await clock.advance(31 * minuteMs);
  expect(start().sessions.list()).toEqual([]);
});

it("leaves nobody signed in who signed out, whose key was revoked, or with the clock set back", () => {
  const [keyId, other] = [makeKey(), makeKey()];
  const first = start();
  const [out, revoked, later] = [keyId, other, keyId].map((id) => first.sessions.begin(id, null));
  first.sessions.end(out?.session.id ?? "");
  first.keyring.revoke(other);
  const second = start();
  expect(second.sessions.list().map(({ id }) => id)).toEqual([later?.session.id]);
  expect(second.sessions.authenticate([revoked?.cookie ?? ""], revoked?.secret ?? "")).toBeUndefined();
  clock.set(clock.now() - 2 * minuteMs);
  expect(start().sessions.list()).toEqual([]);
});

it("keeps digests alone: neither half nor a code is in the file", () => {
  const keyId = makeKey();
  const { sessions } = start();
  const { cookie, secret } = sessions.begin(keyId, null);
  const { code } = sessions.createCode(keyId);
  const text = ["sessions.db", "sessions.db-wal"].map((name) => readFileSync(join(stateDir, name), "latin1")).join("");
  for (const each of [cookie, secret, code]) expect(text).not.toContain(each.slice(13, 56));
  expect(text).toContain(keyId);
  expect(statSync(join(stateDir, "sessions.db")).mode & 0o777).toBe(0o600);
});

it("uses a code up before it is good, also over a restart", () => {
  const keyId = makeKey();
  const { code } = start().sessions.createCode(keyId);
  const { sessions } = start();
  const found = sessions.readCode(code);
  expect(found).toMatchObject({ keyId });
  expect([sessions.useCode(found?.id ?? ""), sessions.useCode(found?.id ?? "")]).toEqual([true, false]);
  expect(start().sessions.readCode(code)).toBeUndefined();
});

it("has no sessions where its file is damaged, lost or missing", () => {
  const keyId = makeKey();
  const { cookie, secret } = start().sessions.begin(keyId, null);
  close();
  close = () => undefined;
  writeFileSync(join(stateDir, "sessions.db"), "damaged".repeat(1000));
  const damaged = start();
  expect(damaged.sessions.authenticate([cookie], secret)).toBeUndefined();
  expect(damaged.sessions.begin(keyId, null).session.keyId).toBe(keyId);
  const folder = join(stateDir, "missing");
  const { sessions } = start(folder);
  expect(() => sessions.begin(keyId, null)).toThrow(/sessions\.db could not be opened.*restart the service/);
  expect(sessions.list()).toEqual([]);
  mkdirSync(folder);
  expect(troubles).toEqual([join(stateDir, "sessions.db.damaged"), "memory"]);
});
