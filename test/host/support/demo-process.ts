import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { missingForDemo } from "../../../demo/requirements.ts";
import { cgroupProcesses } from "../cgroups.ts";
import { runCommand } from "../commands.ts";
import { cacheDirectory } from "../image.ts";
import { requireHost } from "../requirements.ts";
import { eventually } from "./eventually.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));
/** The program of the demo. */
export const main = fileURLToPath(new URL("../../../demo/main.ts", import.meta.url));
/** The first start of changed sources builds the package. */
export const startMs = 300_000;
const started = new Set<ChildProcess>();

/** The demo as a process. */
export interface RunningDemo {
  readonly pid: number;
  readonly child: ChildProcess;
  readonly printed: () => string;
  readonly waitFor: (text: string) => Promise<void>;
  /** Its exit code, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals>;
}

/** Starts the demo; the end of the test ends it in any case. */
export const runDemo = (...args: readonly string[]): RunningDemo => run(process.execPath, [main, ...args]);

/** The same as people do, so that the process is npm. */
export const runDemoWithNpm = (): RunningDemo => run("npm", ["run", "demo"]);

function run(file: string, args: readonly string[]): RunningDemo {
  const env = { ...process.env, NO_COLOR: "1", npm_config_update_notifier: "false" };
  const child = spawn(file, args, { env, cwd: root, stdio: ["ignore", "pipe", "pipe"] });
  started.add(child);
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (printed += String(chunk)));
  const ended = once(child, "close").then(
    ([code, signal]: (number | NodeJS.Signals | null)[]) => code ?? signal ?? 255,
  );
  return {
    pid: child.pid ?? 0,
    child,
    printed: () => printed,
    waitFor: (text) =>
      eventually(() => {
        if (!printed.includes(text)) throw new Error(`it has not said “${text}”, but:\n${printed}`);
      }, startMs),
    ended,
  };
}

/** The directories of the demos of a process. */
const directoriesOf = (pid: number): readonly string[] =>
  readdirSync("/run").filter((name) => {
    const owner = join("/run", name, "owner.json");
    return (
      name.startsWith("steward-demo") && existsSync(owner) && readFileSync(owner, "utf8").includes(`"pid":${pid},`)
    );
  });

/** Everything on this machine that belongs to the demos of a process. */
export async function traces(pid: number): Promise<readonly string[]> {
  const runs = join(cacheDirectory(), "runs");
  const mine = new RegExp(`steward-${pid}-\\d+-[0-9a-f]+`);
  const loops = (await runCommand(["losetup", "--list", "--noheadings", "--output", "NAME,BACK-FILE"])).stdout;
  const names = existsSync(runs) ? readdirSync(runs).filter((name) => mine.test(name)) : [];
  return [
    ...directoriesOf(pid),
    ...names,
    ...names.flatMap((name) => cgroupProcesses(name).map((each) => `process ${each}`)),
    ...loops.split("\n").filter((line) => mine.test(line)),
    ...readFileSync("/proc/self/mountinfo", "utf8")
      .split("\n")
      .filter((line) => mine.test(line)),
  ];
}

/** Number of the demo of a process: its directory and its link are called by it. */
export function numberOf(pid: number): number {
  const [name = ""] = directoriesOf(pid);
  if (!/^steward-demo\d*$/.test(name)) throw new Error(`process ${pid} has no demo`);
  return Number(name.replace("steward-demo", ""));
}

export const hasLink = (number: number): boolean => existsSync(`/sys/class/net/steward-demo${number}`);

/** The numbered lines, each with the exit code that is promised. */
export const linesOf = (printed: string): readonly { readonly line: string; readonly exitCode: number }[] =>
  [...printed.matchAll(/^ ?\d+\. (.+)\n {4}(.+)$/gm)].map(([, title = "", line = ""]) => ({
    line,
    exitCode: Number(/\(ends with (\d)/.exec(title)?.[1] ?? 0),
  }));

/** Kills what is left of the demos that were started. */
export function killDemos(): void {
  for (const child of started) child.kill("SIGKILL");
}

/** What keeps the demo from running here. In CI it throws where something is missing. */
export function whatIsMissing(): readonly string[] {
  const required = requireHost();
  return required.available ? missingForDemo() : [required.reason];
}
