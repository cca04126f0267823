import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { operations } from "#contract/index.ts";
import type { Operation } from "#contract/operation.ts";
import { scopes } from "#contract/scopes.ts";
import { isRecord } from "#kernel/values.ts";
import { isTool } from "#transports/mcp/tools.ts";
import { pathOf, send, startTestService, type TestReply, type TestService } from "./harness.ts";

const revision = "2026-07-28";
const accept = "application/json, text/event-stream";

/** A call of a tool as it is on the wire, in both revisions. */
const wires = {
  2025: (name: string, given: object) => ({
    headers: { accept, "mcp-protocol-version": "2025-11-25" },
    body: { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: given } },
  }),
  2026: (name: string, given: object) => ({
    headers: { accept, "mcp-protocol-version": revision, "mcp-method": "tools/call", "mcp-name": name },
    body: {
      ...{ jsonrpc: "2.0", id: 1, method: "tools/call" },
      params: {
        ...{ name, arguments: given },
        _meta: {
          "io.modelcontextprotocol/protocolVersion": revision,
          "io.modelcontextprotocol/clientInfo": { name: "probe", version: "1" },
          "io.modelcontextprotocol/clientCapabilities": {},
        },
      },
    },
  }),
} as const;

interface ToolAnswer {
  readonly isError?: boolean;
  readonly structuredContent: Record<string, unknown>;
}

/** The answer to the request in a body that is JSON or an event. */
function answerIn({ text, status }: TestReply): ToolAnswer {
  const json = text.startsWith("{") ? text : (/^data: (\{.*)$/m.exec(text)?.[1] ?? "");
  const { result } = JSON.parse(json) as { result?: ToolAnswer };
  if (result === undefined) throw new Error(`status ${status}: ${text}`);
  return result;
}

const parametersOf = ({ path }: Operation) =>
  Object.fromEntries([...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => [name, `some-${name}`]));

/** What an answer says, without what differs from call to call. */
const gist = (body: unknown) => (isRecord(body) && "error" in body ? body["error"] : Object.keys(Object(body)).sort());

/** The access matrix once more, of every tool: a new row of the table is in it by itself. */
describe("the access matrix through MCP", () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService({ rateLimits: "off" });
  });
  afterAll(() => service.app.close());

  const tools = Object.entries<Operation>(operations).filter(([name, row]) => isTool(name, row));

  const keysOf = ({ scope, alsoNeeds = [] }: Operation): Readonly<Record<string, readonly string[]>> => ({
    "no scope": [],
    "all other scopes": scopes.filter((each) => each !== scope),
    "just what it needs": scope === "self" ? [] : [scope, ...alsoNeeds],
    "all scopes on another host": scopes.map((each) => `${each}@other-*`),
    "all scopes on this host": scopes.map((each) => `${each}@h*t`),
    ...(scope !== "self" && { "a scope for something else": [`${scope}:something-else*`, ...alsoNeeds] }),
  });

  it.each(tools)("%s answers each key as over HTTP, in both revisions", async (name, operation) => {
    const isMutation = operation.effect !== "read";
    const path = `${pathOf(operation)}${isMutation ? "?dry_run=true" : ""}`;
    const given = { ...parametersOf(operation), ...(isMutation && { dry_run: true }) };
    for (const [kind, granted] of Object.entries(keysOf(operation))) {
      const key = service.key([...granted]);
      const over = await send(service, { method: operation.method, path, key });
      for (const [year, wire] of Object.entries(wires)) {
        const reply = await send(service, { method: "POST", path: "/api/v1/mcp", key, ...wire(name, given) });
        const answer = answerIn(reply);
        expect([name, kind, year, answer.isError === true, gist(answer.structuredContent)]).toEqual([
          ...[name, kind, year, over.status >= 400, gist(over.json)],
        ]);
      }
    }
  });

  it("refuses every bad credential before it looks at what is asked", async () => {
    const revoked = service.key(["system:read"]);
    service.service.keyring.revoke(revoked.slice(4, 12));
    for (const key of ["hello", service.admin.replace(/.$/, "!"), service.key([], service.clock.now() - 1), revoked])
      for (const wire of Object.values(wires)) {
        const reply = await send(service, { method: "POST", path: "/api/v1/mcp", key, ...wire("whoami", {}) });
        expect([key, reply.status]).toEqual([key, 401]);
      }
  });

  it("carries out nothing dangerous without the token of a plan, whatever the key", async () => {
    const dangerous = tools.filter(([, { effect }]) => effect === "danger");
    expect(dangerous.length).toBeGreaterThan(10);
    const before = service.units.actions.length;
    for (const [name, operation] of dangerous) {
      const wire = wires[2026](name, parametersOf(operation));
      const { isError } = answerIn(
        await send(service, { method: "POST", path: "/api/v1/mcp", key: service.admin, ...wire }),
      );
      expect([name, isError]).toEqual([name, true]);
    }
    expect(service.units.actions.length).toBe(before);
  });
});
