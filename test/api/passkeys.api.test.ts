import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Passkey, PasskeyCreationOptions } from "#contract/passkeys.ts";
import { createFakePasskeyStore, type FakePasskeyStore } from "../fakes/passkey-store.ts";
import { type AnswerFaults, createAuthenticator } from "./authenticator.ts";
import { messageOf, send, startTestService, type TestReply, type TestService } from "./harness.ts";
import { challengeOf, elevatedSession, fromPage, pageOrigin, registerPasskey, sessionHeaders } from "./passkeys.ts";

let service: TestService;
let store: FakePasskeyStore;
beforeEach(async () => {
  store = createFakePasskeyStore();
  service = await startTestService({ passkeys: store });
});
afterEach(() => service.app.close());

const minuteMs = 60_000;
const signIn = (passkey: unknown, headers = {}): Promise<TestReply> =>
  fromPage(service, "/auth/sessions", { passkey }, headers);
const listed = async (key: string): Promise<readonly Passkey[]> =>
  ((await send(service, { path: "/api/v1/auth/passkeys", key })).json as { passkeys: Passkey[] }).passkeys;
const remove = (key: string, id: string): Promise<TestReply> =>
  send(service, { method: "DELETE", path: `/api/v1/auth/passkeys/${id}`, key });

describe("registering a passkey", () => {
  it("takes what a browser makes of the options, in an elevated session, and shows it", async () => {
    const session = await elevatedSession(service);
    const { json } = await fromPage(service, "/auth/passkeys/creation-options", undefined, session);
    expect(json).toEqual({
      challenge: expect.stringMatching(/^[\w-]{75}$/),
      timeout: 120_000,
      rp: { name: expect.stringMatching(/^Steward on /) },
      user: {
        id: Buffer.from(service.admin.slice(4, 12)).toString("base64url"),
        name: expect.stringMatching(/^test on /),
        displayName: "test",
      },
      pubKeyCredParams: [-8, -7, -257].map((alg) => ({ type: "public-key", alg })),
      excludeCredentials: [],
      authenticatorSelection: { residentKey: "required", requireResidentKey: true, userVerification: "required" },
      attestation: "none",
    });
    const { reply, authenticator } = await registerPasskey(service);
    expect([reply.status, reply.json]).toEqual([
      201,
      {
        id: expect.stringMatching(/^[0-9A-Za-z]{8}$/),
        name: "laptop",
        key_id: service.admin.slice(4, 12),
        key_name: "test",
        domain: "localhost",
        synced: false,
        created_at: "2026-01-01T00:00:00.000Z",
        last_used_at: null,
      },
    ]);
    expect(await listed(service.admin)).toEqual([reply.json]);
    const again = await fromPage(service, "/auth/passkeys/creation-options", undefined, session);
    expect(again.json).toMatchObject({ excludeCredentials: [{ type: "public-key", id: authenticator.id }] });
  });

  it("is for elevated sessions: not for read-only ones, keys and tokens", async () => {
    const readOnly = sessionHeaders(await fromPage(service, "/auth/sessions", { key: service.admin }));
    const options = await fromPage(service, "/auth/passkeys/creation-options", undefined, readOnly);
    const credential = createAuthenticator(pageOrigin).create(options.json as PasskeyCreationOptions);
    const body = { name: "laptop", credential };
    const refused = await fromPage(service, "/auth/passkeys", body, readOnly);
    expect([refused.status, refused.json]).toMatchObject([
      403,
      { error: { details: { reason: "elevation_required" } } },
    ]);
    for (const path of ["/api/v1/auth/passkeys", "/api/v1/auth/passkeys/creation-options"]) {
      const byKey = await send(service, {
        method: "POST",
        path,
        key: service.admin,
        ...(path.endsWith("s") && { body }),
      });
      expect([byKey.status, messageOf(byKey)]).toEqual([
        403,
        "cannot register a passkey: this is for a session, and a key asks (it needs none)",
      ]);
    }
    expect(await listed(service.admin)).toEqual([]);
  });

  const statement = new Map([["x5c", []]]);
  it.each<[string, AnswerFaults, string]>([
    ["made for another origin", { origin: "http://localhost:9999" }, "origin"],
    ["made for another name", { domain: "evil.example" }, "RP ID"],
    ["made in a frame of another page", { crossOrigin: true }, "a page of another origin"],
    ["with a challenge of its own", { challenge: "hello" }, "its challenge is not a current one"],
    ["that is a proof", { type: "webauthn.get" }, "type"],
    ["of somebody whom the authenticator has not asked", { isUnverified: true }, "verif"],
    ["with certificates", { format: "packed", statement }, "which was not requested"],
    ["with a statement of Android", { format: "android-safetynet" }, "which was not requested"],
    ["of an unknown format", { format: "x" }, "which was not requested"],
  ])("refuses one %s", async (_, faults, why) => {
    const { reply } = await registerPasskey(service, { faults });
    expect([reply.status, reply.json]).toMatchObject([400, { error: { details: { field: "credential" } } }]);
    expect(messageOf(reply)).toContain(why);
    expect(await listed(service.admin)).toEqual([]);
  });

  it("uses a challenge up, of one session, within two minutes", async () => {
    const { body, session } = await registerPasskey(service);
    expect(messageOf(await fromPage(service, "/auth/passkeys", body, session))).toContain("registered already");
    const options = await fromPage(service, "/auth/passkeys/creation-options", undefined, session);
    const make = () => createAuthenticator(pageOrigin).create(options.json as PasskeyCreationOptions);
    const register = (headers: Readonly<Record<string, string>>) =>
      fromPage(service, "/auth/passkeys", { name: "other", credential: make() }, headers);
    expect(messageOf(await register(await elevatedSession(service)))).toContain("not a current one");
    expect((await register(session)).status).toBe(201);
    expect(messageOf(await register(session))).toContain("its challenge was used before");
    await service.clock.advance(2 * minuteMs);
    expect(messageOf(await register(session))).toContain("not a current one");
    // A challenge for a sign-in is not accepted for a registration.
    const proof = createAuthenticator(pageOrigin).create({ ...(await challengeOf(service)), user: { id: "x" } });
    const reply = await fromPage(service, "/auth/passkeys", { name: "x", credential: proof }, session);
    expect(messageOf(reply)).toContain("not a current one");
  });

  it("plans, and needs no other answer of the authenticator after that", async () => {
    const session = await elevatedSession(service);
    const options = await fromPage(service, "/auth/passkeys/creation-options", undefined, session);
    const credential = createAuthenticator(pageOrigin).create(options.json as PasskeyCreationOptions);
    const body = { name: "laptop", credential };
    const plan = await fromPage(service, "/auth/passkeys?dry_run=true", body, session);
    expect(plan.json).toMatchObject({
      steps: [`register the passkey laptop of key ${service.admin.slice(4, 12)} (test)`],
    });
    expect(await listed(service.admin)).toEqual([]);
    expect((await fromPage(service, "/auth/passkeys", body, session)).status).toBe(201);
  });

  it("survives bytes that are no such thing", async () => {
    const session = await elevatedSession(service);
    const options = await fromPage(service, "/auth/passkeys/creation-options", undefined, session);
    const good = createAuthenticator(pageOrigin).create(options.json as PasskeyCreationOptions);
    const attestation = Buffer.from(good.response.attestationObject, "base64url");
    for (let at = 0; at < attestation.length; at += 3) {
      for (const bad of [attestation.subarray(0, at), Buffer.from(attestation).fill(0xff, at, at + 2)]) {
        const response = { ...good.response, attestationObject: bad.toString("base64url") };
        const body = { name: "x", credential: { ...good, response } };
        const { status } = await fromPage(service, "/auth/passkeys", body, session);
        // Bytes of the public key and of the id are as good as others.
        expect([at, [201, 400].includes(status)]).toEqual([at, true]);
        for (const { id } of await listed(service.admin)) await remove(service.admin, id);
      }
    }
  });
});

describe("signing in with a passkey", () => {
  it("begins with a random number, which everybody may have", async () => {
    const ask = () => send(service, { method: "POST", path: "/api/v1/auth/passkeys/request-options" });
    const [one, other] = [await ask(), await ask()];
    expect([one.status, one.json]).toEqual([
      200,
      { challenge: expect.stringMatching(/^[\w-]{75}$/), timeout: 120_000, userVerification: "required" },
    ]);
    expect(one.json).not.toEqual(other.json);
  });

  it("begins a read-only session of its key, and elevates it", async () => {
    const key = service.key(["health:read", "services:restart"]);
    const { authenticator, id } = await registerPasskey(service, { key });
    await service.clock.advance(1000);
    const reply = await signIn(authenticator.get(await challengeOf(service)));
    expect([reply.status, reply.json]).toMatchObject([
      201,
      { elevated: false, scopes: ["health:read", "services:restart"] },
    ]);
    expect(await listed(service.admin)).toMatchObject([{ id, last_used_at: "2026-01-01T00:00:01.000Z" }]);
    const headers = sessionHeaders(reply);
    const elevated = await fromPage(
      service,
      "/auth/sessions/elevate",
      { passkey: authenticator.get(await challengeOf(service)) },
      headers,
    );
    expect([elevated.status, elevated.json]).toMatchObject([200, { elevated: true }]);
    const restart = fromPage(service, "/system/services/cron/restart", undefined, sessionHeaders(elevated));
    expect((await restart).status).toBe(200);
    const audited = await send(service, { path: "/api/v1/audit?operation=createSession&limit=1", key: service.admin });
    expect(audited.json).toMatchObject({ entries: [{ outcome: "ok", target: { passkey: id } }] });
  });

  it.each<[string, AnswerFaults, string]>([
    ["for another port of the host", { origin: "http://localhost:9999" }, "origin"],
    ["for another name", { domain: "evil.example" }, "RP ID"],
    ["in a frame of another page", { crossOrigin: true }, "a page of another origin"],
    ["for a challenge of somebody else", { challenge: "hello" }, "not a current one"],
    ["by somebody whom the authenticator has not asked", { isUnverified: true }, "verif"],
    ["with a wrong signature", { isForged: true }, "its signature is wrong"],
    ["that counts backwards", { counter: 0 }, "counter"],
    ["of another user", { userHandle: "b3RoZXI" }, "it is of another key"],
    ["that is a registration", { type: "webauthn.create" }, "type"],
  ])("refuses an answer %s", async (_, faults, why) => {
    const { authenticator } = await registerPasskey(service);
    expect((await signIn(authenticator.get(await challengeOf(service)))).status).toBe(201);
    const reply = await signIn(authenticator.get(await challengeOf(service), faults));
    expect(reply.status).toBe(401);
    expect(messageOf(reply)).toContain(why);
  });

  it("takes an answer once, no matter who comes first, and not after two minutes", async () => {
    const { authenticator } = await registerPasskey(service);
    const answer = authenticator.get(await challengeOf(service));
    const replies = await Promise.all([signIn(answer), signIn(answer), signIn(answer)]);
    expect(replies.map(({ status }) => status).sort((a, b) => a - b)).toEqual([201, 401, 401]);
    expect((await signIn(answer)).status).toBe(401);
    const challenge = await challengeOf(service);
    expect((await signIn(authenticator.get(challenge))).status).toBe(201);
    expect(messageOf(await signIn(authenticator.get(challenge)))).toContain("used before");
    const late = authenticator.get(await challengeOf(service));
    await service.clock.advance(2 * minuteMs);
    expect((await signIn(late)).status).toBe(401);
  });

  it("takes authenticators that do not count", async () => {
    const { authenticator } = await registerPasskey(service, { faults: { counter: 0 } });
    for (let count = 0; count < 2; count += 1)
      expect((await signIn(authenticator.get(await challengeOf(service), { counter: 0 }))).status).toBe(201);
  });

  it("ends with its key: revoked or expired", async () => {
    const revoked = service.key(["health:read"]);
    const expiring = service.key(["health:read"], service.clock.now() + minuteMs);
    const [a, b] = [
      await registerPasskey(service, { key: revoked }),
      await registerPasskey(service, { key: expiring }),
    ];
    service.service.keyring.revoke(revoked.slice(4, 12));
    expect((await signIn(a.authenticator.get(await challengeOf(service)))).status).toBe(401);
    expect(await listed(service.admin)).toMatchObject([{ id: b.id }]);
    await service.clock.advance(minuteMs);
    const late = await signIn(b.authenticator.get(await challengeOf(service)));
    expect([late.status, messageOf(late)]).toEqual([
      401,
      "cannot sign in: the passkey is not valid (its key was revoked, or has expired)",
    ]);
    // The next registration removes from the store what has no key.
    expect(store.list()).toHaveLength(2);
    await registerPasskey(service);
    expect(store.list().map(({ id }) => id)).not.toContain(a.id);
  });

  it("elevates no session of another key", async () => {
    const { authenticator } = await registerPasskey(service);
    const other = sessionHeaders(await fromPage(service, "/auth/sessions", { key: service.key(["health:read"]) }));
    const passkey = authenticator.get(await challengeOf(service));
    const reply = await fromPage(service, "/auth/sessions/elevate", { passkey }, other);
    expect([reply.status, messageOf(reply)]).toEqual([
      403,
      "cannot elevate: this is not the key of the session (sign in with it instead)",
    ]);
  });

  it("is for pages of the service alone, and counts as a failed login where it is refused", async () => {
    const { authenticator } = await registerPasskey(service);
    const body = { passkey: authenticator.get(await challengeOf(service)) };
    const path = "/api/v1/auth/sessions";
    const program = await send(service, { method: "POST", path, body });
    expect([program.status, messageOf(program)]).toEqual([
      403,
      "cannot sign in with a passkey without Origin (browsers send it; a passkey belongs to a page, and programs use a key)",
    ]);
    expect((await signIn(body.passkey, { origin: "http://localhost:9999" })).status).toBe(403);
    const unknown = { passkey: createAuthenticator(pageOrigin).get(await challengeOf(service)) };
    for (let count = 0; count < 60; count += 1) expect((await signIn(unknown.passkey)).status).toBe(401);
    expect((await signIn(unknown.passkey)).status).toBe(429);
  });

  it("is not started, and its answer not used up, where nothing can be stored", async () => {
    const { authenticator } = await registerPasskey(service);
    store.fault = Object.assign(new Error("full"), { code: "ENOSPC", path: "/var/lib/steward/sessions.db" });
    const failing = await signIn(authenticator.get(await challengeOf(service)));
    expect(failing.status).toBe(503);
    store.fault = undefined;
    expect((await signIn(authenticator.get(await challengeOf(service)))).status).toBe(201);
  });
});

describe("the list of passkeys", () => {
  it("shows the own ones, with keys:admin all; so is who may remove them", async () => {
    const key = service.key(["health:read"]);
    const other = await registerPasskey(service, { key, name: "phone" });
    await service.clock.advance(1000);
    const own = await registerPasskey(service);
    expect((await listed(key)).map(({ name }) => name)).toEqual(["phone"]);
    expect((await listed(service.admin)).map(({ name }) => name)).toEqual(["laptop", "phone"]);
    expect((await remove(key, own.id)).status).toBe(404);
    expect((await remove(service.admin, other.id)).status).toBe(200);
    expect((await remove(service.admin, other.id)).status).toBe(404);
    expect(messageOf(await signIn(other.authenticator.get(await challengeOf(service))))).toContain("was removed");
  });

  it("has sixteen of a key at most", async () => {
    for (let count = 0; count < 16; count += 1) expect((await registerPasskey(service)).reply.status).toBe(201);
    expect((await registerPasskey(service)).reply.status).toBe(409);
    expect((await registerPasskey(service, { key: service.key([]) })).reply.status).toBe(201);
  });
});
