import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { METHODS } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { notificationChannels, notificationOutcomes } from "#contract/alerts.ts";
import { approvalStatuses } from "#contract/approvals.ts";
import { errorStatus } from "#contract/errors.ts";
import { apiBase } from "#contract/limits.ts";
import { streams } from "#contract/streams.ts";
import { describedMetrics, labelSets, metricLabels, seriesOf } from "./support/metric-labels.ts";
import { parseMetrics, type Sample } from "./support/metrics.ts";
import { type ModelServer, startModelServer } from "./support/model-server.ts";
import { exchange } from "./support/raw-socket.ts";
import { logged, type RunningService, startService } from "./support/service.ts";
import { until } from "./support/until.ts";
import { requestText, routes, variedTraffic } from "./support/varied-traffic.ts";
import { createWorkspace } from "./support/workspace.ts";
import { openStream } from "./support/ws-client.ts";

const workspace = createWorkspace();
afterAll(workspace.dispose);

/** In every name that a client makes up: it is to be found nowhere. */
const planted = "planted-5ecret";
/** What would end a label, or a line. */
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
});
afterAll(() => provider?.close());

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

const text = (stringValue: string) => ({ stringValue });

/** A trace of another program, in which every text is hostile. */
async function sendHostileTrace(): Promise<void> {
  const { http: port } = await logged(service, "receiving traces");
  const attributes = [hostile, "service.name", "error.type", "result"].map((key) => ({ key, value: text(hostile) }));
  const startTimeUnixNano = String(BigInt(Date.now()) * 1_000_000n);
  const span = {
    traceId: randomBytes(16).toString("hex"),
    spanId: randomBytes(8).toString("hex"),
    name: hostile,
    kind: 2,
    startTimeUnixNano,
    endTimeUnixNano: startTimeUnixNano,
    attributes,
  };
  const noSpan = { ...span, spanId: "" };
  const body = { resourceSpans: [{ resource: { attributes }, scopeSpans: [{ spans: [span, noSpan] }] }] };
  const answer = await fetch(`http://127.0.0.1:${String(port)}/v1/traces`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  expect(answer.status).toBe(200);
}

/** Names of things that there are not, wherever a request may bear one. */
async function hostileNames(): Promise<void> {
  const name = encodeURIComponent(hostile);
  const messages = [{ role: "user", content: "hello" }];
  const answers = [
    await ask("/connectors/chat", { connector: planted, messages }),
    await ask("/connectors/chat", { model: planted, messages }),
    await ask(`/connectors/${name}/test`, {}),
    await ask(`/health/checks/${name}`),
    await ask(`/health/checks/${name}`),
    await ask(`/health/checks/${name}/fix`, { confirm: true }),
    await ask(`/plugins/${name}`),
    await ask(`/plugins/${name}/enable`, {}),
    await ask(`/plugins/${name}/run`, {}),
    await ask(`/services/${name}`),
    await ask(`/traces/${name}`),
    await ask("/alerts/notifications/test", { channel: planted }),
    await ask("/alerts/silences", { alert: planted, until: new Date(Date.now() + 60_000).toISOString() }),
  ];
  for (const { status } of answers) expect([400, 404]).toContain(status);
  await expect(openStream(service.url, `${apiBase}/ws/${planted}`)).rejects.toThrow();
}

/** What is there is asked for by its name, so that each metric that can be had here has a sample. */
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
      "success",
      "unreachable",
      "refused",
      "unreadable",
      "silent",
      "cancelled",
      "internal_error",
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

describe("after traffic of every kind, the metrics", () => {
  beforeAll(async () => {
    await knownNames();
    await hostileNames();
    await sendHostileTrace();
    await variedTraffic(service, 200);
    await until("spans that are kept", async () =>
      (await samples()).some(({ name, labels }) => name === "svc_trace_spans_total" && labels["result"] === "kept")
        ? true
        : undefined,
    );
  });

  it("are those of the table, each with exactly its labels", async () => {
    const scraped = await scrape();
    expect(
      describedMetrics(scraped)
        .filter((name) => name.startsWith("svc_"))
        .sort(),
    ).toEqual(Object.keys(metricLabels).sort());
    const sets = labelSets(parseMetrics(scraped));
    for (const [name, found] of Object.entries(sets)) expect([name, found]).toEqual([name, [metricLabels[name]]]);
    const without = Object.keys(metricLabels).filter((name) => sets[name] === undefined);
    // Fixes change the host, plugins need systemd, updates a package manager, and nothing is deprecated: they may have no sample here.
    const mayLack = [
      "svc_deprecated_requests_total",
      "svc_check_fixes_total",
      "svc_plugin_runs_total",
      "svc_updates_available",
    ];
    expect(without.filter((name) => !mayLack.includes(name))).toEqual([]);
  });

  it("have no value that a client has made up", async () => {
    expect(outsideOf(await samples(), await allowedValues())).toEqual([]);
    expect(await scrape()).not.toMatch(/planted|evil/);
  });

  it("have as many series after 2,000 random paths as before", async () => {
    const random = (): string => randomBytes(6).toString("hex");
    const paths = [
      () => `/${random()}`,
      () => `${apiBase}/${random()}`,
      () => `${apiBase}/health/checks/${random()}`,
      () => `${apiBase}/plugins/${random()}`,
      () => `${apiBase}/connectors/${random()}/test`,
      () => `${apiBase}/services/${random()}`,
      () => `${apiBase}/ws/${random()}`,
      () => `/%zz${random()}`,
    ];
    const key = `X-API-Key: ${service.adminKey}\r\n`;
    const send = async (count: number): Promise<void> => {
      for (let sent = 0; sent < count; sent += 1) {
        const path = paths[sent % paths.length]?.() ?? "/";
        const [answer] = await exchange(service.port, requestText(`GET ${path}?${random()}=${random()}`, key));
        expect(answer?.status).toBeGreaterThanOrEqual(400);
      }
    };
    await send(paths.length);
    // Checks run by themselves meanwhile, and are bounded by their list.
    const counted = async () =>
      seriesOf(await samples()).filter((series) => !/^svc_(check|component|updates)_/.test(series));
    const before = await counted();
    await Promise.all(Array.from({ length: 10 }, () => send(200)));
    expect(await counted()).toEqual(before);
    expect(outsideOf(await samples(), await allowedValues())).toEqual([]);
  });

  it("and the log bear nothing of what is planted", () => {
    expect(service.lines().length).toBeGreaterThan(2_000);
    expect(service.stdout() + service.stderr()).not.toContain(planted);
  });
});
