import { execFileSync, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { delimiter, dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { cacheDirectory } from "../host/image.ts";
import { runProgram } from "./support/program.ts";
import { type RunningService, root, startService } from "./support/service.ts";
import { createWorkspace } from "./support/workspace.ts";

const sources = join(root, "test/mcp-clients");
// Not below the checkout, whose packages npm would take for these.
const installed = join(cacheDirectory(), "mcp-clients");
const installMs = 300_000;

const workspace = createWorkspace();
let service: RunningService;
let endpoint: string;
/** The suite sends no credential: what stands before the service here adds it, and leaves all else as it is. */
const withKey = createServer((incoming, response) => {
  const { method, headers } = incoming;
  const target = request(`${service.url}/api/v1/mcp`, {
    method,
    headers: { ...headers, "x-api-key": service.adminKey },
  });
  target.on("response", (answer) => {
    response.writeHead(answer.statusCode ?? 500, answer.headers);
    answer.pipe(response);
  });
  target.on("error", () => response.destroy());
  incoming.pipe(target);
});

interface ToolAnswer {
  readonly structuredContent: Readonly<Record<string, unknown>>;
}

const lockOf = (directory: string): string => readFileSync(join(directory, "package-lock.json"), "utf8");

function install(): void {
  if (existsSync(join(installed, "node_modules")) && lockOf(installed) === lockOf(sources)) return;
  mkdirSync(installed, { recursive: true });
  for (const name of ["package.json", "package-lock.json"]) cpSync(join(sources, name), join(installed, name));
  const path = [dirname(process.execPath), process.env["PATH"]].join(delimiter);
  // With the settings of npm that this machine has.
  execFileSync("npm", ["install", "--no-save", "--ignore-scripts", "--no-audit"], {
    cwd: installed,
    env: { ...process.env, PATH: path },
    stdio: ["ignore", "ignore", "inherit"],
  });
}

beforeAll(async () => {
  install();
  service = await startService(workspace, { checks: true, environment: { STEWARD_RATE_LIMITS: "off" } });
  await new Promise<void>((resolve) => withKey.listen(0, "127.0.0.1", resolve));
  endpoint = `http://127.0.0.1:${(withKey.address() as AddressInfo).port}/mcp`;
}, installMs);
afterAll(async () => {
  withKey.close();
  await workspace.dispose();
});

const run = (name: string, ...argv: readonly string[]) =>
  runProgram(workspace, [process.execPath, join(installed, "node_modules/.bin", name), ...argv], {
    environment: { MCP_INSPECTOR_SECRET_STORE: "memory", PATH: `${dirname(process.execPath)}:/usr/bin:/bin` },
    timeoutMs: 120_000,
  });

describe("the conformance suite of the Model Context Protocol", () => {
  it.each([
    ["2025-11-25", ["--spec-version", "2025-11-25"]],
    ["2026-07-28", ["--requirements", "2026-07-28"]],
  ] as const)(
    "of %s fails in nothing but what asks for its own example server",
    async (revision, scenarios) => {
      const baseline = join(sources, `baseline-${revision}.yaml`);
      const argv = ["server", "--url", endpoint, "--expected-failures", baseline, ...scenarios];
      const { code, stdout, stderr } = await run("conformance", ...argv);
      expect([code, code === 0 ? "" : `${stdout.slice(-3000)}${stderr}`]).toEqual([0, ""]);
      expect(stdout).toMatch(/✓ tools-list: \d+ passed, 0 failed/);
    },
    150_000,
  );
});

describe("the inspector of the Model Context Protocol", () => {
  const inspect = (era: string, ...argv: readonly string[]) =>
    run(
      ...([
        "inspector",
        "--cli",
        "--server-url",
        `${service.url}/api/v1/mcp?toolsets=all`,
        "--transport",
        "http",
      ] as const),
      ...["--header", `X-API-Key: ${service.adminKey}`, "--protocol-era", era, ...argv],
    );

  it.each(["legacy", "modern"])(
    "finds nothing in the schemas of all tools that a client may stumble over, in its %s era",
    async (era) => {
      const { code, stdout, stderr } = await inspect(era, "--strict", "--method", "tools/list", "--format", "json");
      expect([code, stderr]).toEqual([0, expect.not.stringMatching(/Issue:/)]);
      expect(JSON.stringify(JSON.parse(stdout))).toContain("applyUpdates");
    },
    150_000,
  );

  it.each(["legacy", "modern"])(
    "calls, is refused without a plan, and carries out what was planned, in its %s era",
    async (era) => {
      const call = async (name: string, given: object) => {
        const argv = ["--method", "tools/call", "--tool-name", name, "--tool-args-json", JSON.stringify(given)];
        const { stdout } = await inspect(era, ...argv, "--format", "json", "--quiet");
        const answer = JSON.parse(stdout) as { result?: ToolAnswer } & ToolAnswer;
        return answer.result ?? answer;
      };
      const silence = { check: "memory", until: new Date(Date.now() + 3_600_000).toISOString(), comment: "by a model" };
      const planned = await call("silenceAlert", { ...silence, dry_run: true });
      const token = planned.structuredContent["plan_token"];
      const done = await call("silenceAlert", { ...silence, plan_token: token });
      expect(done.structuredContent).toMatchObject({ id: expect.any(String) });
      const again = await call("silenceAlert", { ...silence, plan_token: token });
      expect(again.structuredContent["error"]).toMatchObject({ details: { reason: "plan_used" } });
      const dangerous = await call("rebootHost", {});
      expect(dangerous.structuredContent["error"]).toMatchObject({ details: expect.anything() });
    },
    150_000,
  );
});

describe("mcpdo, the inspector's client that stays connected,", () => {
  const asAdmin = async (path: string, body: object): Promise<Readonly<Record<string, unknown>>> => {
    const answer = await fetch(`${service.url}/api/v1${path}`, {
      method: "POST",
      headers: { "X-API-Key": service.adminKey, "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    expect([path, answer.ok]).toEqual([path, true]);
    return (await answer.json()) as Readonly<Record<string, unknown>>;
  };

  it.each(["legacy", "modern"])(
    "lists, calls, plans, is refused, and has what it may only propose approved, in its %s era",
    async (era) => {
      const environment = {
        MCP_INSPECTOR_SECRET_STORE: "memory",
        MCP_INSPECTOR_DAEMON_DIR: workspace.path(era),
        MCP_INSPECTOR_DAEMON_TOKEN: randomUUID(),
        PATH: `${dirname(process.execPath)}:/usr/bin:/bin`,
      };
      const mcpdo = async (...argv: readonly string[]): Promise<Readonly<Record<string, unknown>>> => {
        const program = [process.execPath, join(installed, "node_modules/.bin/mcpdo")] as const;
        const { stdout, stderr } = await runProgram(workspace, [...program, "--format", "json", ...argv], {
          environment,
          timeoutMs: 60_000,
        });
        expect([argv, stderr, stdout]).toEqual([argv, expect.anything(), expect.stringMatching(/^\s*[[{]/)]);
        return JSON.parse(stdout) as Readonly<Record<string, unknown>>;
      };
      const call = async (connection: string, tool: string, given: object) => {
        const json = JSON.stringify(given);
        const answer = await mcpdo("--connection", connection, "tools/call", tool, "--tool-args-json", json);
        return ((answer["result"] ?? answer) as unknown as ToolAnswer).structuredContent;
      };
      const scopes = ["health:read", "propose:health:fix"];
      const proposer = await asAdmin("/auth/keys", { name: `proposer-${era}`, scopes });
      const server = (key: unknown) => ({
        type: "streamable-http",
        url: `${service.url}/api/v1/mcp?toolsets=all`,
        headers: { "X-API-Key": key },
        protocolEra: era,
      });
      const config = workspace.path(`${era}.json`);
      const mcpServers = { admin: server(service.adminKey), proposer: server(proposer["key"]) };
      writeFileSync(config, JSON.stringify({ mcpServers }));
      const bystander = spawn("sleep", ["600"], { stdio: "ignore" });
      workspace.adopt(bystander);
      try {
        for (const name of ["admin", "proposer"])
          expect(await mcpdo("connect", name, "--config", config)).toMatchObject({ name, protocolEra: era });
        expect(JSON.stringify(await mcpdo("--connection", "proposer", "tools/list"))).not.toContain("applyUpdates");
        expect(await call("admin", "getSystemInfo", {})).toMatchObject({ hostname: expect.any(String) });

        const { pid } = bystander;
        const { processes } = await call("admin", "listProcesses", { pid });
        const [found] = processes as readonly { readonly start_time: string }[];
        const signal = { pid, start_time: found?.start_time, signal: "TERM" };
        const refused = await call("admin", "signalProcess", signal);
        expect(refused["error"]).toMatchObject({ code: "CONFLICT", details: { reason: "plan_required" } });
        expect(bystander.exitCode ?? bystander.signalCode).toBe(null);
        const { plan_token } = await call("admin", "signalProcess", { ...signal, dry_run: true });
        const ended = once(bystander, "exit");
        expect(await call("admin", "signalProcess", { ...signal, plan_token })).not.toHaveProperty("error");
        expect(await ended).toEqual([null, "SIGTERM"]);

        const silence = { check: "memory", comment: era, until: new Date(Date.now() + 3_600_000).toISOString() };
        const parked = await call("proposer", "silenceAlert", { ...silence, stated_reason: "it is known" });
        const { id, plan_digest } = parked;
        expect(parked).toMatchObject({ status: "pending", url: `/console/approvals?id=${String(id)}` });
        await asAdmin(`/approvals/${String(id)}/approve`, { plan_digest });
        const approved = await call("proposer", "getApproval", { id, wait: "30s", since: parked["revision"] });
        expect(approved).toMatchObject({ status: "done", result: { check: "memory", comment: era } });
      } finally {
        await mcpdo("daemon", "stop");
      }
    },
    150_000,
  );
});
