import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { summarise } from "../harness.ts";
import { cpuSeconds } from "../process-usage.ts";
import { type Line, type Row, type Subject, toLine } from "../row.ts";
import { startSteward } from "../servers.ts";
import { type Running, type Workspace, withWorkspace } from "../workspace.ts";

const main = fileURLToPath(new URL("../../src/main.ts", import.meta.url));
const terminal = fileURLToPath(new URL("../../test/process/support/in-pty.py", import.meta.url));

const seconds = 60;
/** Both have drawn several times by then, and the service has its first round of checks behind it. */
const settleMs = 20_000;
const intervalSeconds = 4;

const common = { peer: `\`top -d ${intervalSeconds}\` of procps`, unit: "% of a core", judged: "ours" } as const;
const client: Subject = {
  ...common,
  work: `\`steward top\` on a terminal for ${seconds} s, drawn every ${intervalSeconds} s: the client`,
  goal: { is: "less than", value: 2 },
};
const service: Subject = { ...common, work: "the same: the service, with all that it does beside answering it" };

interface Shown {
  readonly terminal: Running;
  readonly pid: number;
}

/** Runs a program on a terminal of its own. */
async function show(
  workspace: Workspace,
  argv: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<Shown> {
  const task = { argv, env: { ...env, TERM: "xterm-256color" }, columns: 80, timeout_s: 600 };
  const running = workspace.start(["python3", terminal, JSON.stringify(task)], {});
  await sleep(settleMs);
  const pid = Number(readFileSync(`/proc/${running.pid}/task/${running.pid}/children`, "utf8").trim());
  if (running.hasEnded() || !(pid > 0)) throw new Error(`cannot show ${argv.join(" ")}: it ended\n${running.output()}`);
  return { terminal: running, pid };
}

async function measureTop(workspace: Workspace, say: (text: string) => void): Promise<readonly Line[]> {
  const server = await startSteward(workspace, { limits: "counted" });
  const environment = {
    PATH: process.env["PATH"] ?? "/usr/bin:/bin",
    HOME: workspace.directory,
    LC_ALL: "C.UTF-8",
    NODE_COMPILE_CACHE: join(workspace.directory, "compile-cache"),
    STEWARD_URL: server.url,
    STEWARD_API_KEY: server.headers["X-API-Key"] ?? "",
  };
  const its = await show(workspace, ["top", "-d", String(intervalSeconds)], environment);
  const ours = await show(workspace, [process.execPath, main, "top", "-i", String(intervalSeconds)], environment);
  say(`waiting for ${seconds} s`);
  const used = (): readonly number[] => [ours.pid, server.pid, its.pid].map((pid) => cpuSeconds(pid));
  const before = used();
  await sleep(seconds * 1000);
  const [ofClient = 0, ofService = 0, ofPeer = 0] = used().map(
    (now, at) => (100 * (now - (before[at] ?? 0))) / seconds,
  );
  for (const shown of [ours, its]) await shown.terminal.stop();
  await server.stop();
  const line = (subject: Subject, share: number): Line =>
    toLine(subject, summarise([{ ours: share, peer: ofPeer }], "ours/peer"));
  return [line(client, ofClient), line(service, ofService)];
}

export const top: Row = {
  name: "top",
  summary: "processor time of a minute of steward top, and of the service meanwhile, beside that of top",
  measure: ({ say }) => withWorkspace((workspace) => measureTop(workspace, say)),
};
