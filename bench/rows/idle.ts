import { setTimeout as sleep } from "node:timers/promises";
import { bootHost, type Host } from "../../test/host/host.ts";
import { missingRequirements } from "../../test/host/requirements.ts";
import { summarise } from "../harness.ts";
import { cpuSeconds } from "../process-usage.ts";
import { type Line, type Row, type RowOptions, type Subject, toLine } from "../row.ts";
import { startPeer } from "../servers.ts";
import { withWorkspace } from "../workspace.ts";

const idleSeconds = 600;
/** The start and the first round of checks are a row of their own. */
const settleMs = 90_000;
const microsecondsPerSecond = 1_000_000;

const common = { peer: "bare Fastify 5", unit: "% of a core", judged: "ours" } as const;
const alone: Subject = {
  ...common,
  work: `idle CPU over ${idleSeconds} s on a booted host, all checks, no client: the service and the programs that it starts`,
  goal: { is: "less than", value: 0.3 },
};
const withRoot: Subject = {
  ...common,
  work: `idle CPU over ${idleSeconds} s on a booted host, all checks, no client: root's side as well`,
};

/** Where the control groups of version 2 are mounted: alone, or beside those of version 1. */
const roots = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];

/** Processor seconds of a unit with all its processes, those that have ended included. */
async function usedBy(host: Host, unit: string): Promise<number> {
  const { stdout } = await host.exec(["systemctl", "show", "--property=ControlGroup", "--value", unit]);
  for (const root of roots) {
    const file = `${root}${stdout.trim()}/cpu.stat`;
    const { stdout: text, exitCode } = await host.exec(["cat", file], { allowFailure: true });
    const micros = /^usage_usec (\d+)$/m.exec(text)?.[1];
    if (exitCode === 0 && micros !== undefined) return Number(micros) / microsecondsPerSecond;
  }
  throw new Error(`cannot tell the processor time of ${unit}: its control group has none`);
}

async function compareIdle({ say }: RowOptions): Promise<readonly Line[]> {
  const host = await bootHost({ log: say });
  try {
    await host.startService();
    const both = () => Promise.all([usedBy(host, "steward.service"), usedBy(host, "system-stewardtasks.slice")]);
    return await withWorkspace(async (workspace) => {
      const peer = await startPeer(workspace, "bareFastify");
      await sleep(settleMs);
      say(`waiting for ${idleSeconds} s`);
      const [[service, tasks], before] = [await both(), cpuSeconds(peer.pid)];
      await sleep(idleSeconds * 1000);
      const [[serviceThen, tasksThen], after] = [await both(), cpuSeconds(peer.pid)];
      await peer.stop();
      const share = (seconds: number): number => (seconds / idleSeconds) * 100;
      const line = (subject: Subject, seconds: number): Line =>
        toLine(subject, summarise([{ ours: share(seconds), peer: share(after - before) }], "ours/peer"));
      return [line(alone, serviceThen - service), line(withRoot, serviceThen - service + tasksThen - tasks)];
    });
  } finally {
    await host.stop();
  }
}

export const idle: Row = {
  name: "idle",
  summary: "processor time of ten minutes without a client, in the test host, all checks at their intervals",
  isOnlyNamed: true,
  async measure(options) {
    const missing = missingRequirements();
    if (missing.length > 0) return [{ ...alone, skipped: missing.join("; ") }];
    return compareIdle(options);
  },
};
