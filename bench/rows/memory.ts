import { setTimeout as sleep } from "node:timers/promises";
import { bootHost } from "../../test/host/host.ts";
import { missingRequirements } from "../../test/host/requirements.ts";
import type { RunningService } from "../../test/host/service.ts";
import { summarise } from "../harness.ts";
import { residentMib, residentOf } from "../process-usage.ts";
import { type Line, type Row, type RowOptions, type Subject, toLine } from "../row.ts";
import { startPeer } from "../servers.ts";
import { withWorkspace } from "../workspace.ts";

const minutes = 60;
const minuteMs = 60_000;
const messages = 200_000;

const subject: Subject = {
  work: "memory (RSS) after an hour: installed, all checks, a stream, 50 queries",
  peer: "bare Fastify 5",
  unit: "MiB",
  judged: "ours",
  goal: { is: "less than", value: 120 },
};

/** What a person and a script ask in an hour, one after the other. */
const queries = [
  "health/checks",
  "system/info",
  "system/services",
  "system/processes",
  "system/logs?limit=1000",
  "system/logs?grep=number%20199&limit=100",
  "system/logs/histogram",
  "updates/check",
  "packages?limit=100",
  "system/logs?priority=3&unit=steward.service",
];
const rounds = 5;

/** A message each, of some hundred bytes. */
const writer = `import socket
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.connect("/run/systemd/journal/socket")
for n in range(${messages}): s.send(b"MESSAGE=request number %d answered with 200 in 12 ms, 1843 bytes sent to the client\\nSYSLOG_IDENTIFIER=web-%d\\nPRIORITY=6\\n" % (n, n % 7))`;

async function ask({ url, adminKey }: RunningService, path: string): Promise<void> {
  const answer = await fetch(`${url}/api/v1/${path}`, { headers: { "X-API-Key": adminKey } });
  if (!answer.ok) throw new Error(`cannot measure: ${path} answers ${answer.status}: ${await answer.text()}`);
  await answer.arrayBuffer();
}

async function measureMemory({ say }: RowOptions): Promise<Line> {
  const host = await bootHost({ log: say });
  try {
    await host.writeFile("/etc/systemd/journald.conf.d/50-bench.conf", "[Journal]\nRateLimitBurst=0\n");
    await host.exec(["systemctl", "restart", "systemd-journald"]);
    await host.exec(["python3", "-c", writer]);
    const service = await host.startService();
    const inGuest = await service.pid();
    const resident = async (): Promise<number> => {
      const { stdout: status } = await host.exec(["cat", `/proc/${inGuest}/status`]);
      return residentOf(status);
    };
    return await withWorkspace(async (workspace) => {
      const peer = await startPeer(workspace, "bareFastify");
      const stream = new WebSocket(`${service.url.replace("http", "ws")}/api/v1/ws/logs?api_key=${service.adminKey}`);
      let received = 0;
      stream.addEventListener("message", () => (received += 1));
      const every = Math.floor((minutes * minuteMs) / (rounds * queries.length));
      const seen: number[] = [];
      for (let round = 0; round < rounds; round += 1) {
        for (const path of queries) {
          await ask(service, path);
          await sleep(every);
          seen.push(await resident());
          say(`${path}: ${seen.at(-1)?.toFixed(1)} MiB`);
        }
      }
      const isOpen = stream.readyState === WebSocket.OPEN;
      stream.close();
      if (!isOpen || received === 0) throw new Error("cannot measure: the stream did not follow to the end");
      const pair = { ours: seen.at(-1) ?? Number.NaN, peer: residentMib(peer.pid) };
      await peer.stop();
      return toLine(subject, summarise([pair], "ours/peer"), [
        `${messages} entries in the journal; the greatest of ${seen.length} readings: ${Math.max(...seen).toFixed(1)} MiB`,
      ]);
    });
  } finally {
    await host.stop();
  }
}

export const memory: Row = {
  name: "memory",
  summary: "memory of the installed service after an hour of ordinary use, in the test host; only where it is named",
  isOnlyNamed: true,
  async measure(options) {
    const missing = missingRequirements();
    if (missing.length > 0) return [{ ...subject, skipped: missing.join("; ") }];
    return [await measureMemory(options)];
  },
};
