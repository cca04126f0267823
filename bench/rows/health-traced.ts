import { parseMetrics } from "../../test/process/support/metrics.ts";
import { compare, type Row } from "../row.ts";
import { startPeer, startSteward } from "../servers.ts";
import { fetchBody } from "../time-requests.ts";
import { withWorkspace } from "../workspace.ts";
import { loadWithWrk } from "../wrk.ts";

const path = "/api/v1/health";

export const healthTraced: Row = {
  name: "health-traced",
  summary: "requests per second of the health status with every request traced, and without traces",
  measure: (options) =>
    withWorkspace((tracedWorkspace) =>
      withWorkspace(async (plainWorkspace) => {
        const collector = await startPeer(tracedWorkspace, "collector");
        const settings = `tracing: { endpoint: "${collector.url}" }\n`;
        const traced = await startSteward(tracedWorkspace, { limits: "counted", settings });
        const plain = await startSteward(plainWorkspace, { limits: "counted" });
        const load = async (server: typeof plain): Promise<number> =>
          (await loadWithWrk(plainWorkspace, server, path, server.headers)).requestsPerSecond;
        const line = await compare(
          {
            work: "`GET /health` with every request traced, its span sent to a collector",
            peer: "the same without traces",
            unit: "req/s",
            judged: "ours/peer",
          },
          {
            ours: () => load(traced),
            peer: () => load(plain),
          },
          options,
        );
        const samples = parseMetrics(await fetchBody(`${traced.url}/metrics`, traced.headers));
        const spans = (result: string): number =>
          samples.find(({ name, labels }) => name === "svc_trace_spans_total" && labels["result"] === result)?.value ??
          0;
        return [{ ...line, notes: [`${spans("exported")} spans were sent, ${spans("dropped")} dropped`] }];
      }),
    ),
};
