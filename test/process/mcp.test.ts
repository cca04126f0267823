import { writeFileSync } from "node:fs";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createClient } from "#client/index.ts";
import { revisions } from "../api/mcp-client.ts";
import { runSteward } from "./support/program.ts";
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
    const { runProgram } = await import("./support/program.ts");
    const argv = [process.execPath, mainFile, "--url", "http://127.0.0.1:1", "--key-file", keyFile, "mcp"] as const;
    const { code, stdout } = await runProgram(workspace, [...argv], { input: `${request}\nnothing\n` });
    expect([code, stdout.split("\n").map((line) => line.slice(0, 60))]).toEqual([0, expect.any(Array)]);
    expect(stdout).toContain('"id":7,"error":{"code":-32603,"message":"');
    expect(stdout).toContain('"id":null,"error":{"code":-32700');
  });

  it("prints settings for each client, with what leads to the same service", async () => {
    const { stdout } = await runSteward(workspace, ["--context", "web1", "mcp", "install", "cursor"]);
    expect(JSON.parse(stdout)).toEqual({
      mcpServers: { steward: { command: "steward", args: ["--context", "web1", "mcp"] } },
    });
  });
});
