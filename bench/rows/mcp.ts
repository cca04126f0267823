import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { median } from "../harness.ts";
import { residentMib } from "../process-usage.ts";
import { compare, type Row } from "../row.ts";
import { type Server, startSteward } from "../servers.ts";
import { withWorkspace } from "../workspace.ts";

const calls = 300;
const path = "/api/v1/system/info";

/** The median of calls that are made one after another, in milliseconds. */
async function medianOf(call: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let left = calls; left > 0; left -= 1) {
    const startedAt = performance.now();
    await call();
    times.push(performance.now() - startedAt);
  }
  return median(times);
}

async function connect({ url, headers }: Server): Promise<Client> {
  const client = new Client({ name: "bench", version: "1" }, { versionNegotiation: { mode: { pin: "2026-07-28" } } });
  const requestInit = { headers: { ...headers } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/api/v1/mcp`), { requestInit }));
  return client;
}

export const mcp: Row = {
  name: "mcp",
  summary: "what a tool call of a model takes beyond the same call over HTTP, and the memory of the protocol",
  measure: (options) =>
    withWorkspace(async (workspace) => {
      const server = await startSteward(workspace, { limits: "counted" });
      const plain = () =>
        fetch(`${server.url}${path}`, { headers: { ...server.headers } }).then((answer) => answer.json());
      await medianOf(plain);
      const before = residentMib(server.pid);
      const client = await connect(server);
      const tool = () => client.callTool({ name: "getSystemInfo", arguments: {} });
      await medianOf(tool);
      const mebibytes = residentMib(server.pid) - before;
      const { tools } = await client.listTools();
      const listed = JSON.stringify(tools).length;
      const line = await compare(
        {
          work: "a tool call of a model, one after another: beyond the same call over HTTP",
          peer: "the call over HTTP",
          unit: "ms",
          judged: "ours",
          goal: { is: "at most", value: 2 },
        },
        {
          ours: async () => (await medianOf(tool)) - (await medianOf(plain)),
          peer: () => medianOf(plain),
          notes: () => [
            `${tools.length} tools are listed in ${(listed / 1024).toFixed(1)} KiB`,
            `resident memory is ${mebibytes.toFixed(1)} MiB more after the first ${calls} tool calls`,
          ],
        },
        options,
      );
      await client.close();
      await server.stop();
      return [line];
    }),
};
