import { setTimeout as sleep } from "node:timers/promises";
import { median } from "./harness.ts";
import type { MeasuredLine, RowOptions } from "./row.ts";
import { compare } from "./row.ts";
import type { PeerName } from "./servers.ts";
import { type Server, startPeer, startSteward } from "./servers.ts";
import { fetchBody } from "./time-requests.ts";
import { withWorkspace } from "./workspace.ts";
import { type LoadResult, loadWithWrk } from "./wrk.ts";

/** The members of a JSON value with their types, in order. */
function shapeOf(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return typeof value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shapeOf(member)]));
}

const settleMs = 30_000;

/** Waits until both give the same answer: before its first round of checks is over the service says so. */
async function requireSameShape(ours: () => Promise<string>, peer: () => Promise<string>): Promise<void> {
  for (const endMs = performance.now() + settleMs; ; await sleep(500)) {
    const bodies = await Promise.all([ours(), peer()]);
    const [ourShape, peerShape] = bodies.map((body) => JSON.stringify(shapeOf(JSON.parse(body))));
    if (ourShape === peerShape) return;
    if (performance.now() > endMs)
      throw new Error(`cannot compare: the answers differ\nours: ${ourShape}\npeer: ${peerShape}`);
  }
}

/** A main thread that is idle for longer than this was kept waiting by the load or by the machine. */
const leastBusy = 0.85;

function describeBusy(name: string, results: readonly LoadResult[]): string {
  const busy = median(results.map((result) => result.busy));
  const warning = busy < leastBusy ? " (the load or the machine was the limit)" : "";
  const micros = median(results.map((result) => (result.busy / result.requestsPerSecond) * 1e6));
  return `${name} worked ${Math.round(busy * 100)} % of the time, ${micros.toFixed(1)} µs a request${warning}`;
}

/**
 * Requests per second of one path of ours against the same path of a bare server, loaded in turn with the same requests.
 * @throws Error when the two answers do not have the same members.
 */
export async function compareThroughput(
  subject: { path: string; work: string; peer: PeerName; peerWork: string; atLeast: number },
  options: RowOptions,
): Promise<MeasuredLine> {
  const { path, work, peerWork, atLeast } = subject;
  return withWorkspace(async (workspace) => {
    const ours = await startSteward(workspace, { limits: "counted" });
    const peer = await startPeer(workspace, subject.peer);
    const { headers } = ours;
    const ask = (server: Server) => (): Promise<string> => fetchBody(`${server.url}${path}`, headers);
    await requireSameShape(ask(ours), ask(peer));
    const results = { ours: [] as LoadResult[], peer: [] as LoadResult[] };
    const load = async (side: keyof typeof results): Promise<number> => {
      const result = await loadWithWrk(workspace, side === "ours" ? ours : peer, path, headers);
      results[side].push(result);
      return result.requestsPerSecond;
    };
    return compare(
      { work, peer: peerWork, unit: "req/s", judged: "ours/peer", goal: { is: "at least", value: atLeast } },
      {
        ours: () => load("ours"),
        peer: () => load("peer"),
        notes: () => [describeBusy("our main thread", results.ours), describeBusy("the peer's", results.peer)],
      },
      options,
    );
  });
}
