import { existsSync } from "node:fs";
import { compare, type Row, type Subject } from "../row.ts";
import { freePort, startServer, startSteward } from "../servers.ts";
import { fetchBody, timeRequests } from "../time-requests.ts";
import { withWorkspace } from "../workspace.ts";

const exporter = "/usr/bin/prometheus-node-exporter";
const scrapes = 200;

const subject: Subject = {
  work: "`GET /metrics`",
  peer: "`prometheus-node-exporter`",
  unit: "ms",
  judged: "peer/ours",
  goal: { is: "more than", value: 1 },
};

const countLines = (text: string): number => text.split("\n").filter((line) => /^[a-z]/.test(line)).length;

export const metrics: Row = {
  name: "metrics",
  summary: "latency of a scrape against Debian's node exporter",
  async measure(options) {
    if (!existsSync(exporter)) {
      return [{ ...subject, skipped: `${exporter} is missing (apt-get install prometheus-node-exporter)` }];
    }
    return withWorkspace(async (workspace) => {
      const ours = await startSteward(workspace, { limits: "counted" });
      // Each route that was used adds its own series.
      for (const path of ["health", "system/info", "system/services", "auth/keys"]) {
        await fetchBody(`${ours.url}/api/v1/${path}`, ours.headers);
      }
      const port = await freePort();
      const argv = [exporter, `--web.listen-address=127.0.0.1:${port}`] as const;
      const peer = await startServer(workspace, { argv, port, path: "/" });
      const lines = { ours: 0, peer: 0 };
      const scrape = async (side: keyof typeof lines): Promise<number> => {
        const server = side === "ours" ? ours : peer;
        const { medianMs, body } = await timeRequests(`${server.url}/metrics`, server.headers, scrapes);
        lines[side] = countLines(body);
        server.forgetOutput();
        return medianMs;
      };
      const notes = () => [`one scrape has ${lines.ours} lines of ours, ${lines.peer} of the peer's`];
      return [await compare(subject, { ours: () => scrape("ours"), peer: () => scrape("peer"), notes }, options)];
    });
  },
};
