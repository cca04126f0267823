import { setTimeout as sleep } from "node:timers/promises";
import { summarise } from "../harness.ts";
import { cpuSeconds, residentMib } from "../process-usage.ts";
import { compare, type Row, type RowOptions, type Subject, toLine } from "../row.ts";
import { type Server, startPeer, startSteward } from "../servers.ts";
import { timeRequests } from "../time-requests.ts";
import { type Workspace, withWorkspace } from "../workspace.ts";

const bare = "bare Fastify 5";
const requests = 100;
const settleMs = 3_000;
/** Long enough for the first round of checks, and short enough that no check runs a second time. */
const idleSeconds = 60;
/** What follows the first answer belongs to the start. */
const beginMs = 1_000;
/** Memory hardly differs from start to start, and each takes seconds. */
const mostMemoryRounds = 3;

type Side = (workspace: Workspace) => Promise<Server>;
const ours: Side = (workspace) => startSteward(workspace, { limits: "default" });
const bareServer: Side = (workspace) => startPeer(workspace, "bareFastify");

/** Starts a server, asks it something and ends it. */
async function during(workspace: Workspace, side: Side, ask: (server: Server) => Promise<number>): Promise<number> {
  const server = await side(workspace);
  try {
    return await ask(server);
  } finally {
    await server.stop();
  }
}

async function idleMemory(server: Server): Promise<number> {
  await timeRequests(`${server.url}/api/v1/health`, server.headers, requests);
  await sleep(settleMs);
  return residentMib(server.pid);
}

const startTime: Subject = {
  work: "start to first answer, `npm start`",
  peer: bare,
  unit: "ms",
  judged: "ours/peer",
  goal: { is: "at most", value: 2.5 },
};
const memory: Subject = {
  work: `idle memory (RSS) after ${requests} requests`,
  peer: bare,
  unit: "MiB",
  judged: "ours/peer",
  goal: { is: "at most", value: 1.5 },
};
const cpu: Subject = {
  work: `idle CPU over ${idleSeconds} s, the first round of checks in them, no client`,
  peer: bare,
  unit: "% of a core",
  judged: "ours",
  goal: { is: "less than", value: 0.3 },
};

/** Both idle side by side in the same time: they take nothing from each other. */
async function compareIdleCpu(subject: Subject, workspace: Workspace, peer: Side, { say }: RowOptions) {
  // Ours last: its checks begin with its first second.
  const idlePeer = await peer(workspace);
  const servers = [await ours(workspace), idlePeer];
  await sleep(beginMs);
  say(`${subject.work}: waiting`);
  const before = servers.map(({ pid }) => cpuSeconds(pid));
  await sleep(idleSeconds * 1000);
  const [our = 0, its = 0] = servers.map(({ pid }, index) => {
    return ((cpuSeconds(pid) - (before[index] ?? 0)) / idleSeconds) * 100;
  });
  await Promise.all(servers.map((server) => server.stop()));
  return toLine(subject, summarise([{ ours: our, peer: its }], "ours/peer"));
}

function measureStart(
  peer: Side,
  subjects: Readonly<Record<"startTime" | "memory" | "cpu", Subject>>,
  options: RowOptions,
) {
  return withWorkspace(async (workspace) => {
    const startMs = (side: Side) => during(workspace, side, (server) => Promise.resolve(server.startMs));
    const mib = (side: Side) => during(workspace, side, idleMemory);
    const memoryRounds = { ...options, rounds: Math.min(options.rounds, mostMemoryRounds) };
    return [
      await compare(subjects.startTime, { ours: () => startMs(ours), peer: () => startMs(peer) }, options),
      await compare(subjects.memory, { ours: () => mib(ours), peer: () => mib(peer) }, memoryRounds),
      await compareIdleCpu(subjects.cpu, workspace, peer, options),
    ];
  });
}

export const start: Row = {
  name: "start",
  summary: "time to start, idle memory and idle CPU against bare Fastify",
  measure: (options) => measureStart(bareServer, { startTime, memory, cpu }, options),
};

/** Names the directory of another checkout, in which `npm start` has worked once. */
const otherCheckout = "STEWARD_BENCH_CHECKOUT";

export const startBefore: Row = {
  name: "start-before",
  summary: "the same against the service of another checkout",
  isOnlyNamed: true,
  async measure(options) {
    const checkout = process.env[otherCheckout];
    const against = {
      peer: "another checkout of Steward",
      judged: "ours/peer",
      goal: { is: "at most", value: 1 },
    } as const;
    if (checkout === undefined) {
      const skipped = `set ${otherCheckout} to the directory of another checkout`;
      return [{ work: startTime.work, peer: against.peer, skipped }];
    }
    const before: Side = (workspace) => startSteward(workspace, { limits: "default", checkout });
    const subjects = {
      startTime: { ...startTime, ...against },
      memory: { ...memory, ...against },
      cpu: { ...cpu, ...against },
    };
    return measureStart(before, subjects, options);
  },
};
