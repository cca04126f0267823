import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createClient } from "#client/index.ts";
import { revisions } from "../api/mcp-client.ts";
import { runProgram, runSteward } from "./support/program.ts";
import { baseEnvironment, mainFile, type RunningService, startService } from "./support/service.ts";
import { createWorkspace } from "./support/workspace.ts";

const workspace = createWorkspace();
let service: RunningService;
let key: string;
const keyFile = workspace.path("model.key");

beforeAll(async () => {
  service = await startService(workspace);
  const made = await createClient({ url: service.url, key: service.adminKey }).createKey({
    body: { name: "model", scopes: ["viewer", "propose:system:hostname"] },
  });
  ({ key } = made as { key: string });
  writeFileSync(keyFile, `${key}\n`, { mode: 0o600 });
});
afterAll(() => workspace.dispose());

const ways = {
  http: () =>
    new StreamableHTTPClientTransport(new URL(`${service.url}/api/v1/mcp`), {
      requestInit: { headers: { "X-API-Key": key } },
    }),
  stdio: () =>
    new StdioClientTransport({
      command: process.execPath,
      args: [mainFile, "--url", service.url, "--key-file", keyFile, "mcp"],
      env: { ...baseEnvironment(workspace) },
    }),
} as const;

describe.each(Object.entries(ways))("MCP over %s", (_, transport) => {
  it.each(revisions)("of %s lists tools and calls them with the key's scopes", async (__, mode) => {
    const client = new Client({ name: "probe", version: "1.2" }, { versionNegotiation: { mode } });
    await client.connect(transport());
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain("getSystemInfo");
    const info = await client.callTool({ name: "getSystemInfo", arguments: {} });
    expect(info.structuredContent).toMatchObject({ cpu: { threads: expect.any(Number) } });
    const refused = await client.callTool({ name: "restartService", arguments: { name: "größe" } });
    expect([refused.isError, JSON.stringify(refused.structuredContent)]).toEqual([
      ...[true, expect.stringContaining("FORBIDDEN")],
    ]);
    const { contents } = await client.readResource({ uri: "steward://checks" });
    expect(contents).toHaveLength(1);
    await client.close();
  });
});

describe("steward mcp", () => {
  it("says in the answer to a request that the service cannot be reached", async () => {
    const request = JSON.stringify({ jsonrpc: "2.0", id: 7, method: "tools/list" });
    const argv = [process.execPath, mainFile, "--url", "http://127.0.0.1:1", "--key-file", keyFile, "mcp"] as const;
    const { code, stdout } = await runProgram(workspace, [...argv], { input: `${request}\nnothing\n` });
    expect([code, stdout.split("\n").map((line) => line.slice(0, 60))]).toEqual([0, expect.any(Array)]);
    expect(stdout).toContain('"id":7,"error":{"code":-32603,"message":"');
    expect(stdout).toContain('"id":null,"error":{"code":-32700');
  });

  it("answers each request once, also where the service breaks off or refuses without an id", async () => {
    const refused = JSON.stringify({ jsonrpc: "2.0", id: null, error: { code: -32_000, message: "not this" } });
    const event = (message: object) => `data: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`;
    const progress = event({ method: "notifications/progress", params: {} });
    const bodies = ["", refused, progress, `${progress}${event({ id: 3, result: {} })}`];
    const server = createServer((request, response) => {
      request.setEncoding("utf8").once("data", (text: string) => {
        const { id } = JSON.parse(text) as { id: number };
        const type = bodies[id] === refused ? "application/json" : "text/event-stream";
        response.writeHead(200, { "Content-Type": type }).end(bodies[id]);
      });
    });
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const input = bodies.map((_, id) => `${JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call" })}\n`).join("");
    const argv = [process.execPath, mainFile, "--url", url, "--key-file", keyFile, "mcp"] as const;
    const { stdout } = await runProgram(workspace, [...argv], { input });
    server.close();
    const messages = stdout
      .trim()
      .split("\n")
      .map(
        (line) => JSON.parse(line) as { id?: number; method?: string; error?: { message: string }; result?: object },
      );
    const answers = messages.filter(({ method }) => method === undefined).sort((a, b) => (a.id ?? 0) - (b.id ?? 0));
    expect(messages.length - answers.length).toBe(2);
    expect(answers.map(({ id, error, result }) => [id, error?.message.slice(0, 20), result])).toEqual([
      [0, "the answer broke off", undefined],
      [1, "not this", undefined],
      [2, "the answer broke off", undefined],
      [3, undefined, {}],
    ]);
  });

  it("prints settings for each client, with what leads to the same service", async () => {
    const { stdout } = await runSteward(workspace, ["--context", "web1", "mcp", "install", "cursor"]);
    expect(JSON.parse(stdout)).toEqual({
      mcpServers: { steward: { command: "steward", args: ["--context", "web1", "mcp"] } },
    });
    const { stdout: line } = await runSteward(workspace, [
      "--key-file",
      "my model.key",
      "mcp",
      "install",
      "claude-code",
    ]);
    const path = workspace.path("my model.key");
    expect(line).toBe(`claude mcp add steward -- steward --key-file '${path}' mcp\n`);
  });
});
