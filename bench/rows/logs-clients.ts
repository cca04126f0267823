import { fileURLToPath } from "node:url";
import { quantile } from "../harness.ts";
import type { ClientsResult, ClientsTask } from "../log-clients.ts";
import { bigJournal, whyNoLogRows } from "../log-queries.ts";
import { residentMib } from "../process-usage.ts";
import { compareAll, type Row, type Subject } from "../row.ts";
import { makeKey, memorySettings, startSteward } from "../servers.ts";
import { timeRequests } from "../time-requests.ts";
import { withWorkspace } from "../workspace.ts";

const entries = 10_200_000;
const [clients, keysOfClients, seconds] = [50, 10, 20];
const [healthRequests, healthPauseMs, sampleMs] = [800, 20, 50];
const mostRounds = 3;
const program = fileURLToPath(new URL("../log-clients.ts", import.meta.url));

const subjectOf = (work: string, unit: Subject["unit"], most?: number): Subject => ({
  work: `${clients} clients with mixed queries on 10.2 million entries in 60 files: ${work}`,
  peer: "the same without clients",
  unit,
  judged: "ours",
  ...(most !== undefined && { goal: { is: "at most", value: most } }),
});
const subjects = [
  subjectOf("resident memory of the process, its peak", "MiB", 350),
  subjectOf("`GET /health`, median", "ms"),
  subjectOf("`GET /health`, 99th percentile", "ms", 20),
];

export const logsClients: Row = {
  name: "logs-clients",
  summary:
    "memory and latency of the health status while 50 clients query 10.2 million entries; only where it is named",
  isOnlyNamed: true,
  async measure(options) {
    const missing = whyNoLogRows();
    if (missing !== undefined) return subjects.map((subject) => ({ ...subject, skipped: missing }));
    const journal = await bigJournal(entries, options.say);
    return withWorkspace(async (workspace) => {
      const server = await startSteward(workspace, {
        limits: "counted",
        journalDir: journal.dir,
        env: memorySettings(),
      });
      const keys = await Promise.all(
        Array.from({ length: keysOfClients }, (_, index) => makeKey(server, `client-${index}`)),
      );
      /** Peak of the memory, then quantiles of the latency. */
      const observe = async (): Promise<readonly number[]> => {
        let peak = residentMib(server.pid);
        const sampling = setInterval(() => {
          peak = Math.max(peak, residentMib(server.pid));
        }, sampleMs);
        try {
          const health = `${server.url}/api/v1/health`;
          const { times } = await timeRequests(health, server.headers, healthRequests, healthPauseMs);
          server.forgetOutput();
          return [peak, quantile(times, 0.5), quantile(times, 0.99)];
        } finally {
          clearInterval(sampling);
        }
      };
      const idle = await observe();
      const results: ClientsResult[] = [];
      const underClients = async (): Promise<readonly number[]> => {
        const from = results.length * 10_000;
        const task: ClientsTask = { url: server.url, keys, journal, clients, seconds, from };
        const running = workspace.start([process.execPath, program, JSON.stringify(task)], {});
        const figures = await observe();
        await running.ended;
        try {
          results.push(JSON.parse(running.output()) as ClientsResult);
        } catch (error) {
          throw new Error(`the clients failed: ${running.output()}`, { cause: error });
        }
        return figures;
      };
      const notes = () => [
        `${seconds} s a round; every query asks for something new, a tenth are searches; memory is bounded as by the unit of the package; answers by status: ${JSON.stringify(results)}`,
        `the side without clients was measured once, before the first query`,
      ];
      const sides = { ours: underClients, peer: () => Promise.resolve(idle), notes };
      return compareAll(subjects, sides, { ...options, rounds: Math.min(options.rounds, mostRounds) });
    });
  },
};
