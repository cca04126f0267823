import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { CreatedKey, KeyEntry, Token } from "#contract/auth.ts";
import { roles, scopes } from "#contract/scopes.ts";
import { errorWith, send, startTestService, type TestReply, type TestService } from "./harness.ts";

let service: TestService;
beforeEach(async () => {
  service = await startTestService();
});
afterEach(() => service.app.close());

const post = (path: string, key: string, body?: unknown) =>
  send(service, { method: "POST", path: `/api/v1${path}`, key, body });
const whoami = (key: string) => send(service, { path: "/api/v1/auth/whoami", key });
const created = (reply: TestReply): CreatedKey => reply.json as CreatedKey;
const token = (reply: TestReply): Token => reply.json as Token;
const entryOf = async (id: string): Promise<KeyEntry> => {
  const { json } = await send(service, { path: "/api/v1/auth/keys", key: service.admin });
  const found = (json as { keys: KeyEntry[] }).keys.find((each) => each.id === id);
  if (found === undefined) throw new Error(`there is no key ${id}`);
  return found;
};

describe("API keys", () => {
  it("makes a key of the decided form, which works at once", async () => {
    const reply = await post("/auth/keys", service.admin, {
      name: "monitoring",
      scopes: ["viewer", "services:restart:nginx.service"],
    });
    expect(reply.status).toBe(201);
    expect(reply.json).toEqual({
      id: expect.stringMatching(/^[0-9A-Za-z]{8}$/),
      key: expect.stringMatching(/^stw_[0-9A-Za-z]{8}_[0-9A-Za-z]{49}$/),
      name: "monitoring",
      scopes: [...roles.viewer, "services:restart:nginx.service"],
      expires_at: null,
    });
    expect((await whoami(created(reply).key)).json).toMatchObject({
      name: "monitoring",
      credential: "key",
      expires_at: null,
    });
  });

  it("limits scopes to hosts, shows them as they were given, and hands on no more", async () => {
    const fleet = { scopes: ["services:restart:cron.service@host*", "keys:admin@*", "system:read@db"] };
    const made = await post("/auth/keys", service.admin, { name: "fleet", ...fleet });
    const { key } = created(made);
    expect((await whoami(key)).json).toMatchObject({ scopes: fleet.scopes });
    expect((await post("/system/services/cron/restart", key)).status).toBe(200);
    expect((await send(service, { path: "/api/v1/system/info", key })).json).toMatchObject({
      error: { details: { required_scope: "system:read", granted: fleet.scopes } },
    });
    const tokens = (wanted: readonly string[]) => post("/auth/tokens", key, { scopes: wanted });
    expect((await whoami(token(await post("/auth/tokens", key)).access_token)).json).toMatchObject({
      scopes: fleet.scopes,
    });
    const narrower = ["services:restart:cron.service@host", "system:read@db"];
    const narrowed = token(await tokens(narrower));
    expect(narrowed.scope).toBe(narrower.join(" "));
    expect((await post("/system/services/cron/restart", narrowed.access_token)).status).toBe(200);
    for (const wider of [
      "services:restart:cron.service",
      "services:restart:cron.service@*",
      "system:read",
      "system:read@*",
    ]) {
      expect([wider, (await tokens([wider])).status]).toEqual([wider, 403]);
      expect([wider, (await post("/auth/keys", key, { name: "x", scopes: [wider] })).status]).toEqual([wider, 403]);
    }
    expect((await tokens(["system:read@"])).status).toBe(400);
    expect((await post("/auth/keys", service.admin, { name: "x", scopes: ["operator@host"] })).json).toMatchObject({
      scopes: roles.operator.map((scope) => `${scope}@host`),
    });
  });

  it("never shows a secret again", async () => {
    const { key, id } = created(await post("/auth/keys", service.admin, { name: "x", scopes: [] }));
    const list = await send(service, { path: "/api/v1/auth/keys", key: service.admin });
    expect(list.text).not.toContain(key.slice(13));
    expect(list.json).toMatchObject({
      keys: [{ name: "test" }, { id, name: "x", scopes: [], expires_at: null, last_used_at: null, revoked_at: null }],
    });
    expect(JSON.stringify(service.logLines())).not.toContain(key.slice(13));
  });

  it("gives a key without scopes no rights [missing-allow-list]", async () => {
    const { key } = created(await post("/auth/keys", service.admin, { name: "x", scopes: [] }));
    expect((await send(service, { path: "/api/v1/health", key })).status).toBe(403);
    expect((await whoami(key)).json).toMatchObject({ scopes: [] });
  });

  it("ends a key at its time", async () => {
    const expires_at = "2026-01-01T01:00:00+00:00";
    const { key } = created(await post("/auth/keys", service.admin, { name: "x", scopes: [], expires_at }));
    expect((await whoami(key)).json).toMatchObject({ expires_at: "2026-01-01T01:00:00.000Z" });
    await service.clock.advance(3_599_999);
    expect((await whoami(key)).status).toBe(200);
    await service.clock.advance(1);
    expect((await whoami(key)).status).toBe(401);
  });

  it("revokes a key at once, with its tokens, and says so again when asked again", async () => {
    const { key, id } = created(await post("/auth/keys", service.admin, { name: "x", scopes: [] }));
    const { access_token } = token(await post("/auth/tokens", key));
    const revoke = (query = "") =>
      send(service, { method: "DELETE", path: `/api/v1/auth/keys/${id}${query}`, key: service.admin });
    expect((await revoke("?dry_run=true")).json).toMatchObject({
      dry_run: true,
      steps: [`revoke key ${id} (x) and its tokens`],
    });
    expect((await whoami(key)).status).toBe(200);
    expect((await revoke()).json).toMatchObject({
      id,
      success: true,
      message: "key revoked",
      revoked_at: expect.any(String),
    });
    expect((await whoami(key)).status).toBe(401);
    expect((await whoami(access_token)).status).toBe(401);
    expect((await revoke()).json).toMatchObject({ success: true, message: "key was revoked already" });
  });

  it("are revoked by those alone who could have made them, whatever scopes both have", async () => {
    const pool = [
      ...scopes.filter((scope) => scope !== "keys:admin"),
      "services:restart:nginx",
      "services:restart:app-*",
      "services:restart:app-1.service",
      "logs:read:kernel",
      "logs:read:*",
      "plugins:run:*-tool",
      "health:fix:disk_space",
    ];
    const sets = fc.subarray(pool);
    const property = fc.asyncProperty(sets, sets, fc.boolean(), async (held, others, isAdmin) => {
      const by = service.service.keyring.createToken(
        service.admin.slice(4, 12),
        ["keys:admin", ...held],
        service.clock.now() + 3_600_000,
      );
      const wanted = isAdmin ? [...others, "keys:admin"] : others;
      const { id } = created(await post("/auth/keys", service.admin, { name: "x", scopes: wanted }));
      const expires_at = "2026-01-01T00:30:00Z";
      const made = await post("/auth/keys?dry_run=true", by, { name: "y", scopes: wanted, expires_at });
      const revoke = (query: string) =>
        send(service, { method: "DELETE", path: `/api/v1/auth/keys/${id}${query}`, key: by });
      const [dry, real] = [await revoke("?dry_run=true"), await revoke("")];
      expect([dry.status, real.status]).toEqual([made.status, made.status]);
      const { revoked_at: revokedAt } = await entryOf(id);
      expect(revokedAt === null).toBe(made.status === 403);
      const missing = ({ json }: TestReply) =>
        (json as { error?: { details: { required_scope: string } } }).error?.details.required_scope;
      expect(missing(real)).toBe(missing(made));
    });
    await fc.assert(property, { numRuns: 150 });
  });

  it("with scopes that no longer exist are revoked", async () => {
    const old = service.key(["keys:admin", "gone:read"]);
    const path = `/api/v1/auth/keys/${old.slice(4, 12)}`;
    expect((await send(service, { method: "DELETE", path, key: service.admin })).json).toMatchObject({ success: true });
  });

  it("that are the last to make keys are revoked with a warning", async () => {
    const revoke = async (key: string, query = "") =>
      (
        await send(service, {
          method: "DELETE",
          path: `/api/v1/auth/keys/${key.slice(4, 12)}${query}`,
          key: service.admin,
        })
      ).json;
    const other = service.key(["keys:admin"]);
    expect(await revoke(other)).toMatchObject({ message: "key revoked" });
    service.key(["keys:admin"], service.clock.now() - 1);
    service.key(["viewer"]);
    expect(await revoke(service.admin, "?dry_run=true")).toMatchObject({
      reason: expect.stringContaining("no other key"),
    });
    expect(await revoke(service.admin)).toMatchObject({
      success: true,
      message: expect.stringMatching(/^key revoked; no other key can make keys \(on the host, root makes one/),
    });
  });

  it("cannot be given what the giver does not have [missing-allow-list]", async () => {
    const limited = service.key(["keys:admin", "services:restart:app-*"]);
    const grant = (...wanted: string[]) => post("/auth/keys", limited, { name: "x", scopes: wanted });
    expect((await grant("system:read")).json).toMatchObject(errorWith("FORBIDDEN", { required_scope: "system:read" }));
    expect((await grant("admin")).status).toBe(403);
    expect((await grant("services:restart")).status).toBe(403);
    expect((await grant("services:restart:nginx.service")).status).toBe(403);
    expect((await grant("services:restart:*")).status).toBe(403);
    expect((await grant("services:restart:app-*")).status).toBe(201);
    expect((await grant("services:restart:app-one.service", "keys:admin")).status).toBe(201);
  });

  it("do not outlive the credential that made them", async () => {
    const short = token(await post("/auth/tokens", service.admin, { expires_in: 60 })).access_token;
    for (const expires_at of [undefined, null, "2026-01-01T00:01:01Z"]) {
      const reply = await post("/auth/keys", short, { name: "x", scopes: [], expires_at });
      expect(reply.json).toMatchObject({ error: { details: { field: "expires_at" } } });
    }
    expect(
      (await post("/auth/keys", short, { name: "x", scopes: [], expires_at: "2026-01-01T00:01:00Z" })).status,
    ).toBe(201);
  });

  it("take the fingerprint of a client certificate as openssl prints it, for one key at a time", async () => {
    const [printed, kept] = [Array.from({ length: 32 }, () => "AB").join(":"), "ab".repeat(32)];
    const make = (client_cert_sha256: string, name = "x") =>
      post("/auth/keys", service.admin, { name, scopes: [], client_cert_sha256 });
    const { id } = created(await make(printed));
    const list = () => send(service, { path: "/api/v1/auth/keys", key: service.admin });
    expect((await list()).json).toMatchObject({
      keys: [
        { name: "test", client_cert_sha256: null },
        { id, client_cert_sha256: kept },
      ],
    });
    const refused = await make(kept, "y");
    expect(refused.json).toMatchObject(errorWith("VALIDATION_ERROR", { field: "client_cert_sha256" }));
    expect(refused.text).toContain(id);
    await send(service, { method: "DELETE", path: `/api/v1/auth/keys/${id}`, key: service.admin });
    expect((await make(kept, "y")).status).toBe(201);
  });

  it("are audited by their id, also a dry run", async () => {
    const dry = await post("/auth/keys?dry_run=true", service.admin, { name: "x", scopes: ["viewer"] });
    expect(dry.json).toMatchObject({
      dry_run: true,
      steps: [`make a key named x with ${roles.viewer.length} scopes: ${roles.viewer.join(", ")}`],
    });
    expect(service.service.keyring.list()).toHaveLength(1);
    const { id } = created(await post("/auth/keys", service.admin, { name: "x", scopes: ["system:read"] }));
    expect(dry.status).toBe(200);
    expect(service.audit.entries).toMatchObject([
      { operation: "createKey", dry_run: true, status: 200, target: {} },
      { operation: "createKey", dry_run: false, status: 201, target: { id, name: "x", scopes: "system:read" } },
    ]);
  });

  it.each([
    [{ name: "x", scopes: ["root"] }, "scopes"],
    [{ name: "x", scopes: ["system:read:host"] }, "scopes"],
    [{ name: "x", scopes: ["services:restart:"] }, "scopes"],
    [{ name: "x", scopes: ["services:restart:a b"] }, "scopes"],
    [{ name: "", scopes: [] }, "name"],
    [{ name: "a\nb", scopes: [] }, "name"],
    [{ name: "x", scopes: [], expires_at: "tomorrow" }, "expires_at"],
    [{ name: "x", scopes: [], client_cert_sha256: "ab".repeat(31) }, "client_cert_sha256"],
    [{ name: "x", scopes: [], client_cert_sha256: `${"ab:".repeat(32)}` }, "client_cert_sha256"],
    [{ name: "x", scopes: [], client_cert_sha256: "xy".repeat(32) }, "client_cert_sha256"],
  ])("refuses %j", async (body, field) => {
    const reply = await post("/auth/keys", service.admin, body);
    expect(reply.json).toMatchObject(errorWith("VALIDATION_ERROR", { field, issue: expect.any(String) }));
  });

  it("have the time of their last use", async () => {
    await service.clock.advance(5_000);
    await whoami(service.admin);
    const { json } = await send(service, { path: "/api/v1/auth/keys", key: service.admin });
    expect(json).toMatchObject({ keys: [{ last_used_at: "2026-01-01T00:00:05.000Z" }] });
  });
});

describe("tokens of API keys", () => {
  it("answers as RFC 6749 has it, with the caller's scopes and an hour to live", async () => {
    const key = service.key(["system:read", "health:read"]);
    const reply = await post("/auth/tokens", key);
    expect(reply.json).toEqual({
      access_token: expect.stringMatching(/^stt_[0-9A-Za-z]{8}_[0-9A-Za-z]{49}$/),
      token_type: "Bearer",
      expires_in: 3600,
      scope: "system:read health:read",
    });
    expect(reply.headers["cache-control"]).toBe("no-store");
    const bearer = { authorization: `Bearer ${token(reply).access_token}` };
    const identity = await send(service, { path: "/api/v1/auth/whoami", headers: bearer });
    expect(identity.json).toMatchObject({
      key_id: key.slice(4, 12),
      credential: "token",
      expires_at: "2026-01-01T01:00:00.000Z",
    });
    await service.clock.advance(3_600_000);
    expect((await send(service, { path: "/api/v1/auth/whoami", headers: bearer })).status).toBe(401);
  });

  it("have fewer scopes than the caller, never more", async () => {
    const key = service.key(["system:read", "services:restart:app-*"]);
    const make = (...wanted: string[]) => post("/auth/tokens", key, { scopes: wanted });
    expect(token(await make("services:restart:app-1.service")).scope).toBe("services:restart:app-1.service");
    expect((await make("health:read")).status).toBe(403);
    const { access_token } = token(await make("system:read"));
    expect((await send(service, { path: "/api/v1/system/info", key: access_token })).status).toBe(200);
    expect((await post("/system/services/app-1/restart", access_token)).status).toBe(403);
  });

  it("do not outlive their key, nor the token that they were made from", async () => {
    const key = service.key([], service.clock.now() + 100_000);
    expect(token(await post("/auth/tokens", key)).expires_in).toBe(100);
    const short = token(await post("/auth/tokens", service.admin, { expires_in: 60 }));
    expect(token(await post("/auth/tokens", short.access_token, { expires_in: 86_400 })).expires_in).toBe(60);
  });

  it("keeps no more than a hundred for each key", async () => {
    const key = service.key([]);
    const first = token(await post("/auth/tokens", key, { expires_in: 600 }));
    for (let count = 0; count < 100; count += 1) await post("/auth/tokens", key);
    expect((await whoami(first.access_token)).status).toBe(401);
    expect((await whoami(key)).status).toBe(200);
  });

  it.each([
    { expires_in: 0 },
    { expires_in: 86_401 },
    { expires_in: 1.5 },
    { expires_in: "60" },
    { scopes: ["nope"] },
    { scope: [] },
  ])("refuses %j", async (body) => {
    expect((await post("/auth/tokens", service.admin, body)).status).toBe(400);
  });
});

it("has every scope in the admin role", () => {
  expect(roles.admin).toEqual(scopes);
});
