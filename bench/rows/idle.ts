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
  throw new Error(`cannot read the processor time of ${unit}: its control group has none`);
}

/** Messages at a steady pace, as long as the host is up. */
const writer = `import socket, time
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.connect("/run/systemd/journal/socket")
n = 0
while True:
    for _ in range(50):
        n += 1
        s.send(b"MESSAGE=request number %d answered with 200 in %d ms\\nSYSLOG_IDENTIFIER=web-%d\\nPRIORITY=6\\n" % (n, n % 97, n % 7))
    time.sleep(0.05)`;

const logged: Subject = {
  ...common,
  work: `CPU of the service over ${idleSeconds} s in which 1,000 lines a second are logged, with all that it keeps of them`,
  peer: "the same without lines",
  goal: { is: "less than", value: 3 },
};

async function compareLogged({ say }: RowOptions): Promise<Line> {
  const host = await bootHost({ log: say });
  try {
    await host.writeFile("/etc/systemd/journald.conf.d/50-bench.conf", "[Journal]\nRateLimitBurst=0\n");
    await host.exec(["systemctl", "restart", "systemd-journald"]);
    await host.startService();
    await sleep(settleMs);
    const share = async (): Promise<number> => {
      const before = await usedBy(host, "steward.service");
      await sleep(idleSeconds * 1000);
      return (((await usedBy(host, "steward.service")) - before) / idleSeconds) * 100;
    };
    const peer = await share();
    await host.exec(["systemd-run", "--unit=writer", "python3", "-c", writer]);
    const ours = await share();
    const { stdout } = await host.exec([
      "journalctl",
      "--output=cat",
      "--output-fields=MESSAGE",
      "-n",
      "1",
      "-t",
      "web-0",
    ]);
    return toLine(logged, summarise([{ ours, peer }], "ours/peer"), [`the last line: ${stdout.trim()}`]);
  } finally {
    await host.stop();
  }
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

export const idleLogged: Row = {
  name: "idle-logged",
  summary:
    "processor time of ten minutes without a client while much is logged, in the test host; only where it is named",
  isOnlyNamed: true,
  async measure(options) {
    const missing = missingRequirements();
    if (missing.length > 0) return [{ ...logged, skipped: missing.join("; ") }];
    return [await compareLogged(options)];
  },
};
