import type { Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { operations } from "#contract/index.ts";
import { scopes } from "#contract/scopes.ts";
import { isTool } from "#transports/mcp/tools.ts";
import { createFakeUnits } from "../fakes/units.ts";
import { messageOf, send, startTestService, type TestService } from "./harness.ts";
import { type McpResult, mcpClient, revisions } from "./mcp-client.ts";

const errorOf = ({ structuredContent }: McpResult) =>
  (structuredContent?.["error"] ?? {}) as { code?: string; message?: string; details?: Record<string, unknown> };

describe.each(revisions)("MCP of %s", (_, revision) => {
  let service: TestService;
  beforeEach(async () => {
    service = await startTestService({ rateLimits: { perMinute: 100, perHour: 1000 } });
  });
  afterEach(() => service.app.close());
  const open = (granted: readonly string[], toolsets?: string) =>
    mcpClient(service, { "x-api-key": service.key([...granted]) }, revision, toolsets);

  it("lists the tools that the key may use, and by default not all", async () => {
    const few = await open(["health:read", "services:restart:cron.service", "propose:updates:apply"]);
    const { tools } = await few.client.listTools();
    const names = tools.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(["listChecks", "restartService", "applyUpdates", "whoami"]));
    expect(names).not.toEqual(expect.arrayContaining(["listLogs"]));
    const whole = await open(scopes, "default");
    const { tools: usual } = await whole.client.listTools();
    expect(usual.length).toBeLessThanOrEqual(24);
    expect(JSON.stringify(usual).length).toBeLessThanOrEqual(24 * 1024);
    const hintsOf = (name: string) => usual.find((each) => each.name === name)?.annotations;
    expect(hintsOf("listLogs")).toMatchObject({ readOnlyHint: true, destructiveHint: false });
    expect(hintsOf("rollback")).toMatchObject({ readOnlyHint: false, destructiveHint: true });
  });

  it("answers a read as the API does, as structure and as text", async () => {
    const { call } = await open(["system:read", "logs:read"]);
    const answer = await call("getService", { name: "cron" });
    const { json } = await send(service, {
      path: "/api/v1/system/services/cron",
      key: service.key(["system:read", "logs:read"]),
    });
    expect(answer.isError).toBeUndefined();
    expect(answer.structuredContent).toEqual(json);
    expect(JSON.parse(answer.content[0]?.text ?? "")).toEqual(json);
  });

  it("names what is wrong with arguments, and keeps a path in its place", async () => {
    const { call } = await open(scopes);
    expect(errorOf(await call("listLogs", { limit: 0, colour: "red" }))).toMatchObject({
      code: "VALIDATION_ERROR",
      details: { faults: [{ field: "colour" }, { field: "limit" }] },
    });
    for (const name of ["..", ".", ""])
      expect(errorOf(await call("getService", { name })).code).toBe("VALIDATION_ERROR");
    expect(errorOf(await call("getService", { name: "../../health" })).code).toMatch(/VALIDATION_ERROR|NOT_FOUND/);
    for (const name of ["\ud800", { a: 1 }, ["cron"], null])
      expect(errorOf(await call("getService", { name })).details).toMatchObject({ field: "name" });
    expect((await call("listServices", { state: null })).isError).toBeUndefined();
    expect(errorOf(await call("stopService", { name: "cron", plan_token: "mine" }))).toMatchObject({
      message: "cannot accept plan_token: must be the plan_token of a dry run",
      details: { field: "plan_token" },
    });
    await expect(call("createKey", { name: "mine", scopes: ["admin"] })).rejects.toThrow("there is no tool createKey");
  });

  it("refuses with the sentence of the gate, and has both in the audit log with the client", async () => {
    const { call } = await open(["services:restart:cron.service"]);
    expect(errorOf(await call("restartService", { name: "masked" }))).toMatchObject({ code: "FORBIDDEN" });
    const done = await call("restartService", { name: "cron", stated_reason: "it hangs" });
    expect(done.structuredContent).toMatchObject({ success: true });
    const via = { via: "mcp", ...(revision === "legacy" ? {} : { client: "probe 1.2" }) };
    expect(service.audit.entries.slice(-2)).toMatchObject([
      { operation: "restartService", outcome: "refused", target: { name: "masked", ...via } },
      { operation: "restartService", outcome: "ok", target: { name: "cron", stated_reason: "it hangs", ...via } },
    ]);
  });

  it("carries out what is dangerous only by the token of its plan, once", async () => {
    const { call } = await open(scopes);
    const refused = errorOf(await call("stopService", { name: "cron" }));
    expect(refused).toMatchObject({ code: "CONFLICT", details: { reason: "plan_required", plan: { dry_run: true } } });
    const plan = (await call("stopService", { name: "cron", dry_run: true })).structuredContent;
    const token = { plan_token: plan?.["plan_token"] };
    expect(errorOf(await call("stopService", { name: "masked", ...token })).details).toMatchObject({
      reason: "plan_mismatch",
    });
    expect((await call("stopService", { name: "cron", ...token })).structuredContent).toMatchObject({ success: true });
    expect(errorOf(await call("stopService", { name: "cron", ...token })).details).toMatchObject({
      reason: "plan_used",
    });
  });

  it("parks what the key may only propose, with the address at which a person decides", async () => {
    const { call } = await open(["propose:services:restart"]);
    const stated = { stated_reason: " hängt seit\u202e 8 Uhr:\n重启 " };
    const { structuredContent } = await call("restartService", { name: "cron", ...stated });
    expect(structuredContent).toMatchObject({ status: "pending", reason: "hängt seit 8 Uhr: 重启" });
    expect(service.audit.entries.at(-1)?.target).toMatchObject({ stated_reason: "hängt seit 8 Uhr: 重启" });
    expect(errorOf(await call("restartService", { name: "cron", stated_reason: 7 })).message).toContain(
      "stated_reason",
    );
    expect(structuredContent?.["url"]).toBe(`/console/approvals?id=${String(structuredContent?.["id"])}`);
    expect(service.units.actions).toEqual([]);
  });

  it("does once what is repeated with the same idempotency key, whose plan was used", async () => {
    const { call } = await open(["services:stop", "services:restart", "system:read"]);
    const named = { name: "cron", idempotency_key: "restart-1" };
    const first = await call("restartService", named);
    expect((await call("restartService", named)).structuredContent).toEqual(first.structuredContent);
    const { plan_token } = (await call("stopService", { name: "cron", dry_run: true })).structuredContent ?? {};
    const planned = { name: "cron", plan_token, idempotency_key: "stop-1" };
    for (let times = 0; times < 2; times += 1)
      expect((await call("stopService", planned)).structuredContent).toMatchObject({ success: true });
    expect(service.units.actions).toEqual(["restart cron.service", "stop cron.service"]);
    const other = errorOf(await call("restartService", { ...named, name: "masked" }));
    expect(other).toMatchObject({ code: "VALIDATION_ERROR", message: expect.stringContaining("dempotency") });
    expect(errorOf(await call("restartService", { ...named, idempotency_key: "ä" })).message).toContain(
      "idempotency_key",
    );
    expect(errorOf(await call("listServices", { idempotency_key: "1" })).message).toContain("idempotency_key");
  });

  it("leaves out secrets and what a person would not see, and refuses what is too long", async () => {
    const said = "\u001b[31mpassword=hunter2hunter2 \u202eevil\u200b\u{e0041} ok";
    const now = service.clock.now() * 1000;
    service.journal.write({ message: said, unit: "small.service", time: now - 2000 });
    service.journal.write({ message: "a line ".repeat(10_000), time: now - 1000 });
    const { call } = await open(["logs:read"]);
    const short = await call("listLogs", { unit: "small" });
    expect(JSON.stringify(short.structuredContent)).toContain("password=[redacted] evil ok");
    const long = errorOf(await call("listLogs", { limit: 10 }));
    expect(long.message).toMatch(/^the answer has \d+ bytes, and a tool answers 65536 at most/);
  });

  it("has checks, services and log entries as resources, prompts, and completes unit names", async () => {
    const { client } = await open(scopes);
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toContain("steward://checks/{id}");
    const read = await client.readResource({ uri: "steward://checks/plain" });
    expect(JSON.stringify(read.contents)).toContain("plain");
    await expect(client.readResource({ uri: "steward://checks/nothing" })).rejects.toThrow();
    for (const uri of ["file:///etc/shadow", "steward://services/..", "steward://services/%zz"])
      await expect(client.readResource({ uri })).rejects.toThrow("there is no resource");
    const { prompts } = await client.listPrompts();
    expect(prompts.map(({ name }) => name)).toEqual(["diagnose-unit", "what-changed", "review-updates"]);
    const prompt = await client.getPrompt({ name: "diagnose-unit", arguments: { unit: "cron.service" } });
    expect(JSON.stringify(prompt.messages)).toContain("why cron.service does not do its work");
    await expect(client.getPrompt({ name: "diagnose-unit", arguments: { unit: "a\nb" } })).rejects.toThrow("printable");
    const ref = { type: "ref/prompt", name: "diagnose-unit" } as const;
    const { completion } = await client.complete({ ref, argument: { name: "unit", value: "cro" } });
    expect(completion.values).toEqual(["cron.service"]);
  });

  it("counts a tool call as one request of the key", async () => {
    const key = service.key(["system:read"]);
    const left = async () => {
      const { headers } = await send(service, { path: "/api/v1/auth/whoami", key });
      return Number(headers["x-ratelimit-remaining"]);
    };
    const { call, statuses } = await mcpClient(service, { "x-api-key": key }, revision);
    const before = await left();
    const sent = statuses.length;
    await call("getSystemInfo");
    // The last look counts itself.
    expect([before - (await left()) - 1, statuses.length - sent]).toEqual([1, 1]);
  });
});

const headers = { accept: "application/json, text/event-stream" };

describe("the endpoint of MCP", () => {
  it("refuses a caller without a key, an unknown set and an unknown parameter", async () => {
    const service = await startTestService();
    const post = (path: string, key?: string) =>
      send(service, {
        method: "POST",
        path,
        headers,
        body: { jsonrpc: "2.0", id: 1, method: "ping" },
        ...(key && { key }),
      });
    expect((await post("/api/v1/mcp")).status).toBe(401);
    expect((await post("/api/v1/mcp?toolsets=nothing", service.admin)).status).toBe(400);
    expect((await post("/api/v1/mcp?tools=all", service.admin)).status).toBe(400);
    expect((await post("/api/v1/mcp?toolsets=all&toolsets=health", service.admin)).status).toBe(200);
    await service.app.close();
  });

  it("refuses a batch, of which each call would be one more than the limits of the key allow", async () => {
    const service = await startTestService();
    const body = [1, 2].map((id) => ({ jsonrpc: "2.0", id, method: "tools/call", params: { name: "getSystemInfo" } }));
    const reply = await send(service, { method: "POST", path: "/api/v1/mcp", key: service.admin, headers, body });
    expect(reply.status).toBe(400);
    expect(messageOf(reply)).toBe("cannot accept a batch: send each message in a request of its own");
    await service.app.close();
  });

  it("answers a notification without a body, and what is nested too deep with an error of the protocol", async () => {
    const service = await startTestService();
    const post = (text: string) =>
      send(service, { method: "POST", path: "/api/v1/mcp", key: service.admin, headers, text });
    const reported = await post('{"jsonrpc":"2.0","method":"notifications/initialized"}');
    expect([reported.status, reported.text]).toEqual([202, ""]);
    const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
    const given = `{"name":"getService","arguments":{"name":${deep}}}`;
    const { status, text } = await post(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":${given}}`);
    expect([status, text]).toEqual([200, expect.stringContaining('"id":7')]);
    await service.app.close();
  });

  it("lets a call take longer than a connection may be idle", async () => {
    const units = createFakeUnits([{ name: "cron.service" }]);
    const { promise: started, resolve: begins } = Promise.withResolvers<void>();
    const { promise: over, resolve: end } = Promise.withResolvers<void>();
    const restart: typeof units.restart = async (name, signal) => {
      begins();
      await over;
      return units.restart(name, signal);
    };
    const service = await startTestService({ units: { ...units, restart } });
    const sockets: Socket[] = [];
    service.app.server.on("connection", (socket: Socket) => sockets.push(socket));
    const url = await service.app.listen({ host: "127.0.0.1", port: 0 });
    const params = { name: "restartService", arguments: { name: "cron" } };
    const answer = fetch(`${url}/api/v1/mcp`, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json", "x-api-key": service.admin },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
    });
    await started;
    expect(sockets.map(({ timeout }) => timeout)).toEqual([0]);
    end();
    expect(await (await answer).text()).toContain("cron.service restarted");
    await service.app.close();
  });

  it("offers nothing that makes, shows or ends a credential, and no approval", () => {
    const offered = Object.entries(operations).filter(([name, row]) => isTool(name, row));
    const own = offered.filter(([, { tag }]) => tag === "Access").map(([name]) => name);
    expect(own.sort()).toEqual(["canI", "cancelApproval", "getApproval", "listApprovals", "listAudit", "whoami"]);
  });
});
