import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ConnectorDefinition, ConnectorDiscovery } from "#domain/ports/connectors.ts";
import { ProviderFailed } from "#domain/ports/connectors.ts";
import { createFakeChatProvider, type FakeChatProvider } from "../fakes/chat-provider.ts";
import { createFakeTokenLedger, type FakeTokenLedger } from "../fakes/token-ledger.ts";
import { errorWith, send, settled, startTestService, type TestReply, type TestService } from "./harness.ts";

const messages = [
  { role: "system", content: "Be short." },
  { role: "user", content: "Hello" },
];
const hour = 60 * 60 * 1000;

let service: TestService;
let local: FakeChatProvider;
let far: FakeChatProvider;
let ledger: FakeTokenLedger;
let limits: Record<string, number>;
let limitOfAll: number | undefined;
beforeEach(() => {
  local = createFakeChatProvider();
  far = createFakeChatProvider({ reply: { model: "far-2" } });
  ledger = createFakeTokenLedger();
  limits = {};
  limitOfAll = undefined;
});
afterEach(() => service.app.close());

const define = (
  name: string,
  access: ConnectorDefinition["access"],
  rest: Partial<ConnectorDefinition> = {},
): ConnectorDefinition => ({
  name,
  provider: `${name}'s provider`,
  model: `${name}-1`,
  timeoutMs: 120_000,
  access,
  ...rest,
});

const planOf = (connectors: readonly ConnectorDefinition[], name?: string) => ({
  default: name,
  connectors,
  budgetOf: (key: { readonly id: string; readonly name: string }) => limits[key.name] ?? limitOfAll,
});
const usual = (): readonly ConnectorDefinition[] => [
  define("local", { provider: local }),
  define("far", { provider: far }),
  define("keyless", { missing: "FAR_API_KEY is not set" }),
];

async function start(
  connectors: readonly ConnectorDefinition[] = usual(),
  options: { readonly default?: string; readonly discovery?: ConnectorDiscovery } = {},
): Promise<void> {
  const plan = planOf(connectors, options.default);
  service = await startTestService({
    loadConnectors: () => Promise.resolve({ plan, discovery: options.discovery }),
    tokenLedger: ledger,
  });
  await service.clock.advance(0);
}

const get = (path: string) => send(service, { path: `/api/v1${path}`, key: service.admin });
const post = (path: string, body?: unknown, headers: Readonly<Record<string, string>> = {}, key = service.admin) =>
  send(service, { method: "POST", path: `/api/v1/connectors${path}`, key, body, headers });
const chat = (body: object = {}, headers = {}, key = service.admin) =>
  post("/chat", { messages, ...body }, headers, key);
const metrics = async () => (await send(service, { path: "/metrics", key: service.admin })).text;
const list = async () =>
  (await get("/connectors")).json as {
    default: string | null;
    connectors: { name: string; status: string; last_error: string | null; last_checked_at: string | null }[];
  };
const statusOf = async (name: string) => (await list()).connectors.find((each) => each.name === name);

/** Notes when the provider is called, and when the call is ended early. */
function timed(provider: FakeChatProvider): {
  readonly provider: FakeChatProvider;
  readonly calledAt: number[];
  readonly endedAt: number[];
} {
  const calledAt: number[] = [];
  const endedAt: number[] = [];
  const chatTimed: FakeChatProvider["chat"] = async (call, signal) => {
    calledAt.push(service.clock.monotonicMs());
    const note = (): void => void endedAt.push(service.clock.monotonicMs());
    signal.addEventListener("abort", note);
    return provider.chat(call, signal);
  };
  return { provider: { ...provider, chat: chatTimed }, calledAt, endedAt };
}

/** Moves time on, a bit at a time, until the answer is there. */
async function advanceUntil(reply: Promise<TestReply>, stepMs = 250): Promise<TestReply> {
  let isThere = false;
  void reply.finally(() => {
    isThere = true;
  });
  for (let steps = 0; steps < 2_000 && !isThere; steps += 1) await service.clock.advance(stepMs);
  return reply;
}

const refusal = (status: number | null, rest: Partial<ProviderFailed> = {}): ProviderFailed =>
  new ProviderFailed("the provider said no", {
    failure: status === null ? "unreachable" : "refused",
    status,
    isRetryable: false,
    ...rest,
  });

describe("GET /connectors", () => {
  it("lists connectors with the result of the last probe", async () => {
    far.failNext(refusal(401));
    await start();
    const at = new Date(service.clock.now()).toISOString();
    const connected = { status: "connected", last_checked_at: at, last_error: null };
    expect((await get("/connectors")).json).toEqual({
      default: "local",
      connectors: [
        { name: "local", provider: "local's provider", model: "local-1", ...connected },
        {
          name: "far",
          provider: "far's provider",
          model: "far-1",
          status: "error",
          last_checked_at: at,
          last_error: "the provider said no",
        },
        {
          name: "keyless",
          provider: "keyless's provider",
          model: "keyless-1",
          status: "not_configured",
          last_checked_at: null,
          last_error: "FAR_API_KEY is not set",
        },
      ],
    });
  });

  it("logs changes of status and missing keys", async () => {
    await start();
    const lines = () => service.logLines().filter(({ connector }) => connector !== undefined);
    expect(lines()).toMatchObject([
      { level: "warn", connector: "keyless", status: "not_configured", reason: "FAR_API_KEY is not set" },
      { level: "info", msg: "connector answers" },
      { level: "info", msg: "connector answers" },
    ]);
    local.failNext(refusal(403));
    await service.clock.advance(30_000);
    await service.clock.advance(0);
    expect(lines().slice(3)).toMatchObject([{ level: "warn", connector: "local", status: "error" }]);
    await service.clock.advance(30_000);
    expect(lines().slice(4)).toMatchObject([{ level: "info", connector: "local", msg: "connector answers" }]);
  });

  it("probes every 30 s, except connectors that were used within them", async () => {
    await start();
    expect([local.probes(), far.probes()]).toEqual([1, 1]);
    await service.clock.advance(20_000);
    await chat();
    await service.clock.advance(10_000);
    expect([local.probes(), far.probes()]).toEqual([1, 2]);
    await service.clock.advance(30_000);
    expect([local.probes(), far.probes()]).toEqual([2, 3]);
  });

  it("gives up a probe after 10 s, and starts no second one beside it", async () => {
    await start();
    const release = far.hold();
    await service.clock.advance(30_000);
    expect(far.probes()).toBe(2);
    await service.clock.advance(9_999);
    expect(await statusOf("far")).toMatchObject({ status: "connected" });
    await service.clock.advance(1);
    expect(await statusOf("far")).toMatchObject({ status: "disconnected", last_error: "no answer within 10 s" });
    expect(far.aborted()).toBe(1);
    release();
    await service.clock.advance(20_000);
    expect(await statusOf("far")).toMatchObject({ status: "connected", last_error: null });
  });

  it("updates the status by calls, except by refusals of a single call", async () => {
    await start();
    local.failNext(refusal(null));
    await chat();
    expect(await statusOf("local")).toMatchObject({ status: "disconnected", last_error: "the provider said no" });
    await chat();
    expect(await statusOf("local")).toMatchObject({ status: "connected", last_error: null });
    local.failNext(refusal(400));
    expect((await chat()).status).toBe(503);
    expect(await statusOf("local")).toMatchObject({ status: "connected" });
    local.failNext(refusal(500));
    await chat();
    expect(await statusOf("local")).toMatchObject({ status: "error" });
  });

  it("lists discovered connectors behind configured ones, as long as they are found", async () => {
    let found: readonly ConnectorDefinition[] = [
      define("found", { provider: far }),
      define("local", { provider: far }),
    ];
    const discovery = { find: () => Promise.resolve(found) };
    await start([define("local", { provider: local })], { discovery });
    expect((await list()).connectors.map(({ name, status }) => [name, status])).toEqual([
      ["local", "connected"],
      ["found", "connected"],
    ]);
    found = [];
    await service.clock.advance(30_000);
    expect((await list()).connectors.map(({ name }) => name)).toEqual(["local"]);
  });

  it("answers although discovery hangs or fails", async () => {
    let finds = (): Promise<readonly ConnectorDefinition[]> => new Promise(() => undefined);
    await start(usual(), { discovery: { find: () => finds() } });
    const reply = await advanceUntil(get("/connectors"));
    expect(reply.json).toMatchObject({ default: "local" });
    finds = () => Promise.reject(new Error("broken"));
    await service.clock.advance(60_000);
    expect(await statusOf("local")).toMatchObject({ status: "connected" });
  });

  it("never uses another connector in place of a missing default", async () => {
    let found: readonly ConnectorDefinition[] = [];
    const discovery = { find: () => Promise.resolve(found) };
    await start(usual(), { default: "ollama", discovery });
    expect((await list()).default).toBeNull();
    expect((await chat()).json).toMatchObject(
      errorWith("UNAVAILABLE", { connector: "ollama", provider_status: null, retryable: true }),
    );
    expect((await get("/health")).json).toMatchObject({ status: "degraded", components: { llm: false } });
    found = [define("ollama", { provider: local })];
    await service.clock.advance(30_000);
    expect((await list()).default).toBe("ollama");
    expect((await chat()).json).toMatchObject({ connector: "ollama" });
  });
});

describe("components.llm", () => {
  const health = async () => (await get("/health")).json;

  it("is false where no connector is configured, which alone degrades nothing", async () => {
    await start([]);
    expect(await health()).toMatchObject({ status: "healthy", components: { llm: false } });
    await service.app.close();
    await start([define("keyless", { missing: "no key" })]);
    expect(await health()).toMatchObject({ status: "healthy", components: { llm: false } });
  });

  it("waits at the start for the first answer of the model", async () => {
    const held = local.hold();
    await start();
    const first = health();
    held();
    expect(await first).toMatchObject({ status: "healthy", components: { llm: true } });
  });

  it("does not wait at the start for a model that does not answer", async () => {
    local.hold();
    await start();
    expect(await advanceUntil(get("/health"))).toMatchObject({ status: 200, json: { components: { llm: false } } });
  });

  it("follows the status of the default connector at once", async () => {
    await start();
    expect(await health()).toMatchObject({ status: "healthy", components: { llm: true } });
    local.failNext(refusal(null));
    await chat();
    await service.clock.advance(0);
    expect(await health()).toMatchObject({ status: "degraded", components: { llm: false } });
    await service.clock.advance(60_000);
    expect(await health()).toMatchObject({ status: "healthy", components: { llm: true } });
    far.failNext(refusal(null));
    await chat({ connector: "far" });
    expect(await health()).toMatchObject({ status: "healthy", components: { llm: true } });
  });
});

describe("POST /connectors/{name}/test", () => {
  it("says whether the provider would answer, and updates the status", async () => {
    await start();
    expect((await post("/local/test")).json).toEqual({
      success: true,
      message: "local's provider would answer with local-1",
      latency_ms: 0,
    });
    far.failNext(refusal(403));
    const refused = await post("/far/test");
    expect(refused.status).toBe(200);
    expect(refused.json).toEqual({ success: false, message: "the provider said no", latency_ms: 0 });
    expect(await statusOf("far")).toMatchObject({ status: "error" });
  });

  it("reports a missing key without asking the provider", async () => {
    await start();
    const reply = await post("/keyless/test");
    expect(reply.json).toMatchObject({ success: false, message: "not configured: FAR_API_KEY is not set" });
    expect(await statusOf("keyless")).toMatchObject({ status: "not_configured", last_checked_at: null });
  });

  it("gives up after 10 s", async () => {
    await start();
    local.hold();
    const reply = await advanceUntil(post("/local/test"));
    expect(reply.json).toEqual({ success: false, message: "no answer within 10 s", latency_ms: 10_000 });
  });

  it("is planned without asking the provider", async () => {
    await start();
    const probes = local.probes();
    const reply = await post("/local/test?dry_run=true");
    expect(reply.json).toMatchObject({
      dry_run: true,
      steps: ["ask connector local (local's provider, model local-1) whether it would answer"],
    });
    expect(local.probes()).toBe(probes);
  });
});

describe("POST /connectors/chat", () => {
  it("passes the call on and answers with what the model says", async () => {
    await start();
    const reply = await chat({ max_tokens: 50, temperature: 0.5 });
    expect(reply.status).toBe(200);
    expect(reply.json).toEqual({
      content: "Hello to you too",
      model: "fake-1",
      usage: { input_tokens: 3, output_tokens: 4 },
      connector: "local",
      finish_reason: "stop",
      warnings: [],
    });
    expect(local.calls).toEqual([{ messages, maxTokens: 50, temperature: 0.5 }]);
    expect((await chat({ connector: "far" })).json).toMatchObject({ connector: "far", model: "far-2" });
  });

  it("estimates token counts that the provider does not report", async () => {
    local = createFakeChatProvider({ reply: { usage: { inputTokens: null, outputTokens: 7 } } });
    await start();
    // Four for each message, and one for each four bytes started.
    expect((await chat()).json).toMatchObject({ usage: { input_tokens: 13, output_tokens: 7, estimated: true } });
  });

  it.each([
    ["no body", undefined, "messages", "Required field missing"],
    ["no messages, whatever else is wrong", { connector: 5, nonsense: 1 }, "messages", "Required field missing"],
  ])("refuses %s before faults of the query", async (_, body, field, issue) => {
    await start();
    const reply = await post("/chat?dry_run=perhaps", body);
    // The query is wrong too: what the body lacks is reported first.
    expect(reply.status).toBe(400);
    expect(reply.json).toMatchObject({ error: { details: { field, ...(issue !== undefined && { issue }) } } });
    expect(local.calls).toEqual([]);
  });

  it("checks scope, existence and configuration in this order", async () => {
    await start();
    const key = service.key(["connectors:chat:keyless"]);
    const details = async (body: object) => (await chat(body, {}, key)).json;
    expect(await details({ connector: "far" })).toMatchObject(
      errorWith("FORBIDDEN", { required_scope: "connectors:chat:far" }),
    );
    // The default is not for this key either, and what does not exist shows no more than what does.
    expect(await details({})).toMatchObject({ error: { details: { required_scope: "connectors:chat:local" } } });
    expect(await details({ connector: "nobody" })).toMatchObject({ error: { code: "FORBIDDEN" } });
    expect((await chat({ connector: "nobody" })).json).toMatchObject({ error: { code: "NOT_FOUND" } });
    expect(await details({ connector: "keyless" })).toMatchObject({
      error: {
        code: "UNAVAILABLE",
        message: "cannot use connector keyless: it is not configured (FAR_API_KEY is not set)",
        details: { connector: "keyless", provider_status: null, retryable: false },
      },
    });
    expect((await post("/chat?dry_run=true", { messages, connector: "keyless" }, {}, key)).status).toBe(503);
  });

  it("is planned without asking the provider", async () => {
    await start();
    const reply = await post("/chat?dry_run=true", { messages, stream: true });
    expect(reply.json).toEqual({
      dry_run: true,
      steps: ["send 2 messages to connector local (local's provider, model local-1)"],
      units: [],
      packages: [],
      bytes: 0,
      requires_reboot: false,
      plan_token: expect.any(String),
      plan_expires_at: expect.any(String),
    });
    expect(local.calls).toEqual([]);
  });

  it("reports how the provider failed", async () => {
    await start();
    local.failNext(refusal(401));
    expect((await chat()).json).toEqual({
      error: {
        code: "UNAVAILABLE",
        message: "cannot get an answer from connector local: the provider said no",
        details: { connector: "local", provider_status: 401, retryable: false },
      },
    });
    expect(local.calls).toHaveLength(1);
  });

  it("retries twice with growing pauses where the provider allows it", async () => {
    const { provider, calledAt } = timed(local);
    await start([define("local", { provider })]);
    for (const status of [503, 429]) local.failNext(refusal(status, { isRetryable: true }));
    const reply = await advanceUntil(chat());
    expect(reply.json).toMatchObject({ content: "Hello to you too" });
    expect(calledAt.map((at) => at - (calledAt[0] ?? 0))).toEqual([0, 500, 1_500]);
    for (let count = 0; count < 3; count += 1) local.failNext(refusal(503, { isRetryable: true }));
    const failed = await advanceUntil(chat());
    expect(failed.json).toMatchObject({ error: { details: { provider_status: 503, retryable: true } } });
    expect(local.calls).toHaveLength(6);
  });

  it("waits as long as the provider asks for, within the time limit", async () => {
    const { provider, calledAt } = timed(local);
    await start([define("local", { provider })]);
    local.failNext(refusal(429, { isRetryable: true, retryAfterMs: 20_000 }));
    expect((await advanceUntil(chat())).status).toBe(200);
    expect(calledAt.map((at) => at - (calledAt[0] ?? 0))).toEqual([0, 20_000]);
    local.failNext(refusal(429, { isRetryable: true, retryAfterMs: 120_000 }));
    const refused = await chat();
    expect(refused.headers["retry-after"]).toBe("120");
    expect(refused.json).toMatchObject({ error: { details: { retryable: true, retry_after_seconds: 120 } } });
  });

  it("ends at the time limit with all retries, and ends the call of the provider", async () => {
    const { provider, calledAt, endedAt } = timed(local);
    await start([define("local", { provider }, { timeoutMs: 5_000 })]);
    local.failNext(refusal(503, { isRetryable: true }));
    local.hold();
    const reply = await advanceUntil(chat());
    expect(reply.status).toBe(503);
    expect(reply.json).toMatchObject({
      error: {
        message: "cannot get an answer from connector local: no answer within 5 s",
        details: { connector: "local", provider_status: null, retryable: true },
      },
    });
    const [first = 0, second] = calledAt;
    expect([second, endedAt.at(-1), local.aborted()]).toEqual([first + 500, first + 5_000, 1]);
  });

  it("ends at the time limit although the provider ignores its signal", async () => {
    const deaf = { ...local, chat: () => new Promise<never>(() => undefined) };
    await start([define("local", { provider: deaf }, { timeoutMs: 5_000 })]);
    expect((await advanceUntil(chat())).json).toMatchObject({ error: { code: "UNAVAILABLE" } });
  });

  it("audits the connector, and none of the messages", async () => {
    await start();
    await chat();
    const entries = service.audit.entries.filter(({ operation }) => operation === "chat");
    expect(entries).toMatchObject([{ target: { connector: "local" }, status: 200, client_gone: false }]);
    expect(JSON.stringify([service.audit.entries, service.logLines()])).not.toContain("Hello");
  });
});

describe("a budget of tokens", () => {
  const spend = (key: string, body = {}) => chat(body, {}, key);

  it("ends with the day in UTC, and the answer says when", async () => {
    limits = { test: 10 };
    await start();
    await service.clock.advance(22 * hour);
    const key = service.key(["connectors:chat"]);
    const first = await spend(key);
    expect(first.status).toBe(200);
    expect(first.headers["ratelimit-policy"]).toBe('"tokens";q=10;w=86400');
    expect(first.headers["ratelimit"]).toBe('"tokens";r=10;t=7200');
    expect((await spend(key)).headers["ratelimit"]).toBe('"tokens";r=3;t=7200');
    const refused = await spend(key);
    expect(refused.status).toBe(429);
    expect(refused.headers["retry-after"]).toBe("7200");
    expect(refused.headers["ratelimit"]).toBe('"tokens";r=0;t=7200');
    expect(refused.json).toMatchObject(
      errorWith("RATE_LIMITED", { limit: 10, used: 14, window_seconds: 86_400, retry_after_seconds: 7_200 }),
    );
    expect(local.calls).toHaveLength(2);
    await service.clock.advance(2 * hour);
    expect((await spend(key)).status).toBe(200);
  });

  it("is in the headers beside the limits of requests", async () => {
    limitOfAll = 100;
    const plan = planOf(usual());
    service = await startTestService({
      loadConnectors: () => Promise.resolve({ plan, discovery: undefined }),
      rateLimits: { perMinute: 5, perHour: 50 },
    });
    const { headers } = await chat();
    expect(headers["ratelimit-policy"]).toBe('"permin";q=5;w=60, "perhour";q=50;w=3600, "tokens";q=100;w=86400');
    expect(headers["ratelimit"]).toBe('"permin";r=4;t=60, "tokens";r=100;t=86400');
    expect(headers["x-ratelimit-limit"]).toBe("5");
  });

  it("is separate for each key", async () => {
    limitOfAll = 5;
    await start();
    const [one, other] = [service.key(["connectors:chat"]), service.key(["connectors:chat"])];
    expect([(await spend(one)).status, (await spend(one)).status, (await spend(other)).status]).toEqual([
      200, 429, 200,
    ]);
  });

  it("is still spent after a restart, and where the ledger could not be written", async () => {
    limitOfAll = 10;
    await start();
    const { admin } = service;
    const id = admin.slice(4, 12);
    await chat();
    expect(ledger.used(id, "2026-01-01")).toBe(7);
    const { add } = ledger;
    ledger = Object.assign(ledger, {
      add: () => {
        throw new Error("no space left");
      },
    });
    expect((await chat()).status).toBe(200);
    expect((await chat()).status).toBe(429);
    expect(service.logLines()).toContainEqual(
      expect.objectContaining({ level: "error", msg: "cannot write token usage" }),
    );
    Object.assign(ledger, { add });
  });

  it("refuses keys with a budget while the ledger cannot be read, and no others", async () => {
    limits = { test: 10 };
    await start();
    const key = service.key(["connectors:chat"]);
    ledger.fault = new Error("disk I/O error");
    const free = service.service.keyring.create({ name: "free", scopes: ["connectors:chat"], expiresAt: null }).text;
    expect((await spend(key)).status).toBe(500);
    expect((await spend(free)).status).toBe(200);
    expect(local.calls).toHaveLength(1);
    ledger.fault = undefined;
    expect((await spend(key)).status).toBe(200);
  });

  it("counts a call that was cut off, and none that was refused", async () => {
    limitOfAll = 20;
    await start([define("local", { provider: local }, { timeoutMs: 1_000 })]);
    local.failNext(refusal(401));
    await chat();
    const id = service.admin.slice(4, 12);
    expect(ledger.used(id, "2026-01-01")).toBe(0);
    local.hold();
    await advanceUntil(chat());
    expect(ledger.used(id, "2026-01-01")).toBe(13);
  });
});

describe("metrics", () => {
  it("count requests, tokens and time by connector", async () => {
    await start();
    await chat();
    await chat();
    local.failNext(refusal(401));
    await chat();
    await chat({ connector: "nobody" });
    const text = await metrics();
    expect(text).toContain('svc_llm_requests_total{connector="local",result="success"} 2');
    expect(text).toContain('svc_llm_requests_total{connector="local",result="refused"} 1');
    expect(text).toContain('svc_llm_tokens_total{connector="local",direction="input"} 6');
    expect(text).toContain('svc_llm_tokens_total{connector="local",direction="output"} 8');
    expect(text).toContain('svc_llm_request_duration_seconds_count{connector="local"} 3');
    expect(text).not.toContain("nobody");
  });
});

describe("connectors that a reload replaces", () => {
  it("keep their status where they stay, and are probed at once", async () => {
    await start();
    const held = local.hold();
    const fresh = createFakeChatProvider();
    const next = [
      define("local", { provider: local }),
      define("fresh", { provider: fresh }),
      define("far", { missing: "gone" }),
    ];
    service.service.replaceConnectors({ plan: planOf(next, "fresh"), discovery: undefined });
    expect((await list()).connectors.map(({ name, status }) => [name, status])).toEqual([
      ["local", "connected"],
      ["fresh", "disconnected"],
      ["far", "not_configured"],
    ]);
    held();
    await service.clock.advance(0);
    expect(await list()).toMatchObject({ default: "fresh", connectors: [{}, { status: "connected" }, {}] });
    expect((await chat()).json).toMatchObject({ connector: "fresh" });
    expect((await get("/health")).json).toMatchObject({ components: { llm: true } });
  });

  it("let a call in flight end", async () => {
    await start();
    const release = local.hold();
    const pending = chat();
    await settled(service, () => local.calls.length === 1);
    service.service.replaceConnectors({ plan: planOf([]), discovery: undefined });
    release();
    expect((await pending).json).toMatchObject({ connector: "local" });
    expect(await list()).toEqual({ default: null, connectors: [] });
  });
});
