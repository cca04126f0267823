import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { operations } from "#contract/index.ts";
import type { Operation } from "#contract/operation.ts";
import { narrowableScopes, scopes } from "#contract/scopes.ts";
import {
  errorWith,
  messageOf,
  pathOf,
  send,
  startTestService,
  type TestReply,
  type TestRequest,
  type TestService,
} from "./harness.ts";

const twoDiffer = "cannot tell who calls: two different credentials were sent (send one of them)";

/** Every operation × every state of a key, made from the table: a new row is in it by itself. */
describe("access matrix", () => {
  let service: TestService;
  let keys: Readonly<Record<string, string>>;

  beforeAll(async () => {
    service = await startTestService({ metricsPublic: "never" });
    const revoked = service.key(["system:read"]);
    service.service.keyring.revoke(revoked.slice(4, 12));
    const wrong = service.admin.replace(/.$/, (last) => (last === "0" ? "1" : "0"));
    keys = {
      "a wrong key": wrong,
      "a key of nobody": "stw_AAAAAAAA_0000000000000000000000000000000000000000000000000",
      "an expired key": service.key([...scopes], service.clock.now() - 1),
      "a revoked key": revoked,
      "text that is not a key": "hello",
      "an empty key": "",
    };
  });
  afterAll(() => service.app.close());

  const rows = Object.entries<Operation>(operations);
  const secured = rows.filter(([, operation]) => operation.scope !== "public");
  const scoped = secured.filter(([, operation]) => operation.scope !== "self");

  const call = (operation: Operation, request: Partial<TestRequest>) =>
    // Each from an address of its own, so that failed logins do not add up.
    send(service, { method: operation.method, path: pathOf(operation), from: nextAddress(), ...request });

  let addresses = 0;
  const nextAddress = (): string => {
    addresses += 1;
    return `198.51.${Math.floor(addresses / 250)}.${1 + (addresses % 250)}`;
  };

  it("knows the operations that need no key", () => {
    const open = rows.filter(([, { scope }]) => scope === "public").map(([name]) => name);
    // One takes its key in the body, another is how a browser begins that with a passkey.
    expect(open.sort()).toEqual(["createSession", "getLiveness", "getPasskeyRequestOptions", "getReadiness"]);
    expect(secured.length).toBe(rows.length - open.length);
  });

  describe.each(secured)("%s without a good credential", (_, operation) => {
    it("is 401 without a key", async () => {
      const reply = await call(operation, {});
      expect(reply.status).toBe(401);
      expect(reply.headers["www-authenticate"]).toBe('Bearer realm="steward"');
      expect(reply.json).toMatchObject({ error: { code: "UNAUTHORIZED" } });
    });

    it("refuses every bad credential with one and the same 401", async () => {
      const without = await call(operation, {});
      for (const [name, key] of Object.entries(keys)) {
        const reply = await call(operation, { key });
        expect([name, reply.status, reply.text]).toEqual([name, 401, without.text]);
        const asBearer = await call(operation, { headers: { authorization: `Bearer ${key}` } });
        expect([name, asBearer.status, asBearer.text]).toEqual([name, 401, without.text]);
      }
    });

    it("is 401 for two credentials that differ", async () => {
      const headers = { authorization: `Bearer ${service.key([...scopes])}` };
      const reply = await call(operation, { key: service.admin, headers });
      expect([reply.status, messageOf(reply)]).toEqual([401, twoDiffer]);
    });
  });

  describe("an operation in a session", () => {
    let read: Halves;
    let elevated: Halves;
    let ended: Halves;

    interface Halves {
      readonly cookie: string;
      readonly secret: string;
    }
    beforeAll(() => {
      const { sessions } = service.service;
      const keyId = service.admin.slice(4, 12);
      const begin = () => sessions.begin(keyId, null);
      read = begin();
      elevated = sessions.elevate(begin().session);
      const over = begin();
      sessions.end(over.session.id);
      ended = over;
    });
    const asSession = (operation: Operation, { cookie, secret }: Partial<Halves>) =>
      call(operation, {
        headers: {
          origin: "http://localhost",
          ...(cookie !== undefined && { cookie: `steward=${cookie}` }),
          ...(secret !== undefined && { "x-steward-session": secret }),
        },
        // It ends nothing that the next row needs.
        ...(operation.params !== undefined && { path: pathOf(operation, { id: "nobody00" }) }),
      });

    it.each(secured)(
      "%s is refused to half of one, to halves of two, and to one that has ended",
      async (_, operation) => {
        for (const halves of [
          { cookie: read.cookie },
          { secret: read.secret },
          { cookie: read.cookie, secret: elevated.secret },
          { cookie: elevated.cookie, secret: read.secret },
          ended,
        ])
          expect((await asSession(operation, halves)).status).toBe(401);
      },
    );

    it.each(secured)("%s is admitted if it reads; else once the session is elevated", async (_, operation) => {
      const reply = await asSession(operation, read);
      if (operation.effect === "read" || operation.session === "own") {
        expect([401, 403]).not.toContain(reply.status);
        return;
      }
      expect([reply.status, reply.json]).toMatchObject([403, { error: { details: { reason: "elevation_required" } } }]);
      const next = await asSession(operation, elevated);
      // What a session is never admitted to says so itself.
      const isForKeys = ["/auth/tokens", "/auth/codes"].includes(operation.path);
      expect([next.status === 401, next.status === 403]).toEqual([false, isForKeys]);
      expect(JSON.stringify(next.json)).not.toContain("elevation_required");
    });

    it("has no elevation to require for the sign-out and the elevation", () => {
      const own = secured.filter(([, { session }]) => session === "own").map(([name]) => name);
      expect(own).toEqual(["elevateSession", "endSession"]);
    });
  });

  describe.each(scoped)("the scope of %s", (_, operation) => {
    it("refuses a key without the scope, whatever else it has, and says what is missing [forgotten-authorisation]", async () => {
      const others = scopes.filter((scope) => scope !== operation.scope);
      for (const key of [service.key([]), service.key(others)]) {
        const reply = await call(operation, { key });
        expect(reply.status).toBe(403);
        expect(reply.json).toMatchObject(errorWith("FORBIDDEN", { required_scope: expect.any(String) }));
      }
    });

    it("admits a key with just that scope", async () => {
      const reply = await call(operation, { key: service.key([operation.scope, ...(operation.alsoNeeds ?? [])]) });
      expect([401, 403]).not.toContain(reply.status);
    });

    it("refuses a key that lacks one of the other scopes that it needs, and says which", async () => {
      for (const lacking of operation.alsoNeeds ?? []) {
        const reply = await call(operation, { key: service.key(scopes.filter((scope) => scope !== lacking)) });
        expect([lacking, reply.status]).toEqual([lacking, 403]);
        expect(reply.json).toMatchObject({ error: { details: { required_scope: lacking } } });
      }
    });

    it("on another host refuses a key, and on this host admits it", async () => {
      const needed = [operation.scope, ...(operation.alsoNeeds ?? [])];
      const reply = await call(operation, { key: service.key(scopes.map((scope) => `${scope}@other-*`)) });
      expect(reply.status).toBe(403);
      expect(reply.json).toMatchObject({
        error: { details: { granted: expect.arrayContaining(["keys:admin@other-*"]) } },
      });
      for (const host of ["host", "host.example.org", "h*t.example.*", "*"]) {
        const here = await call(operation, { key: service.key(needed.map((scope) => `${scope}@${host}`)) });
        expect([host, [401, 403].includes(here.status)]).toEqual([host, false]);
      }
    });

    it("refuses a key narrowed to another resource before it reports what exists", async () => {
      // Where the answer is what is narrowed, such a key is admitted and sees nothing of others.
      if (operation.narrows === "answer") return;
      const narrowed = service.key([`${operation.scope}:something-else*`]);
      const reply = await call(operation, { key: narrowed });
      expect(reply.status).toBe(403);
    });

    it("admits a key narrowed to the resource of the call", async () => {
      // Others name it in the body.
      if (operation.resource === undefined || !operation.path.includes("{")) return;
      const params = Object.fromEntries(
        [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => [name, `some-${name}`]),
      );
      const own = `${operation.scope}:${operation.resource(params)}`;
      const reply = await call(operation, { key: service.key([own, ...(operation.alsoNeeds ?? [])]) });
      expect([401, 403]).not.toContain(reply.status);
    });
  });

  it("a narrowed key uses its resource and no other", async () => {
    const operation = operations.restartService;
    const key = service.key(["services:restart:cron.service"]);
    const restart = (name: string) => call(operation, { key, path: pathOf(operation, { name }) });
    expect((await restart("cron")).status).toBe(200);
    expect((await restart("cron.service")).status).toBe(200);
    expect((await restart("backup")).status).toBe(403);
    expect((await restart("does-not-exist")).json).toMatchObject(
      errorWith("FORBIDDEN", {
        required_scope: "services:restart:does-not-exist.service",
        granted: ["services:restart:cron.service"],
      }),
    );
  });

  it("each row with a resource has a scope that may be narrowed", () => {
    for (const [name, operation] of scoped) {
      if (operation.resource !== undefined)
        expect([name, narrowableScopes]).toEqual([name, expect.arrayContaining([operation.scope])]);
    }
  });

  it("an unknown path or method is 401 without a key, and 404 with one", async () => {
    for (const request of [
      { path: "/api/v1/nope" },
      { path: "/nope" },
      { path: "/api/v1/health", method: "POST" as const },
      { path: "/api/v1/auth/tokens", method: "GET" as const },
      { path: "/api/v2/health" },
      { path: "/api/v1/%" },
      { path: "/api/v1/system/services", method: "PUT" as const },
    ]) {
      const without = await send(service, { ...request, from: nextAddress() });
      expect([request.path, without.status]).toEqual([request.path, 401]);
      const withKey = await send(service, { ...request, key: service.admin });
      const expected = request.path.endsWith("%") ? 400 : 404;
      expect([request.path, withKey.status]).toEqual([request.path, expected]);
    }
  });

  it("Bearer is a scheme in any case, and goes with an equal X-API-Key", async () => {
    const path = pathOf(operations.whoami);
    for (const headers of [
      { authorization: `Bearer ${service.admin}` },
      { authorization: `bearer ${service.admin}` },
    ]) {
      expect((await send(service, { path, headers })).status).toBe(200);
      expect((await send(service, { path, headers, key: service.admin })).status).toBe(200);
    }
    for (const authorization of [service.admin, `Basic ${service.admin}`, `Bearer  ${service.admin}`, "Bearer"]) {
      expect((await send(service, { path, headers: { authorization }, from: nextAddress() })).status).toBe(401);
    }
  });

  it("the error for credentials that are sent twice or in another scheme does not say whether they are good", async () => {
    const path = pathOf(operations.whoami);
    const stream = "/api/v1/ws/health";
    const good = service.admin;
    const other = service.key([...scopes]);
    const bad = "stw_AAAAAAAA_0000000000000000000000000000000000000000000000000";
    const answers = async (requests: readonly TestRequest[]): Promise<unknown> => {
      const replies: TestReply[] = [];
      for (const request of requests) replies.push(await send(service, { ...request, from: nextAddress() }));
      const [first] = replies;
      for (const reply of replies) expect([reply.status, reply.text]).toEqual([401, first?.text]);
      return first && messageOf(first);
    };
    const pairs = [
      [good, other],
      [other, good],
      [good, bad],
      [bad, good],
      [bad, `${bad}1`],
    ] as const;
    const bearerOf = (text: string) => ({ authorization: `Bearer ${text}` });
    expect(await answers(pairs.map(([key, text]) => ({ path, key, headers: bearerOf(text) })))).toBe(twoDiffer);
    const inQuery = pairs.flatMap(([key, text]) => [
      { path: `${stream}?api_key=${text}`, key },
      { path: `${stream}?api_key=${text}`, headers: bearerOf(key) },
    ]);
    expect(await answers(inQuery)).toBe(twoDiffer);
    const twice = [...pairs, [good, good] as const];
    expect(await answers(twice.map((keys) => ({ path, headers: { "x-api-key": keys.join(", ") } })))).toBe(
      "cannot tell who calls: X-API-Key was sent more than once (send it once)",
    );
    expect(await answers(twice.map(([one, two]) => ({ path, headers: bearerOf(`${one}, Bearer ${two}`) })))).toBe(
      "cannot tell who calls: Authorization was sent more than once (send it once)",
    );
    expect(await answers(twice.map(([one, two]) => ({ path: `${stream}?api_key=${one}&api_key=${two}` })))).toBe(
      "cannot tell who calls: api_key was sent more than once (send it once)",
    );
    const basic = [`Basic ${Buffer.from(`x:${good}`).toString("base64")}`, `Basic ${bad}`, good, "Digest a=b, c=d", ""];
    const schemes = basic.flatMap((authorization) => [
      { path, headers: { authorization } },
      { path, key: good, headers: { authorization } },
      { path, key: bad, headers: { authorization } },
    ]);
    expect(await answers(schemes)).toBe(
      "cannot tell who calls: the scheme of Authorization must be Bearer (or send the key in X-API-Key alone)",
    );
  });

  it("does not take a key from the query of an ordinary path", async () => {
    expect((await send(service, { path: `/api/v1/health?api_key=${service.admin}`, from: nextAddress() })).status).toBe(
      401,
    );
  });
});
