import { execFile } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { median } from "../harness.ts";
import { compareAll, type Row, type Subject } from "../row.ts";
import { startSteward } from "../servers.ts";
import { fetchBody } from "../time-requests.ts";
import { withWorkspace } from "../workspace.ts";

const run = promisify(execFile);

/** In each round. */
const runs = 5;
/** For so long callers share a sample; a request after it takes a new one. */
const staleMs = 1_050;

const subjectOf = (work: string, hasGoal: boolean): Subject => ({
  work,
  peer: "`ps aux` as a process, whose output is read",
  unit: "ms",
  judged: "peer/ours",
  ...(hasGoal && { goal: { is: "at least", value: 5 } }),
});

async function timed(work: () => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

export const processes: Row = {
  name: "processes",
  summary: "latency of the processes that take most, and of all of them, against ps aux",
  measure: (options) =>
    withWorkspace(async (workspace) => {
      const ours = await startSteward(workspace, { limits: "counted" });
      const counts = { ours: 0, peer: 0 };
      const list = async (query: string): Promise<void> => {
        const body = await fetchBody(`${ours.url}/api/v1/system/processes${query}`, ours.headers);
        counts.ours = (JSON.parse(body) as { total: number }).total;
      };
      const measure = async (query: string): Promise<number> => {
        const times: number[] = [];
        for (let at = 0; at < runs; at += 1) {
          await sleep(staleMs);
          times.push(await timed(() => list(query)));
        }
        return median(times);
      };
      const ps = async (): Promise<number> => {
        const times: number[] = [];
        for (let at = 0; at < runs; at += 1) {
          // As long as ours pauses.
          await sleep(staleMs);
          times.push(
            await timed(async () => {
              const { stdout } = await run("ps", ["aux"], { maxBuffer: 64 * 1024 * 1024 });
              counts.peer = stdout.split("\n").length - 2;
            }),
          );
        }
        return median(times);
      };
      await list("");
      return compareAll(
        [
          subjectOf("`GET /system/processes?limit=20`, a new sample each time", true),
          subjectOf("`GET /system/processes?limit=10000`, all with their command lines, a new sample each time", false),
        ],
        {
          ours: async () => [await measure("?limit=20"), await measure("?limit=10000")],
          peer: async () => {
            const its = await ps();
            return [its, its];
          },
          notes: () => [`${counts.ours} processes of ours, ${counts.peer} of the peer's`],
        },
        options,
      );
    }),
};
