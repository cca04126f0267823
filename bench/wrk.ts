import { cpuSeconds } from "./process-usage.ts";
import type { Server } from "./servers.ts";
import type { Workspace } from "./workspace.ts";

const load = { connections: 32, seconds: 4 } as const;

/** What a load brought to light. */
export interface LoadResult {
  readonly requestsPerSecond: number;
  /** Share of the time that the server's main thread worked: well under 1 means that something else was the limit. */
  readonly busy: number;
}

/**
 * Loads one path with wrk.
 * @throws Error when wrk is missing, or when any answer is not a good one.
 */
export async function loadWithWrk(
  workspace: Workspace,
  server: Server,
  path: string,
  headers: Server["headers"],
): Promise<LoadResult> {
  const argv: [string, ...string[]] = ["wrk", "-t1", `-c${load.connections}`, `-d${load.seconds}s`, "--latency"];
  for (const [name, value] of Object.entries(headers)) argv.push("-H", `${name}: ${value}`);
  const usedBefore = cpuSeconds(server.pid, server.pid);
  const startedAt = performance.now();
  const wrk = workspace.start([...argv, `${server.url}${path}`], {});
  await wrk.ended;
  const seconds = (performance.now() - startedAt) / 1000;
  const busy = (cpuSeconds(server.pid, server.pid) - usedBefore) / seconds;
  server.forgetOutput();
  const printed = wrk.output();
  const bad = /^.*(?:Non-2xx|Socket errors).*$/m.exec(printed)?.[0];
  if (bad !== undefined) throw new Error(`cannot count the load on ${path}: ${bad.trim()}`);
  const found = /^Requests\/sec:\s+([\d.]+)/m.exec(printed)?.[1];
  if (found === undefined) throw new Error(`cannot read what wrk printed:\n${printed}`);
  return { requestsPerSecond: Number(found), busy };
}
