import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import type { TestService } from "./harness.ts";

/** The two revisions of the protocol that are served. */
export const revisions = [
  ["2025, with a handshake", "legacy"],
  ["2026, stateless", { pin: "2026-07-28" }],
] as const;
export type Revision = (typeof revisions)[number][1];

export interface McpResult {
  readonly isError?: boolean;
  readonly structuredContent?: Record<string, unknown>;
  readonly content: readonly { readonly type: string; readonly text?: string }[];
}

/** A client that we did not write, whose requests are injected. */
export async function mcpClient(
  { app }: Pick<TestService, "app">,
  credential: Readonly<Record<string, string>>,
  revision: Revision,
  toolsets = "all",
) {
  const statuses: number[] = [];
  const transport = new StreamableHTTPClientTransport(new URL(`http://localhost/api/v1/mcp?toolsets=${toolsets}`), {
    async fetch(url, init = {}) {
      const headers = new Headers(init.headers);
      for (const [name, value] of Object.entries(credential)) headers.set(name, value);
      const { pathname, search } = new URL(String(url));
      const answer = await app.inject({
        method: (init.method ?? "GET") as "GET",
        url: pathname + search,
        headers: { host: "localhost", ...Object.fromEntries(headers) },
        ...(typeof init.body === "string" && { payload: init.body }),
      });
      statuses.push(answer.statusCode);
      return new Response(answer.statusCode === 202 || answer.body === "" ? null : answer.body, {
        status: answer.statusCode,
        headers: { "content-type": String(answer.headers["content-type"] ?? "") },
      });
    },
  });
  const client = new Client({ name: "probe", version: "1.2" }, { versionNegotiation: { mode: revision } });
  await client.connect(transport);
  return {
    client,
    statuses,
    call: async (name: string, given: Record<string, unknown> = {}): Promise<McpResult> =>
      (await client.callTool({ name, arguments: given })) as McpResult,
  };
}
