import { existsSync } from "node:fs";
import { METHODS } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createClient } from "#client/index.ts";
import { errorStatus } from "#contract/errors.ts";
import { expectError } from "./support/error-answer.ts";
import { labelValues, parseMetrics } from "./support/metrics.ts";
import { runProgram } from "./support/program.ts";
import { exchange, openRaw } from "./support/raw-socket.ts";
import type { RunningService } from "./support/service.ts";
import { startService } from "./support/service.ts";
import { until } from "./support/until.ts";
import { requestText, routes, variedTraffic } from "./support/varied-traffic.ts";
import { createWorkspace } from "./support/workspace.ts";

const promtool = "/usr/bin/promtool";
const hasPromtool = existsSync(promtool);
const workspace = createWorkspace();
let service: RunningService;
let keyLine: string;

beforeAll(async () => {
  service = await startService(workspace, { checks: true, environment: { STEWARD_RATE_LIMITS: "off" } });
  keyLine = `X-API-Key: ${service.adminKey}\r\n`;
});
afterAll(workspace.dispose);

const scrape = async ({ url }: RunningService = service): Promise<string> => {
  const response = await fetch(`${url}/metrics`);
  expect(response.status).toBe(200);
  expect(response.headers.get("Content-Type")).toBe("text/plain; version=0.0.4; charset=utf-8");
  return response.text();
};
const request = (line: string, headers = keyLine): string => requestText(line, headers);

if (!hasPromtool) process.stdout.write(`skipped: promtool: ${promtool} is missing (Debian package prometheus)\n`);

describe("the metrics", () => {
  it.skipIf(!hasPromtool && process.env["CI"] !== "true")(
    "are accepted by promtool after all kinds of traffic",
    async () => {
      expect(hasPromtool).toBe(true);
      await variedTraffic(service, 200);
      const text = await scrape();
      const checked = await runProgram(workspace, [promtool, "check", "metrics"], { input: text });
      expect(checked).toEqual({ code: 0, stdout: "", stderr: "" });
      // What it would say of something wrong.
      const wrong = await runProgram(workspace, [promtool, "check", "metrics"], {
        input: text.replaceAll(/^# HELP.*\n/gm, ""),
      });
      expect(wrong.code).not.toBe(0);
    },
  );

  it("are those of the contract with its labels and buckets", async () => {
    await fetch(`${service.url}/livez`);
    const text = await scrape();
    const samples = parseMetrics(text);
    const types = Object.fromEntries(
      [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name, type]) => [name, type]),
    );
    expect(types).toMatchObject({
      svc_requests_total: "counter",
      svc_request_duration_seconds: "histogram",
      svc_active_connections: "gauge",
    });
    const labelsOf = (name: string) => {
      const sets = samples
        .filter((sample) => sample.name === name)
        .map(({ labels }) => Object.keys(labels).sort().join());
      return [...new Set(sets)];
    };
    expect(labelsOf("svc_requests_total")).toEqual(["endpoint,method,status"]);
    expect(labelsOf("svc_request_duration_seconds_bucket")).toEqual(["endpoint,le,method"]);
    expect(labelsOf("svc_request_duration_seconds_count")).toEqual(["endpoint,method"]);
    expect(labelsOf("svc_request_duration_seconds_sum")).toEqual(["endpoint,method"]);
    expect(labelsOf("svc_active_connections")).toEqual([""]);
    const buckets = samples.filter(
      ({ name, labels }) => name === "svc_request_duration_seconds_bucket" && labels["endpoint"] === "/livez",
    );
    expect(buckets.map(({ labels }) => labels["le"])).toEqual(["0.01", "0.05", "0.1", "0.5", "1", "5", "+Inf"]);
  });

  it("count a request under its route, unknown and malformed paths as unmatched", async () => {
    const fresh = await startService(workspace, { checks: true, environment: { STEWARD_RATE_LIMITS: "off" } });
    const key = `X-API-Key: ${fresh.adminKey}\r\n`;
    for (const line of [
      "GET /nothing",
      "GET /%",
      "GET /static/%zz",
      "PROPFIND /api/v1/health",
      "DELETE /api/v1/auth/keys/abc",
    ]) {
      await exchange(fresh.port, request(line, key));
    }
    const counts = () =>
      scrape(fresh).then((text) =>
        parseMetrics(text)
          .filter(({ name, labels }) => name === "svc_requests_total" && labels["status"] !== "200")
          .map(({ labels: { method, endpoint, status }, value }) => `${method} ${endpoint} ${status} ${value}`)
          .sort(),
      );
    expect(await counts()).toEqual([
      "DELETE /api/v1/auth/keys/{id} 404 1",
      "GET unmatched 400 2",
      "GET unmatched 404 1",
      "PROPFIND unmatched 404 1",
    ]);
  });

  it("keep to a bounded set of label values, whatever clients ask for", async () => {
    expect(await variedTraffic(service, 2_000)).toBeGreaterThan(1_900);
    const samples = parseMetrics(await scrape());
    const statuses = new Set(["200", "201", "204", "304", ...Object.values(errorStatus).map(String)]);
    for (const name of ["svc_requests_total", "svc_request_duration_seconds_count"]) {
      const outside = (label: string, allowed: ReadonlySet<string>) =>
        [...labelValues(samples, name, label)].filter((value) => !allowed.has(value));
      expect(outside("endpoint", new Set([...routes, "unmatched"]))).toEqual([]);
      expect(outside("method", new Set(METHODS))).toEqual([]);
    }
    expect([...labelValues(samples, "svc_requests_total", "status")].filter((value) => !statuses.has(value))).toEqual(
      [],
    );
  });

  it("count the connections that are open", async () => {
    const fresh = await startService(workspace);
    const ask = openRaw(fresh.port);
    let asked = 0;
    const open = async () => {
      ask.send(request("GET /metrics", ""));
      asked += 1;
      const text = (await ask.answers(asked)).at(-1)?.body ?? "";
      return parseMetrics(text).find(({ name }) => name === "svc_active_connections")?.value;
    };
    await until("the one that asks", async () => ((await open()) === 1 ? true : undefined));
    const connections = Array.from({ length: 10 }, () => openRaw(fresh.port));
    await until("ten more", async () => ((await open()) === 11 ? true : undefined));
    for (const connection of connections) connection.close();
    await until("none of them", async () => ((await open()) === 1 ? true : undefined));
    ask.close();
  });
});

describe("who may read them", () => {
  it("a program on this machine needs no key, one behind a proxy does", async () => {
    const forwarding = [
      "X-Forwarded-For: 127.0.0.1",
      "Forwarded: for=127.0.0.1",
      "X-Real-IP: 127.0.0.1",
      "Via: 1.1 a",
      "X-Forwarded-Host: a",
      "X-Forwarded-Proto: https",
      "CF-Connecting-IP: 127.0.0.1",
    ];
    for (const header of forwarding) {
      const [refused] = await exchange(service.port, request("GET /metrics", `${header}\r\n`));
      expectError(refused, "UNAUTHORIZED");
      const [served] = await exchange(service.port, request("GET /metrics", `${header}\r\n${keyLine}`));
      expect(served?.status).toBe(200);
    }
  });

  it("nobody without a key and the scope, when the settings say never; and it costs no budget", async () => {
    const settings = "metrics: { public: never }\nrate_limits: { per_minute: 5 }\n";
    const closed = await startService(workspace, { settings });
    const client = createClient({ url: closed.url, key: closed.adminKey });
    const { key } = await client.createKey({ body: { name: "scraper", scopes: ["metrics:read"] } });
    const { key: other } = await client.createKey({ body: { name: "other", scopes: ["system:read"] } });
    const ask = async (headers: string) => (await exchange(closed.port, request("GET /metrics", headers)))[0];
    expectError(await ask(""), "UNAUTHORIZED");
    expectError(await ask("X-API-Key: wrong\r\n"), "UNAUTHORIZED");
    for (let count = 0; count < 20; count += 1) {
      expect((await ask(`X-API-Key: ${key}\r\n`))?.status).toBe(200);
      expect(expectError(await ask(`X-API-Key: ${other}\r\n`), "FORBIDDEN").details).toMatchObject({
        required_scope: "metrics:read",
      });
    }
    for (const spender of [key, other]) {
      const [whoami] = await exchange(closed.port, request("GET /api/v1/auth/whoami", `X-API-Key: ${spender}\r\n`));
      expect(whoami).toMatchObject({ status: 200, headers: { "x-ratelimit-remaining": "4" } });
    }
  });
});
