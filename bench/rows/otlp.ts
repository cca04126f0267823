import { parseMetrics } from "../../test/process/support/metrics.ts";
import { type Load, sendSpans } from "../../test/process/support/span-load.ts";
import { residentMib } from "../process-usage.ts";
import { compare, type Row } from "../row.ts";
import { freePort, startPeer, startSteward } from "../servers.ts";
import { fetchBody } from "../time-requests.ts";
import { withWorkspace } from "../workspace.ts";

const rate = 10_000;
const seconds = 30;
const mostRounds = 3;

export const otlp: Row = {
  name: "otlp",
  summary: `memory after ${rate} spans a second for ${seconds} s, all of them kept and counted`,
  measure: (options) =>
    withWorkspace((ourWorkspace) =>
      withWorkspace(async (peerWorkspace) => {
        const [grpc, http] = [await freePort(), await freePort()];
        const settings = `tracing: { receiver: on, ports: { grpc: ${grpc}, http: ${http} } }\n`;
        const steward = await startSteward(ourWorkspace, { limits: "counted", settings });
        const collector = await startPeer(peerWorkspace, "collector");
        const loads: Load[] = [];
        const load = async (url: string, pid: number): Promise<number> => {
          loads.push(await sendSpans(url, rate, seconds));
          return residentMib(pid);
        };
        const sent = { ours: 0 };
        const line = await compare(
          {
            work: `receiving ${rate} spans a second for ${seconds} s: memory (RSS)`,
            peer: "a bare HTTP server that reads them and keeps nothing",
            unit: "MiB",
            judged: "ours/peer",
          },
          {
            ours: async () => {
              const figure = await load(`http://127.0.0.1:${http}/v1/traces`, steward.pid);
              sent.ours += loads.at(-1)?.taken ?? 0;
              return figure;
            },
            peer: () => load(`${collector.url}/v1/traces`, collector.pid),
          },
          { ...options, rounds: Math.min(options.rounds, mostRounds) },
        );
        const refused = loads.reduce((sum, each) => sum + each.refused, 0);
        const slowest = Math.max(...loads.map((each) => each.seconds));
        const samples = parseMetrics(await fetchBody(`${steward.url}/metrics`, steward.headers));
        const kept = samples.find(
          ({ name, labels }) => name === "svc_trace_spans_total" && labels["result"] === "kept",
        )?.value;
        if (refused > 0) throw new Error(`${refused} spans were refused`);
        if (kept !== sent.ours) throw new Error(`${sent.ours} spans were sent, and ${kept} counted as kept`);
        return [
          {
            ...line,
            notes: [
              `${sent.ours} spans were sent, and as many counted as kept`,
              `the slowest round took ${slowest.toFixed(1)} s`,
            ],
          },
        ];
      }),
    ),
};
