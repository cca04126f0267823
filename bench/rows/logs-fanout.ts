import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type FanoutLoad, type FanoutResult, startFanout } from "../fanout.ts";
import { median } from "../harness.ts";
import { frameLines, startJournal } from "../line-sources.ts";
import { whyNoLogRows } from "../log-queries.ts";
import { compareAll, type Line, type Row, type Subject } from "../row.ts";
import { startPeer, startSteward } from "../servers.ts";
import { fetchBody } from "../time-requests.ts";
import { withWorkspace } from "../workspace.ts";

const loads: readonly FanoutLoad[] = [
  { clients: 10, stalled: 1, lines: 20_000 },
  { clients: 100, stalled: 10, lines: 8_000 },
  { clients: 1000, stalled: 100, lines: 1_500 },
];
const comparedClients = 1000;
const mostRounds = 5;
/** Fewer clients are there to show how the cost grows. */
const mostGrowthRounds = 3;

const subjectsOf = ({ clients, stalled }: FanoutLoad): readonly Subject[] => {
  const work = `\`/ws/logs\`, ${clients} clients of which ${stalled} stall`;
  const peer = "a bare `ws` broadcast of the same bytes";
  const isCompared = clients === comparedClients;
  return [
    {
      work: `${work}: frames delivered`,
      peer,
      unit: "frames/s",
      judged: "ours/peer",
      ...(isCompared && { goal: { is: "at least", value: 0.6 } }),
    },
    { work: `${work}: memory (RSS)`, peer, unit: "MiB", judged: "ours/peer" },
  ];
};

/** Frames that our service has dropped at slow clients. */
const droppedIn = (metrics: string): number => Number(/^svc_ws_dropped_total\{[^}]*\} (\d+)/m.exec(metrics)?.[1] ?? 0);

const share = (values: readonly number[]): string => `${Math.round(median(values) * 100)} %`;

function describeBusy(whose: string, results: readonly FanoutResult[]): string {
  const [server, clients] = [results.map(({ busy }) => busy.server), results.map(({ busy }) => busy.clients)];
  return `${whose} main thread worked ${share(server)} of the time, its clients ${share(clients)}`;
}

export const logsFanout: Row = {
  name: "logs-fanout",
  summary: "lines delivered to 10, 100, 1000 clients of the log stream, a tenth stalled, against a bare ws broadcast",
  async measure(options) {
    const missing = whyNoLogRows();
    if (missing !== undefined) return loads.flatMap(subjectsOf).map((subject) => ({ ...subject, skipped: missing }));
    return withWorkspace(async (workspace) => {
      const dir = join(workspace.directory, "journal");
      mkdirSync(dir);
      const server = await startSteward(workspace, { limits: "counted", journalDir: dir });
      const ours = startFanout(workspace, server, "/api/v1/ws/logs", startJournal(workspace, dir));
      const bare = await startPeer(workspace, "bareBroadcast", { input: true });
      const peer = startFanout(workspace, bare, "/", frameLines(bare, ours.sample));
      const lines: Line[] = [];
      for (const load of loads) {
        const most = load.clients === comparedClients ? mostRounds : mostGrowthRounds;
        const results = { ours: [] as FanoutResult[], peer: [] as FanoutResult[] };
        const run = async (side: keyof typeof results): Promise<readonly number[]> => {
          const result = await (side === "ours" ? ours : peer).run(load);
          results[side].push(result);
          return [result.framesPerSecond, result.residentMib];
        };
        const dropped = async () => droppedIn(await fetchBody(`${server.url}/metrics`, server.headers));
        const droppedBefore = await dropped();
        const notes = async () => [
          `every one of the ${load.clients - load.stalled} clients that read got all ${load.lines} lines of each round in order`,
          `ours dropped ${(await dropped()) - droppedBefore} frames at the clients that stall; the peer keeps all for them`,
          "ours sends lines that are read from the journal together with one write to each client, the peer each line by itself",
          describeBusy("our", results.ours),
          describeBusy("the peer's", results.peer),
        ];
        const sides = { ours: () => run("ours"), peer: () => run("peer"), notes };
        const rounds = Math.min(options.rounds, most);
        lines.push(...(await compareAll(subjectsOf(load), sides, { ...options, rounds })));
      }
      return lines;
    });
  },
};
