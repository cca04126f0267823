import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { CreatedSession, SessionEntry } from "#contract/sessions.ts";
import { createFakeSessionStore, type FakeSessionStore } from "../fakes/session-store.ts";
import {
  messageOf,
  reasonOf,
  send,
  startTestService,
  type TestReply,
  type TestRequest,
  type TestService,
} from "./harness.ts";

let service: TestService;
let store: FakeSessionStore;
beforeEach(async () => {
  store = createFakeSessionStore();
  service = await startTestService({ sessions: store });
});
afterEach(() => service.app.close());

const minuteMs = 60_000;
const own = { origin: "http://localhost", "sec-fetch-site": "same-origin" };

/** What a browser has of a session. */
interface Browser {
  readonly id: string;
  readonly cookie: string;
  readonly secret: string;
}

const headersOf = ({ cookie, secret }: Pick<Browser, "cookie" | "secret">) => ({
  ...own,
  cookie,
  "x-steward-session": secret,
});

function browserOf(reply: TestReply): Browser {
  const { id, secret } = reply.json as CreatedSession;
  const [cookie = ""] = reply.headers["set-cookie"]?.split(";") ?? [];
  return { id, secret, cookie };
}

const signIn = (body: unknown, headers: Record<string, string> = own): Promise<TestReply> =>
  send(service, { method: "POST", path: "/api/v1/auth/sessions", body, headers });
const signedIn = async (key = service.admin): Promise<Browser> => browserOf(await signIn({ key }));
const as = (browser: Pick<Browser, "cookie" | "secret">, request: TestRequest): Promise<TestReply> =>
  send(service, { ...request, headers: { ...headersOf(browser), ...request.headers } });
const read = (browser: Browser, path = "/api/v1/health"): Promise<TestReply> => as(browser, { path });
const restart = (browser: Browser): Promise<TestReply> =>
  as(browser, { method: "POST", path: "/api/v1/system/services/cron/restart" });
const elevate = (browser: Browser, body: unknown): Promise<TestReply> =>
  as(browser, { method: "POST", path: "/api/v1/auth/sessions/elevate", body });
const listed = async (browser: Browser): Promise<readonly SessionEntry[]> =>
  ((await read(browser, "/api/v1/auth/sessions")).json as { sessions: SessionEntry[] }).sessions;
const end = (browser: Browser, id: string): Promise<TestReply> =>
  as(browser, { method: "DELETE", path: `/api/v1/auth/sessions/${id}` });
const codeOf = async (key: string): Promise<string> => {
  const { json } = await send(service, { method: "POST", path: "/api/v1/auth/codes", key });
  return (json as { code: string }).code;
};

describe("a session", () => {
  it("begins read-only with a key, reads with both halves, and changes something once it is elevated", async () => {
    const reply = await signIn({ key: service.admin });
    expect(reply.status).toBe(201);
    expect(reply.json).toEqual({
      id: expect.stringMatching(/^[0-9A-Za-z]{8}$/),
      secret: expect.stringMatching(/^sts_[0-9A-Za-z]{8}_[0-9A-Za-z]{49}$/),
      name: "test",
      scopes: expect.arrayContaining(["keys:admin"]),
      elevated: false,
      elevation_ends_at: null,
      expires_at: "2026-01-01T12:00:00.000Z",
    });
    expect(reply.headers["set-cookie"]).toMatch(/^steward=sth_\w+; Path=\/; HttpOnly; SameSite=Strict$/);
    const browser = browserOf(reply);
    expect((await read(browser)).status).toBe(200);
    expect((await read(browser, "/api/v1/auth/whoami")).json).toMatchObject({
      credential: "session",
      key_id: service.admin.slice(4, 12),
      expires_at: "2026-01-01T12:00:00.000Z",
    });
    const refused = await restart(browser);
    expect(reasonOf(refused)).toEqual([403, "elevation_required"]);
    const elevated = await elevate(browser, { key: service.admin });
    expect(elevated.json).toMatchObject({
      id: browser.id,
      elevated: true,
      elevation_ends_at: "2026-01-01T00:15:00.000Z",
    });
    const next = browserOf(elevated);
    expect(next.secret).not.toBe(browser.secret);
    expect((await restart(next)).status).toBe(200);
    // The halves from before, together and each with a new one.
    for (const old of [browser, { ...browser, secret: next.secret }, { ...browser, cookie: next.cookie }])
      expect((await read(old)).status).toBe(401);
    await service.clock.advance(15 * minuteMs);
    expect([(await restart(next)).status, (await read(next)).status]).toEqual([403, 200]);
  });

  it("takes both halves, and the error says which one is missing", async () => {
    const [browser, other] = [await signedIn(), await signedIn()];
    const path = "/api/v1/health";
    const cookieAlone = await send(service, { path, headers: { ...own, cookie: browser.cookie } });
    expect([cookieAlone.status, messageOf(cookieAlone)]).toEqual([
      401,
      "cannot accept half a session: the cookie came without X-Steward-Session (send both, or an API key)",
    ]);
    const secretAlone = await send(service, { path, headers: { ...own, "x-steward-session": browser.secret } });
    expect([secretAlone.status, messageOf(secretAlone)]).toEqual([
      401,
      "cannot accept half a session: its cookie is missing (send both halves, or an API key)",
    ]);
    for (const mixed of [
      { cookie: browser.cookie, secret: other.secret },
      { cookie: other.cookie, secret: browser.secret },
      { cookie: browser.cookie, secret: browser.cookie.split("=")[1] ?? "" },
      { cookie: `steward=${browser.secret}`, secret: browser.secret },
      { cookie: browser.cookie, secret: `${browser.secret}, ${browser.secret}` },
      { cookie: browser.cookie, secret: "" },
      { cookie: browser.cookie, secret: service.admin },
    ])
      expect((await as(mixed, { path })).status).toBe(401);
    // A half is not a key.
    for (const key of [browser.secret, browser.cookie.split("=")[1] ?? ""])
      expect((await send(service, { path, key })).status).toBe(401);
  });

  it("is found among cookies that another port has set", async () => {
    const browser = await signedIn();
    const tossed = `steward=x; a=b; ${browser.cookie}; steward=${"y".repeat(40)}`;
    expect((await as({ ...browser, cookie: tossed }, { path: "/api/v1/health" })).status).toBe(200);
    expect((await as({ ...browser, cookie: `xsteward=${browser.cookie.slice(8)}` }, { path: "/" })).status).toBe(401);
  });

  it("does not get in the way of a key, but is refused beside one", async () => {
    const browser = await signedIn();
    const path = "/api/v1/auth/whoami";
    const withCookie = await send(service, { path, key: service.admin, headers: { cookie: browser.cookie } });
    expect(withCookie.json).toMatchObject({ credential: "key" });
    const withBoth = await as(browser, { path, key: service.admin });
    expect([withBoth.status, messageOf(withBoth)]).toEqual([
      401,
      "cannot tell who calls: a session and another credential were sent (send one of them)",
    ]);
  });

  it("is refused to pages of other sites, and to changes without an origin", async () => {
    const browser = await signedIn();
    const path = "/api/v1/health";
    const { origin: _, ...withoutOrigin } = headersOf(browser);
    const cases: readonly (readonly [TestRequest, number])[] = [
      [{ path, headers: withoutOrigin }, 200],
      [{ path, headers: { ...withoutOrigin, "sec-fetch-site": "same-site" } }, 403],
      [{ path, headers: { ...withoutOrigin, "sec-fetch-site": "none" } }, 403],
      [{ path, headers: { ...withoutOrigin, "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" } }, 403],
      [{ path, headers: { ...headersOf(browser), origin: "http://localhost:1" } }, 403],
      [{ path, headers: { ...headersOf(browser), origin: "null" } }, 403],
      [{ path, headers: { ...headersOf(browser), host: "evil.example" } }, 403],
      [{ method: "POST", path: "/api/v1/auth/tickets", headers: withoutOrigin }, 403],
      [{ method: "POST", path: "/api/v1/auth/tickets", headers: headersOf(browser) }, 201],
    ];
    for (const [request, status] of cases)
      expect([request, (await send(service, request)).status]).toEqual([request, status]);
  });

  it("ends with its key, at once", async () => {
    const key = service.key(["health:read"]);
    const browser = await signedIn(key);
    expect((await read(browser)).status).toBe(200);
    service.service.keyring.revoke(key.slice(4, 12));
    expect((await read(browser)).status).toBe(401);
    const short = service.key(["health:read"], service.clock.now() + minuteMs);
    const until = await signIn({ key: short });
    expect(until.json).toMatchObject({ expires_at: "2026-01-01T00:01:00.000Z" });
    await service.clock.advance(minuteMs);
    expect((await read(browserOf(until))).status).toBe(401);
  });

  it("has no more rights than its key", async () => {
    const browser = await signedIn(service.key(["health:read"]));
    const refused = await read(browser, "/api/v1/auth/keys");
    expect(refused.json).toMatchObject({
      error: { details: { required_scope: "keys:admin", granted: ["health:read"] } },
    });
    // The missing scope is said first: to elevate would not help.
    expect((await restart(browser)).json).toMatchObject({ error: { details: { required_scope: expect.any(String) } } });
  });

  it("idles out after half an hour, and ends after twelve hours of use", async () => {
    const browser = await signedIn();
    await service.clock.advance(29 * minuteMs);
    expect((await read(browser)).status).toBe(200);
    await service.clock.advance(30 * minuteMs);
    expect((await read(browser)).status).toBe(401);
    const used = await signedIn();
    for (let minutes = 0; minutes < 12 * 60; minutes += 20) {
      expect((await read(used)).status).toBe(200);
      await service.clock.advance(20 * minuteMs);
    }
    expect((await read(used)).status).toBe(401);
    expect(await listed(await signedIn())).toHaveLength(1);
  });

  it("ends where the clock is set back, rather than lasting longer", async () => {
    const [browser, elevated] = [await signedIn(), await signedIn()];
    const next = browserOf(await elevate(elevated, { key: service.admin }));
    service.clock.set(service.clock.now() - 30_000);
    expect([(await read(browser)).status, (await restart(next)).status]).toEqual([200, 200]);
    service.clock.set(service.clock.now() - 2 * minuteMs);
    expect([(await read(browser)).status, (await restart(next)).status]).toEqual([401, 401]);
  });

  it("cannot make tokens or codes, but makes keys once it is elevated", async () => {
    const browser = browserOf(await elevate(await signedIn(), { key: service.admin }));
    const token = await as(browser, { method: "POST", path: "/api/v1/auth/tokens" });
    const code = await as(browser, { method: "POST", path: "/api/v1/auth/codes" });
    expect([token.status, code.status]).toEqual([403, 403]);
    const made = await as(browser, {
      method: "POST",
      path: "/api/v1/auth/keys",
      body: { name: "x", scopes: ["viewer"] },
    });
    expect([made.status, made.json]).toMatchObject([201, { expires_at: null }]);
    const narrow = service.key(["keys:admin", "health:read"], service.clock.now() + 60 * minuteMs);
    const limited = browserOf(await elevate(await signedIn(narrow), { key: narrow }));
    const endless = { name: "x", scopes: ["health:read"] };
    expect((await as(limited, { method: "POST", path: "/api/v1/auth/keys", body: endless })).status).toBe(400);
  });

  it("writes no file for a request", async () => {
    const browser = await signedIn();
    const before = store.writes();
    for (let count = 0; count < 50; count += 1) await read(browser);
    await service.clock.advance(minuteMs);
    for (let count = 0; count < 50; count += 1) await read(browser);
    expect(store.writes()).toBe(before);
    service.service.sessions.flush();
    service.service.sessions.flush();
    expect(store.writes()).toBe(before + 1);
  });
});

describe("sign-in with a key", () => {
  it("takes keys alone: no token, no half of a session", async () => {
    const browser = await signedIn();
    const token = service.service.keyring.createToken(
      service.admin.slice(4, 12),
      ["health:read"],
      Number.MAX_SAFE_INTEGER,
    );
    for (const key of [token, browser.secret, "hello", ""]) {
      const reply = await signIn({ key });
      expect([key, [400, 401].includes(reply.status), reply.headers["set-cookie"]]).toEqual([key, true, undefined]);
    }
    for (const body of [{}, { key: service.admin, code: await codeOf(service.admin) }])
      expect((await signIn(body)).status).toBe(400);
  });

  it("is refused to pages of other origins, also those of CORS settings", async () => {
    await service.app.close();
    service = await startTestService({ corsOrigins: ["https://console.example"] });
    const reply = await signIn({ key: service.admin }, { origin: "https://console.example" });
    expect([reply.status, reply.headers["set-cookie"]]).toEqual([403, undefined]);
    const browser = await signedIn();
    const read = await as(browser, { path: "/api/v1/health", headers: { origin: "https://console.example" } });
    expect(read.status).toBe(403);
  });

  it("is limited by address where it fails, and by the budget of its key where it succeeds", async () => {
    for (let count = 0; count < 60; count += 1) expect((await signIn({ key: "hello" })).status).toBe(401);
    expect((await signIn({ key: "hello" })).status).toBe(429);
    expect((await signIn({ key: service.admin })).status).toBe(201);
    await service.app.close();
    service = await startTestService({ rateLimits: { perMinute: 2, perHour: 10 } });
    const statuses = [];
    for (let count = 0; count < 3; count += 1) statuses.push((await signIn({ key: service.admin })).status);
    expect(statuses).toEqual([201, 201, 429]);
  });

  it("is audited by its key, and changes in its session by the session id", async () => {
    const browser = await signedIn();
    await restart(browserOf(await elevate(browser, { key: service.admin })));
    await signIn({ key: "hello" });
    await service.app.close();
    const entries = service.audit.entries;
    expect(entries).toContainEqual(
      expect.objectContaining({
        operation: "createSession",
        outcome: "ok",
        key_id: service.admin.slice(4, 12),
        target: { session: browser.id },
      }),
    );
    expect(entries).toContainEqual(expect.objectContaining({ outcome: "refused", status: 401 }));
    const target = { name: "cron", session: browser.id };
    expect(entries).toContainEqual(expect.objectContaining({ operation: "restartService", outcome: "ok", target }));
    expect(service.logLines()).toContainEqual(expect.objectContaining({ session_id: browser.id, method: "POST" }));
  });

  it("is counted in the metrics", async () => {
    await signedIn();
    await signIn({ key: "hello" });
    const { text } = await send(service, { path: "/metrics", key: service.admin });
    expect(text).toContain('svc_logins_total{result="ok"} 1');
    expect(text).toContain('svc_logins_total{result="refused"} 1');
    expect(text).toContain("svc_sessions 1");
  });

  it("keeps a bounded number of sessions of a key: the one used longest ago ends", async () => {
    const other = await signedIn(service.key(["health:read"]));
    const browsers: Browser[] = [];
    for (let count = 0; count < 17; count += 1) {
      browsers.push(await signedIn());
      await service.clock.advance(1000);
    }
    const [first, second] = browsers as [Browser, Browser];
    expect([(await read(first)).status, (await read(second)).status, (await read(other)).status]).toEqual([
      401, 200, 200,
    ]);
  });

  it("is refused where the session cannot be stored, and ends none for it", async () => {
    const browser = await signedIn();
    store.fault = Object.assign(new Error("full"), { code: "ENOSPC", path: "/var/lib/steward/sessions.db" });
    const reply = await signIn({ key: service.admin });
    expect([reply.status, messageOf(reply)]).toEqual([
      503,
      "cannot complete the request: no space left on /var/lib/steward (free some space there and try again)",
    ]);
    expect(reply.headers["set-cookie"]).toBeUndefined();
    expect((await read(browser)).status).toBe(200);
    expect((await end(browser, browser.id)).status).toBe(503);
    expect((await read(browser)).status).toBe(401);
  });
});

describe("the session cookie", () => {
  const nameOf = ({ headers }: TestReply): string => headers["set-cookie"]?.split("=")[0] ?? "";

  it("has the port of the address in its name, and is Secure for TLS", async () => {
    const names = [];
    for (const headers of [
      { host: "localhost" },
      { host: "localhost:8470" },
      { host: "[::1]:8471" },
      // A proxy speaks TLS with the browser.
      { host: "localhost", origin: "https://localhost" },
      { host: "localhost:8443", origin: "https://localhost:8443" },
    ])
      names.push(nameOf(await signIn({ key: service.admin }, headers)));
    expect(names).toEqual([
      ...["steward", "steward-8470", "steward-8471"],
      ...["__Host-steward", "__Host-steward-8443"],
    ]);
  });

  it("is read behind a TLS proxy, also in a GET without an origin, and removed by its name", async () => {
    const https = { ...own, origin: "https://localhost" };
    const reply = await signIn({ key: service.admin }, https);
    expect(reply.headers["set-cookie"]).toMatch(/^__Host-steward=sth_\w+; Path=\/; HttpOnly; SameSite=Strict; Secure$/);
    const browser = browserOf(reply);
    const { origin: _, ...withoutOrigin } = headersOf(browser);
    expect((await send(service, { path: "/api/v1/health", headers: withoutOrigin })).status).toBe(200);
    const path = `/api/v1/auth/sessions/${browser.id}`;
    const ended = await send(service, { method: "DELETE", path, headers: { ...headersOf(browser), ...https } });
    expect(ended.headers["set-cookie"]).toMatch(/^__Host-steward=; .*Secure; Max-Age=0$/);
  });
});

describe("a dry run of a sign-in", () => {
  it("checks the credential and begins nothing", async () => {
    const path = "/api/v1/auth/sessions?dry_run=true";
    const code = await codeOf(service.admin);
    for (const body of [{ key: service.admin }, { code }]) {
      const reply = await send(service, { method: "POST", path, body, headers: own });
      expect([reply.status, reply.json, reply.headers["set-cookie"]]).toMatchObject([
        200,
        { dry_run: true },
        undefined,
      ]);
    }
    expect(store.sessions()).toEqual([]);
    expect((await signIn({ code })).status).toBe(201);
  });
});

describe("a sign-in code", () => {
  it("signs in once, within a minute, as its key", async () => {
    const code = await codeOf(service.admin);
    expect(code).toMatch(/^stc_[0-9A-Za-z]{8}_[0-9A-Za-z]{49}$/);
    expect((await signIn({ code })).json).toMatchObject({ name: "test", elevated: false });
    expect((await signIn({ code })).status).toBe(401);
    const late = await codeOf(service.admin);
    await service.clock.advance(minuteMs);
    expect((await signIn({ code: late })).status).toBe(401);
    const early = await codeOf(service.admin);
    service.clock.set(service.clock.now() - 1000);
    expect((await signIn({ code: early })).status).toBe(401);
    const revoked = service.key([]);
    const ofRevoked = await codeOf(revoked);
    service.service.keyring.revoke(revoked.slice(4, 12));
    expect((await signIn({ code: ofRevoked })).status).toBe(401);
  });

  it("is used by one of several that send it at once", async () => {
    const code = await codeOf(service.admin);
    const replies = await Promise.all(Array.from({ length: 8 }, () => signIn({ code })));
    expect(replies.map(({ status }) => status).sort((a, b) => a - b)).toEqual([201, 401, 401, 401, 401, 401, 401, 401]);
  });

  it("is made by keys, not by their tokens", async () => {
    const token = service.service.keyring.createToken(service.admin.slice(4, 12), [], service.clock.now() + 1000);
    expect((await send(service, { method: "POST", path: "/api/v1/auth/codes", key: token })).status).toBe(403);
  });

  it("elevates the session of its key, and no other", async () => {
    const browser = await signedIn();
    const foreign = service.key(["keys:admin"]);
    for (const body of [{ key: foreign }, { code: await codeOf(foreign) }, { key: "hello" }, { code: "hello" }])
      expect((await elevate(browser, body)).status).toBe(403);
    expect((await read(browser)).status).toBe(200);
    const code = await codeOf(service.admin);
    expect((await elevate(browser, { code })).status).toBe(200);
    expect((await signIn({ code })).status).toBe(401);
  });

  it("is one of a bounded number", async () => {
    const codes: string[] = [];
    for (let count = 0; count < 10; count += 1) {
      codes.push(await codeOf(service.admin));
      await service.clock.advance(1);
    }
    expect((await signIn({ code: codes[0] })).status).toBe(401);
    expect((await signIn({ code: codes[9] })).status).toBe(201);
  });
});

describe("sign-out", () => {
  it("ends the own session and removes its cookie, also while it is read-only", async () => {
    const browser = await signedIn();
    const reply = await end(browser, browser.id);
    expect(reply.status).toBe(200);
    expect(reply.headers["set-cookie"]).toBe("steward=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0");
    expect((await read(browser)).status).toBe(401);
    expect(store.sessions()).toEqual([]);
  });

  it("ends others of its key; those of other keys with keys:admin, when elevated", async () => {
    const key = service.key(["health:read"]);
    const [browser, again, admin] = [await signedIn(key), await signedIn(key), await signedIn()];
    expect((await end(browser, admin.id)).status).toBe(404);
    expect((await end(browser, again.id)).status).toBe(200);
    expect((await read(again)).status).toBe(401);
    const refused = await end(admin, browser.id);
    expect(reasonOf(refused)).toEqual([403, "elevation_required"]);
    const elevated = browserOf(await elevate(admin, { key: service.admin }));
    expect((await end(elevated, browser.id)).status).toBe(200);
    expect((await read(browser)).status).toBe(401);
    expect((await end(elevated, browser.id)).status).toBe(404);
    const later = await signedIn(key);
    expect((await send(service, { method: "DELETE", path: `/api/v1/auth/sessions/${later.id}`, key })).status).toBe(
      200,
    );
  });

  it("lists the sessions of the key, with keys:admin all, and marks the current one", async () => {
    const key = service.key(["health:read"]);
    const [browser, admin] = [await signedIn(key), await signedIn()];
    await service.clock.advance(1000);
    expect(await listed(browser)).toEqual([
      {
        id: browser.id,
        key_id: key.slice(4, 12),
        name: "test",
        created_at: "2026-01-01T00:00:00.000Z",
        last_used_at: "2026-01-01T00:00:01.000Z",
        idles_out_at: "2026-01-01T00:30:01.000Z",
        expires_at: "2026-01-01T12:00:00.000Z",
        elevated: false,
        elevation_ends_at: null,
        remote_address: "192.0.2.1",
        current: true,
      },
    ]);
    expect((await listed(admin)).map(({ id, current }) => [id, current])).toEqual(
      [
        [admin.id, true],
        [browser.id, false],
      ].sort((a, b) => (String(a[0]) < String(b[0]) ? -1 : 1)),
    );
  });
});
