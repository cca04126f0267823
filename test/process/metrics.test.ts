import { writeFileSync } from "node:fs";
import { METHODS } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { notificationChannels, notificationOutcomes } from "#contract/alerts.ts";
import { approvalStatuses } from "#contract/approvals.ts";
import { errorStatus } from "#contract/errors.ts";
import { apiBase } from "#contract/limits.ts";
import { streams } from "#contract/streams.ts";
import { createRandom } from "../support/random.ts";
import { seed } from "../support/seed.ts";
import { labelSets, metricLabels, seriesOf } from "./support/metric-labels.ts";
import { parseMetrics, type Sample } from "./support/metrics.ts";
import { type ModelServer, startModelServer } from "./support/model-server.ts";
import { where } from "./support/optional-program.ts";
import { runProgram } from "./support/program.ts";
import { exchange } from "./support/raw-socket.ts";
import { logged, type RunningService, startService } from "./support/service.ts";
import { until } from "./support/until.ts";
import { requestText, routes, variedTraffic } from "./support/varied-traffic.ts";
import { createWorkspace } from "./support/workspace.ts";
import { openStream } from "./support/ws-client.ts";

const workspace = createWorkspace();
const random = createRandom(seed);

/** In every name that a client makes up: it must be found nowhere. */
const planted = "planted-5ecret";
/** Ends a label, and a line. */
const hostile = `${planted}"} 1\nsvc_evil{a="b`;

let provider: ModelServer;
let service: RunningService;
beforeAll(async () => {
  provider = await startModelServer();
  const webhook = workspace.path("webhook");
  writeFileSync(webhook, `${provider.url}/${planted}\n`, { mode: 0o600 });
  const connector = (name: string, url: string): string =>
    `{ name: ${name}, provider: openai-compatible, model: ${provider.model}, base_url: "${url}" }`;
  service = await startService(workspace, {
    settings: [
      "updates: { enabled: false }",
      "rate_limits: off",
      `connectors: { discover: false, default: local, list: [${connector("local", provider.url)}, ${connector("gone", "http://127.0.0.1:9/v1")}] }`,
      "health: { checks: { own: { command: [/bin/echo, OK] } } }",
      'probes: { list: [{ name: website, http: "http://127.0.0.1:9/" }] }',
      `notifications: { chat: { webhook_url_file: ${webhook} } }`,
      "tracing: { ports: { grpc: 0, http: 0 } }",
      "",
    ].join("\n"),
  });
  await knownNames();
  await hostileNames();
  await sendHostileTrace();
  await variedTraffic(service, 200);
  await until(
    "spans that are kept",
    async () =>
      (await samples()).some(({ name, labels }) => name === "svc_trace_spans_total" && labels["result"] === "kept") ||
      undefined,
  );
});
afterAll(async () => {
  await provider?.close();
  await workspace.dispose();
});

async function ask(path: string, body?: object): Promise<{ readonly status: number; readonly json: unknown }> {
  const answer = await fetch(`${service.url}${apiBase}${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: { "X-API-Key": service.adminKey, "Content-Type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: answer.status, json: await answer.json() };
}
const scrape = async (): Promise<string> => (await fetch(`${service.url}/metrics`)).text();
const samples = async (): Promise<readonly Sample[]> => parseMetrics(await scrape());

/** A trace of another program, in which every string is hostile. */
async function sendHostileTrace(): Promise<void> {
  const { http: port } = await logged(service, "receiving traces");
  const keys = [hostile, "service.name", "error.type", "result"];
  const attributes = keys.map((key) => ({ key, value: { stringValue: hostile } }));
  const startTimeUnixNano = String(BigInt(Date.now()) * 1_000_000n);
  const ids = { traceId: random.bytes(16).toString("hex"), spanId: random.bytes(8).toString("hex") };
  const span = { ...ids, name: hostile, kind: 2, startTimeUnixNano, endTimeUnixNano: startTimeUnixNano, attributes };
  const spans = [span, { ...span, spanId: "" }];
  const answer = await fetch(`http://127.0.0.1:${String(port)}/v1/traces`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ resourceSpans: [{ resource: { attributes }, scopeSpans: [{ spans }] }] }),
  });
  expect(answer.status).toBe(200);
}

/** Asks for what is not there, by names wherever a request has one. */
async function hostileNames(): Promise<void> {
  const name = encodeURIComponent(hostile);
  const messages = [{ role: "user", content: "hello" }];
  const answers = [
    await ask("/connectors/chat", { connector: planted, messages }),
    await ask("/connectors/chat", { model: planted, messages }),
    await ask(`/connectors/${name}/test`, {}),
    await ask(`/health/checks/${name}`),
    await ask(`/health/checks/${name}/fix`, { confirm: true }),
    await ask(`/plugins/${name}/run`, {}),
    await ask(`/traces/${name}`),
    await ask("/alerts/notifications/test", { channel: planted }),
    await ask("/alerts/silences", { alert: planted, until: new Date(Date.now() + 60_000).toISOString() }),
  ];
  for (const { status } of answers) expect([400, 404]).toContain(status);
  await expect(openStream(service.url, `${apiBase}/ws/${planted}`)).rejects.toThrow();
}

/** Asks for what is there, so that each metric has a sample. */
async function knownNames(): Promise<void> {
  const messages = [{ role: "user", content: "hello" }];
  expect((await ask("/connectors/chat", { messages })).status).toBe(200);
  expect((await ask("/connectors/chat", { connector: "gone", messages })).status).toBeGreaterThan(400);
  expect((await ask("/health/checks/own")).status).toBe(200);
  expect((await ask("/alerts/notifications/test", { channel: "chat" })).status).toBe(200);
  const stream = await openStream(service.url, `${apiBase}/ws/health`, { headers: { "X-API-Key": service.adminKey } });
  stream.socket.close();
}

/** Every value that a label may have, `result` by its metric. */
async function allowedValues(): Promise<Readonly<Record<string, readonly string[]>>> {
  const { results } = (await ask("/health/checks")).json as { results: readonly { check_id: string }[] };
  const { components } = (await ask("/health")).json as { components: Record<string, unknown> };
  expect(components).toHaveProperty("website");
  return {
    endpoint: [...routes, ...Object.values(streams).map(({ path }) => apiBase + path), "unmatched"],
    method: METHODS,
    status: ["101", "200", "201", "202", "204", ...Object.values(errorStatus).map(String)],
    component: Object.keys(components),
    stream: Object.keys(streams),
    check: results.map(({ check_id: id }) => id),
    connector: ["local", "gone"],
    kind: ["all", "security"],
    direction: ["input", "output"],
    channel: notificationChannels,
    outcome: notificationOutcomes,
    "svc_llm_requests_total result": [
      ...["success", "unreachable", "refused", "unreadable", "silent", "cancelled", "internal_error"],
    ],
    "svc_logins_total result": ["ok", "refused"],
    "svc_approvals_total state": approvalStatuses,
    "svc_trace_spans_total result": ["exported", "dropped", "kept", "rejected"],
  };
}

const outsideOf = (found: readonly Sample[], allowed: Readonly<Record<string, readonly string[]>>): readonly string[] =>
  found.flatMap(({ name, labels }) =>
    name.startsWith("svc_")
      ? Object.entries(labels)
          .filter(([label]) => label !== "le")
          .filter(([label, value]) => !(allowed[label] ?? allowed[`${name} ${label}`] ?? []).includes(value))
          .map(([label, value]) => `${name} ${label}=${value}`)
      : [],
  );

describe("the metrics after traffic of every kind", () => {
  const hasPromtool = () => {
    it("are accepted by promtool", async () => {
      const text = await scrape();
      const check = (input: string) => runProgram(workspace, ["/usr/bin/promtool", "check", "metrics"], { input });
      expect(await check(text)).toEqual({ code: 0, stdout: "", stderr: "" });
      expect((await check(text.replaceAll(/^# HELP.*\n/gm, ""))).code).not.toBe(0);
    });
  };
  where("promtool", hasPromtool, "prometheus");

  it("have exactly their labels, and no value that a client has made up", async () => {
    const sets = labelSets(await samples());
    for (const [name, found] of Object.entries(sets)) expect([name, found]).toEqual([name, [metricLabels[name]]]);
    expect(Object.keys(sets).length).toBeGreaterThan(15);
    expect(outsideOf(await samples(), await allowedValues())).toEqual([]);
    expect(await scrape()).not.toMatch(/planted|evil/);
    expect(service.stdout() + service.stderr()).not.toContain(planted);
  });

  it("have as many series after a thousand random paths as before", async () => {
    const part = (): string => random.bytes(6).toString("hex");
    const prefixes = [
      "/",
      ...["/", "/health/checks/", "/plugins/", "/services/", "/ws/"].map((path) => apiBase + path),
    ];
    const paths = [...prefixes.map((prefix) => () => prefix + part()), () => `/%zz${part()}`];
    const key = `X-API-Key: ${service.adminKey}\r\n`;
    const send = async (count: number): Promise<void> => {
      for (let sent = 0; sent < count; sent += 1) {
        const path = paths[sent % paths.length]?.() ?? "/";
        const [answer] = await exchange(service.port, requestText(`GET ${path}?${part()}=${part()}`, key));
        expect(answer?.status).toBeGreaterThanOrEqual(400);
      }
    };
    await send(paths.length);
    // Checks run by themselves meanwhile, and are bounded by their list.
    const counted = async () =>
      seriesOf(await samples()).filter((series) => !/^svc_(check|component|updates)_/.test(series));
    const before = await counted();
    await Promise.all(Array.from({ length: 10 }, () => send(100)));
    expect(await counted()).toEqual(before);
  });
});
