import { getEventListeners } from "node:events";
import { Agent, request } from "node:http";
import { connect, type Socket } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { streamChat } from "#client/chat.ts";
import type { ChatPart, ChatProvider } from "#domain/ports/connectors.ts";
import { ProviderFailed } from "#domain/ports/connectors.ts";
import { createFakeChatProvider, type FakeChatProvider } from "../fakes/chat-provider.ts";
import { createFakeTokenLedger, type FakeTokenLedger } from "../fakes/token-ledger.ts";
import { errorWith, eventsIn, send, startTestService, type TestService, turns, turnsUntil } from "./harness.ts";

const messages = [{ role: "user" as const, content: "Hello" }];
const path = "/api/v1/connectors/chat";
const day = "2026-01-01";

let service: TestService;
let url: string;
let local: FakeChatProvider;
let ledger: FakeTokenLedger;
let limit: number | undefined;
beforeEach(() => {
  local = createFakeChatProvider({ pieces: ["Hello ", "to ", "you"] });
  ledger = createFakeTokenLedger();
  limit = undefined;
});
afterEach(() => {
  service.service.cut();
  return service.app.close();
});

async function start(provider: ChatProvider = local, timeoutMs = 120_000): Promise<void> {
  const definition = { name: "local", provider: "Fake", model: "fake-1", access: { provider }, timeoutMs };
  const plan = { default: undefined, connectors: [definition], budgetOf: () => limit };
  service = await startTestService({
    loadConnectors: () => Promise.resolve({ plan, discovery: undefined }),
    tokenLedger: ledger,
  });
  url = await service.app.listen({ port: 0, host: "127.0.0.1" });
  await service.clock.advance(0);
}

const open = (headers: Readonly<Record<string, string>> = {}, signal?: AbortSignal): Promise<Response> =>
  fetch(`${url}${path}`, {
    method: "POST",
    headers: { "X-API-Key": service.admin, "Content-Type": "application/json", ...headers },
    body: JSON.stringify({ messages, stream: true }),
    ...(signal && { signal }),
  });

const keyId = (): string => service.admin.slice(4, 12);
const refused = new ProviderFailed("the provider said no", { failure: "refused", status: 500, isRetryable: false });
const isOfChat = ({ operation }: { readonly operation: string }): boolean => operation === "chat";
const entries = () => service.audit.entries.filter(isOfChat);
const requestLines = () => service.logLines().filter(({ msg, endpoint }) => msg === "request" && endpoint === path);
const metrics = async () => (await send(service, { path: "/metrics", key: service.admin })).text;

describe("an answer in pieces", () => {
  it("has deltas and then the answer without its text", async () => {
    await start();
    const response = await open();
    expect(response.status).toBe(200);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "text/event-stream",
      "cache-control": "no-store",
      "x-accel-buffering": "no",
      "x-request-id": expect.any(String),
    });
    expect(eventsIn(await response.text())).toEqual([
      { event: "delta", data: { content: "Hello " } },
      { event: "delta", data: { content: "to " } },
      { event: "delta", data: { content: "you" } },
      {
        event: "done",
        data: {
          content: "",
          model: "fake-1",
          usage: { input_tokens: 3, output_tokens: 4 },
          connector: "local",
          finish_reason: "stop",
          warnings: [],
        },
      },
    ]);
    expect(ledger.used(keyId(), day)).toBe(7);
  });

  it("that never begins is an ordinary error", async () => {
    await start();
    local.failNext(refused);
    const response = await open();
    expect([response.status, response.headers.get("content-type")]).toEqual([503, "application/json; charset=utf-8"]);
    expect(await response.json()).toMatchObject(
      errorWith("UNAVAILABLE", { connector: "local", provider_status: 500, retryable: false }),
    );
    limit = 1;
    await (await open()).text();
    const over = await open();
    expect([over.status, over.headers.get("retry-after")]).toEqual([429, "86400"]);
    await over.text();
  });

  it("is retried only before its first piece is sent", async () => {
    const again = new ProviderFailed("busy", { failure: "refused", status: 503, isRetryable: true });
    let attempts = 0;
    async function* stream(): AsyncGenerator<ChatPart> {
      attempts += 1;
      await turn();
      if (attempts === 1) throw again;
      yield { kind: "text", text: "Hel" };
      throw again;
    }
    await start({ ...local, stream });
    const pending = open();
    await turnsUntil(() => attempts === 1);
    for (let steps = 0; steps < 100 && attempts === 1; steps += 1) await service.clock.advance(500);
    expect(eventsIn(await (await pending).text())).toMatchObject([
      { event: "delta", data: { content: "Hel" } },
      { event: "error", data: errorWith("UNAVAILABLE", { provider_status: 503, retryable: true }) },
    ]);
    expect(attempts).toBe(2);
    // One attempt of which nobody knows is not counted, what came of the other one is.
    expect(ledger.used(keyId(), day)).toBe(7);
    expect(await metrics()).toContain('svc_llm_requests_total{connector="local",result="refused"} 1');
  });

  it("ends with an error where the provider stops in the middle, or fails unexpectedly", async () => {
    let fault: Error | undefined;
    async function* stream(): AsyncGenerator<ChatPart> {
      await turn();
      yield { kind: "text", text: "Hel" };
      if (fault !== undefined) throw fault;
    }
    await start({ ...local, stream });
    expect(eventsIn(await (await open()).text()).at(-1)).toMatchObject({
      event: "error",
      data: { error: { message: "cannot get an answer from connector local: the answer broke off" } },
    });
    fault = new TypeError("secret-in-a-message");
    const text = await (await open()).text();
    expect(eventsIn(text).at(-1)).toMatchObject({ event: "error", data: { error: { code: "INTERNAL_ERROR" } } });
    expect(text).not.toContain("secret-in-a-message");
  });

  it("sends a comment every 15 s while nothing comes", async () => {
    await start();
    const release = local.hold(1);
    const response = await open();
    const body = response.text();
    for (let count = 0; count < 3; count += 1) {
      await service.clock.advance(15_000);
      await turn();
    }
    release();
    const text = await body;
    expect(text.match(/^:$/gm)).toHaveLength(3);
    expect(eventsIn(text).map(({ event }) => event)).toEqual(["delta", "delta", "delta", "done"]);
  });

  it("ends at the time limit", async () => {
    await start(local, 20_000);
    local.hold(1);
    const response = await open();
    const body = response.text();
    await service.clock.advance(20_000);
    expect(eventsIn(await body).at(-1)).toMatchObject({
      event: "error",
      data: { error: { message: "cannot get an answer from connector local: no answer within 20 s" } },
    });
    expect(local.aborted()).toBe(1);
  });

  it("ends with an error when the service stops, and its connection with it", async () => {
    await start();
    local.hold(1);
    const response = await open();
    service.service.drain();
    const closed = service.app.close();
    service.service.abort();
    expect(eventsIn(await response.text()).at(-1)).toMatchObject({
      event: "error",
      data: errorWith("UNAVAILABLE", { connector: "local", retryable: true }),
    });
    await closed;
    expect(local.aborted()).toBe(1);
    expect(entries()).toHaveLength(1);
  });
});

describe("the client for an answer in pieces", () => {
  const stream = (signal?: AbortSignal) =>
    streamChat({ url, key: service.admin, request: { messages }, ...(signal && { signal }) });
  it("ends the call when it is left early", async () => {
    await start();
    local.hold(1);
    for await (const event of stream()) {
      expect(event).toEqual({ event: "delta", content: "Hello " });
      break;
    }
    await turnsUntil(() => local.aborted() === 1);
  });
});

describe("a client that goes away during an answer in pieces", () => {
  it("ends the call of the provider, in the middle of the answer", async () => {
    await start();
    local.hold(1);
    const client = new AbortController();
    const response = await open({}, client.signal);
    client.abort();
    await expect(response.text()).rejects.toThrow();
    await turnsUntil(() => local.aborted() === 1 && entries().length === 1);
    expect(entries()).toMatchObject([{ status: 200, client_gone: true }]);
    expect(requestLines()).toHaveLength(1);
    expect(await metrics()).toContain('svc_llm_requests_total{connector="local",result="cancelled"} 1');
    // What it has had is counted.
    expect(ledger.used(keyId(), day)).toBe(8);
  });

  it("ends the call before the answer has started, in pieces or whole", async () => {
    await start();
    local.hold();
    for (const body of [{ messages, stream: true }, { messages }]) {
      const aborted = local.aborted();
      const client = new AbortController();
      const pending = fetch(`${url}${path}`, {
        method: "POST",
        headers: { "X-API-Key": service.admin, "Content-Type": "application/json" },
        body: JSON.stringify(body),
        signal: client.signal,
      });
      const calls = local.calls.length;
      await turnsUntil(() => local.calls.length > calls);
      client.abort();
      await expect(pending).rejects.toThrow();
      await turnsUntil(() => local.aborted() === aborted + 1);
    }
    await turnsUntil(() => entries().length === 2);
    expect(entries().map(({ client_gone: isGone }) => isGone)).toEqual([true, true]);
  });

  it("may end its side of the connection, before the first piece and after", async () => {
    await start();
    const body = JSON.stringify({ messages, stream: true });
    const head = [
      `POST ${path} HTTP/1.1`,
      "Host: 127.0.0.1",
      `X-API-Key: ${service.admin}`,
      "Content-Type: application/json",
      `Content-Length: ${body.length}`,
    ];
    for (const [index, pieces] of [0, 1].entries()) {
      local.hold(pieces);
      const socket = connect(Number(new URL(url).port), "127.0.0.1");
      const closed = new Promise((resolve) => socket.once("close", resolve));
      socket.resume().write(`${head.join("\r\n")}\r\n\r\n${body}`);
      await turnsUntil(() => local.calls.length === index + 1 && (pieces === 0 || socket.bytesRead > 0));
      socket.end();
      await turnsUntil(() => local.aborted() === index + 1 && entries().length === index + 1);
      await closed;
    }
    expect(entries().map(({ client_gone: isGone }) => isGone)).toEqual([true, true]);
    expect(await metrics()).toContain('svc_llm_requests_total{connector="local",result="cancelled"} 2');
  });

  it("that reads nothing stops the provider", async () => {
    const piece = "x".repeat(64 * 1024);
    const pieces = 2_000;
    let made = 0;
    let isEnded = false;
    async function* stream(_: unknown, signal: AbortSignal): AsyncGenerator<ChatPart> {
      try {
        for (; made < pieces && !signal.aborted; made += 1) {
          await turn();
          yield { kind: "text", text: piece };
        }
      } finally {
        isEnded = true;
      }
    }
    await start({ ...local, stream });
    const client = new AbortController();
    await open({}, client.signal);
    let last = -1;
    // What fits into buffers on the way is made, and then nothing more.
    for (let rounds = 0; rounds < 100 && last !== made; rounds += 1) {
      last = made;
      await turns(500);
    }
    expect(made).toBeGreaterThan(0);
    expect(made).toBeLessThan(pieces / 2);
    client.abort();
    await turnsUntil(() => isEnded);
    expect(made).toBeLessThan(pieces);
  });
});

describe("a client that reads an answer in pieces slowly", () => {
  it("does not change the status of the connector at the time limit", async () => {
    const piece = "x".repeat(256 * 1024);
    async function* stream(_: unknown, signal: AbortSignal): AsyncGenerator<ChatPart> {
      for (let made = 0; made < 1_000; made += 1) {
        await turn();
        signal.throwIfAborted();
        yield { kind: "text", text: piece };
      }
    }
    await start({ ...local, stream }, 60_000);
    const response = await open();
    await turns(5_000);
    await service.clock.advance(59_000);
    await service.clock.advance(2_000);
    const events = eventsIn(await response.text());
    expect(events.at(-1)).toMatchObject({
      event: "error",
      data: errorWith("UNAVAILABLE", { connector: "local", provider_status: null, retryable: true }),
    });
    expect(JSON.stringify(events.at(-1))).toContain("was not read within 60 s");
    const { text } = await send(service, { path: "/api/v1/connectors", key: service.admin });
    expect(JSON.parse(text)).toMatchObject({ connectors: [{ name: "local", status: "connected", last_error: null }] });
    expect(await metrics()).toContain('svc_llm_requests_total{connector="local",result="cancelled"} 1');
  });
});

describe("a thousand answers in pieces", () => {
  it("leave no listener and no connection behind, however they end", async () => {
    const signals: AbortSignal[] = [];
    await start({
      ...local,
      stream(call, signal) {
        signals.push(signal);
        return local.stream(call, signal);
      },
    });
    const sockets: Socket[] = [];
    service.app.server.on("connection", (socket: Socket) => sockets.push(socket));
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const body = JSON.stringify({ messages, stream: true });
    const headers = { "X-API-Key": service.admin, "Content-Type": "application/json" };
    /** One stream; `leave`: after its first byte the client goes away. */
    const once = (leave: boolean) =>
      new Promise<void>((resolve, reject) => {
        const client = request(`${url}${path}`, { method: "POST", agent, headers }, (response) => {
          response.on("close", resolve).on("error", () => undefined);
          if (leave) response.once("data", () => response.destroy());
          else response.resume();
        });
        client.on("error", reject).end(body);
      });
    const listenersOf = (socket: Socket | undefined): number =>
      (socket?.eventNames() ?? []).reduce((sum, name) => sum + (socket?.listenerCount(name) ?? 0), 0);
    await once(false);
    const [first] = sockets;
    const before = listenersOf(first);
    const warnings: Error[] = [];
    const onWarning = (warning: Error): void => void warnings.push(warning);
    process.on("warning", onWarning);
    for (let count = 0; count < 699; count += 1) await once(false);
    expect([sockets.length, listenersOf(first)]).toEqual([1, before]);

    local.hold(1);
    for (let count = 0; count < 300; count += 1) await once(true);
    agent.destroy();
    await turnsUntil(() => entries().length === 1000);
    await turnsUntil(() => sockets.every(({ destroyed }) => destroyed));
    process.off("warning", onWarning);
    expect(warnings).toEqual([]);
    expect(requestLines()).toHaveLength(1000);
    const text = await metrics();
    expect(text).toContain('svc_llm_requests_total{connector="local",result="success"} 700');
    expect(text).toContain('svc_llm_requests_total{connector="local",result="cancelled"} 300');
    expect(signals.length).toBe(1000);
    expect(signals.map((signal) => getEventListeners(signal, "abort").length)).toEqual(signals.map(() => 0));
  });
});

describe("an answer in pieces under an idempotency key", () => {
  const headers = { "Idempotency-Key": "one" };

  it("is replayed whole", async () => {
    await start();
    const first = await (await open(headers)).text();
    const second = await open(headers);
    expect([second.headers.get("idempotent-replayed"), second.headers.get("content-type")]).toEqual([
      "true",
      "text/event-stream",
    ]);
    expect(await second.text()).toBe(first);
    expect(local.calls).toHaveLength(1);
  });

  it("is made again where it failed, or its client went away", async () => {
    await start();
    const client = new AbortController();
    local.hold(1);
    const response = await open(headers, client.signal);
    client.abort();
    await expect(response.text()).rejects.toThrow();
    local.hold()();
    const text = await (await open(headers)).text();
    expect(eventsIn(text).at(-1)?.event).toBe("done");
    expect(local.calls).toHaveLength(2);
  });
});
