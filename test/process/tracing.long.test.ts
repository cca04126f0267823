import { mkdirSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ModelServer, startModelServer } from "./support/model-server.ts";
import { type OtlpReceiver, type ReceivedSpan, startOtlpReceiver } from "./support/otlp-receiver.ts";
import { exchange } from "./support/raw-socket.ts";
import type { RunningService } from "./support/service.ts";
import { startService } from "./support/service.ts";
import { until } from "./support/until.ts";
import { createWorkspace } from "./support/workspace.ts";

const workspace = createWorkspace();
afterAll(workspace.dispose);

const secret = "planted-5ecret";
const parent = "b7ad6b7169203331";
let traces = 0;
/** A trace that no other test has. */
const newTrace = (): string => {
  traces += 1;
  return `0af7651916cd43dd8448eb21${traces.toString(16).padStart(8, "0")}`;
};

const settings = (tracing: string, more = ""): string =>
  `updates: { enabled: false }\nrate_limits: off\ntracing: { ${tracing} }\n${more}`;

async function ask(service: RunningService, path: string, headers = {}, body?: object): Promise<Response> {
  return fetch(`${service.url}${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: {
      "X-API-Key": service.adminKey,
      ...(body !== undefined && { "Content-Type": "application/json" }),
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
}

const traceparent = (trace: string, flags = "01") => ({ traceparent: `00-${trace}-${parent}-${flags}` });

/** The spans of a trace, once the span of its request is among them: it ends last. */
const spansOf = (receiver: OtlpReceiver, trace: string): Promise<readonly ReceivedSpan[]> =>
  until(`span of a request in trace ${trace}`, () => {
    const spans = receiver.spans().filter(({ traceId }) => traceId === trace);
    return spans.some(({ kind }) => kind === "server") ? spans : undefined;
  });

const requestOf = (spans: readonly ReceivedSpan[]): ReceivedSpan => {
  const [span, ...others] = spans.filter(({ kind }) => kind === "server");
  if (span === undefined) throw new Error("there is no span of a request");
  expect(others).toEqual([]);
  return span;
};

describe("traces that a service exports", () => {
  let receiver: OtlpReceiver;
  let provider: ModelServer;
  let service: RunningService;

  beforeAll(async () => {
    receiver = await startOtlpReceiver("grpc");
    provider = await startModelServer({ words: ["the answer ", `is ${secret}`], servedAs: "tiny-1-2026" });
    mkdirSync(workspace.path("journal"));
    const connector = `{ name: local, provider: openai-compatible, model: ${provider.model}, base_url: "${provider.url}", api_key_env: MODEL_KEY }`;
    const gone = `{ name: gone, provider: openai-compatible, model: ${provider.model}, base_url: "http://user:${secret}@127.0.0.1:9/${secret}" }`;
    service = await startService(workspace, {
      settings: settings(
        `endpoint: "${receiver.url}", protocol: grpc`,
        `connectors: { default: local, list: [${connector}, ${gone}] }\nhealth: { checks: { own: { command: [/bin/echo, "OK ${secret}"] } } }\n`,
      ),
      environment: { MODEL_KEY: secret, STEWARD_JOURNAL_DIR: workspace.path("journal") },
    });
  });
  afterAll(async () => {
    await Promise.all([receiver?.close(), provider?.close()]);
  });

  it("have a span for each request, named by its route", async () => {
    const trace = newTrace();
    const answer = await ask(service, `/api/v1/health?api_key=${secret}`, traceparent(trace));
    const id = answer.headers.get("x-request-id");
    const span = requestOf(await spansOf(receiver, trace));
    expect(span).toMatchObject({
      parentSpanId: parent,
      name: "GET /api/v1/health",
      attributes: {
        "http.request.method": "GET",
        "http.route": "/api/v1/health",
        "http.response.status_code": answer.status,
        "http.response.header.x-request-id": [id],
        "url.scheme": "http",
        "client.address": "127.0.0.1",
      },
      resource: { "service.name": "steward", "process.pid": service.pid },
    });
    expect(span.endNs > span.startNs).toBe(true);
    const line = await until("log line", () => service.lines().find(({ request_id: each }) => each === id));
    expect(line).toMatchObject({ trace_id: trace });
  });

  it("lead from a request to the provider of a connector, in the trace of the caller", async () => {
    const trace = newTrace();
    const state = "vendor=opaque";
    const body = { messages: [{ role: "user", content: `tell me ${secret}` }], max_tokens: 9 };
    const headers = { ...traceparent(trace), tracestate: state };
    expect((await ask(service, "/api/v1/connectors/chat", headers, body)).status).toBe(200);
    const spans = await spansOf(receiver, trace);
    const call = spans.find(({ kind }) => kind === "client");
    expect(call).toMatchObject({
      name: "chat tiny-1",
      parentSpanId: requestOf(spans).spanId,
      traceState: state,
      isFailed: false,
      attributes: {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai-compatible",
        "gen_ai.request.model": "tiny-1",
        "gen_ai.request.max_tokens": 9,
        "gen_ai.response.model": "tiny-1-2026",
        "gen_ai.response.finish_reasons": ["stop"],
        "gen_ai.usage.input_tokens": 11,
        "gen_ai.usage.output_tokens": 3,
        "steward.connector.name": "local",
      },
    });
    const asked = provider.headers().filter(({ traceparent: given }) => String(given).includes(trace));
    expect(asked.map(({ traceparent: given, tracestate }) => [given, tracestate])).toEqual([
      [`00-${trace}-${call?.spanId}-01`, state],
    ]);
  });

  it("name the kind of a failure, and no more", async () => {
    const trace = newTrace();
    const body = { connector: "gone", messages: [{ role: "user", content: secret }] };
    const { status } = await ask(service, "/api/v1/connectors/chat", traceparent(trace), body);
    const spans = await spansOf(receiver, trace);
    expect(requestOf(spans)).toMatchObject({ isFailed: true, attributes: { "error.type": String(status) } });
    const calls = spans.filter(({ kind }) => kind === "client");
    expect(calls.length).toBeGreaterThan(0);
    for (const call of calls)
      expect(call).toMatchObject({ isFailed: true, attributes: { "error.type": "unreachable" } });
  });

  it("have spans for a query of the journal and for a command", async () => {
    const trace = newTrace();
    await ask(service, `/api/v1/system/logs?limit=5&grep=${secret}`, traceparent(trace));
    const query = (await spansOf(receiver, trace)).find(({ kind }) => kind === "client");
    expect(query).toMatchObject({
      name: "query journald",
      attributes: { "steward.journal.limit": 5, "steward.journal.is_search": true },
    });
    const run = newTrace();
    const answer = await ask(service, "/api/v1/health/checks/own", traceparent(run));
    expect(await answer.json()).toMatchObject({ status: "pass" });
    const spans = await spansOf(receiver, run);
    expect(spans.find(({ name }) => name === "echo")).toMatchObject({
      kind: "client",
      parentSpanId: requestOf(spans).spanId,
      attributes: { "process.executable.name": "echo", "process.exit.code": 0 },
    });
  });

  it("are not exported where the caller does not sample them, and starts over after a malformed traceparent", async () => {
    const unwanted = newTrace();
    const first = await ask(service, "/api/v1/health", traceparent(unwanted, "00"));
    const broken = await ask(service, "/api/v1/health", { traceparent: `00-${secret}-${parent}-01` });
    const id = broken.headers.get("x-request-id");
    const after = newTrace();
    await ask(service, "/api/v1/health", traceparent(after));
    await spansOf(receiver, after);
    expect(receiver.spans().filter(({ traceId }) => traceId === unwanted)).toEqual([]);
    const span = receiver.spans().find((each) => String(each.attributes["http.response.header.x-request-id"]) === id);
    expect(span).toMatchObject({ parentSpanId: "", traceId: expect.stringMatching(/^[0-9a-f]{32}$/) });
    // It is in the log all the same: anyone who asked may have the rest of it.
    const line = service.lines().find(({ request_id: each }) => each === first.headers.get("x-request-id"));
    expect(line).toMatchObject({ trace_id: unwanted });
  });

  it("have refused requests and unknown paths, and no secret of any", async () => {
    const places = [`/api/v1/auth/keys/${secret}`, `/${secret}`, `/api/v1/${secret}/%`, `/livez?${secret}=1#${secret}`];
    const requests = places.flatMap((path) => [
      `GET ${path} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${secret}\r\n\r\n`,
      `DELETE ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${secret}\r\nCookie: ${secret}\r\n\r\n`,
      `GET ${path} HTTP/1.1\r\nHost: ${secret}\r\nUser-Agent: ${secret}\r\nX-Forwarded-For: ${secret}\r\n\r\n`,
    ]);
    for (const request of requests) await exchange(service.port, request, { localAddress: "127.0.9.1" });
    const trace = newTrace();
    await ask(service, `/${secret}`, traceparent(trace));
    expect(requestOf(await spansOf(receiver, trace))).toMatchObject({
      name: "GET",
      attributes: { "http.response.status_code": 404 },
      isFailed: false,
    });
    const refused = receiver.spans().filter(({ attributes }) => attributes["client.address"] === "127.0.9.1");
    expect(refused.length).toBe(requests.length);
    for (const each of [secret, service.adminKey, service.adminKey.split("_").at(-1) ?? ""])
      expect(receiver.bytes().includes(each)).toBe(false);
  });

  it("are exported before the service ends", async () => {
    const trace = newTrace();
    await ask(service, "/livez", traceparent(trace));
    service.kill("SIGTERM");
    expect(await service.exit).toEqual({ code: 0, signal: null });
    expect(service.lines().filter(({ msg }) => String(msg).startsWith("traces"))).toEqual([]);
    expect(receiver.spans().filter(({ traceId }) => traceId === trace)).toHaveLength(1);
  });
});

describe("a sampling ratio of 0", () => {
  it("exports no trace that began here, and those that began elsewhere", async () => {
    const receiver = await startOtlpReceiver("http");
    const service = await startService(workspace, { settings: settings(`endpoint: "${receiver.url}", sample: 0`) });
    for (let count = 0; count < 20; count += 1) await ask(service, "/api/v1/health");
    const trace = newTrace();
    await ask(service, "/api/v1/health", traceparent(trace));
    service.kill("SIGTERM");
    await service.exit;
    expect(new Set(receiver.spans().map(({ traceId }) => traceId))).toEqual(new Set([trace]));
    await receiver.close();
  });
});
