import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type ChildEvent, type ChildTask, driverFailed, minimise, type Progress } from "./child.ts";

const childModule = join(import.meta.dirname, "child.ts");
const heapMiB = 768;
/** Loading a target takes this long at most, on a busy machine too. */
const loadMs = 120_000;
const lookMs = 250;
/** How often a process is started to make an input smaller that ends one. */
const triesByProcess = 40;
const minimiseMs = 120_000;
const shownOutput = 4_000;

/** An input that a target fails on. */
export interface Finding {
  readonly message: string;
  readonly input: Buffer;
  /** False when the input alone, in a new process, does nothing wrong. */
  readonly isReproducible: boolean;
}

export interface Supervised {
  readonly progress: Progress | undefined;
  readonly findings: readonly Finding[];
}

export interface Task extends Omit<ChildTask, "recorder" | "isMinimising"> {
  /** An input that takes longer is taken for one that never ends. */
  readonly hangMs: number;
}

/** How a process ended that did not say so itself. */
interface Loss {
  readonly message: string;
  /** The input that it was given last; undefined when it never got one. */
  readonly input: Buffer | undefined;
}

interface ChildRun extends Supervised {
  readonly loss: Loss | undefined;
}

/** The input in the flight recorder. */
function recorded(path: string): { readonly execution: number; readonly input: Buffer } | undefined {
  if (statSync(path, { throwIfNoEntry: false }) === undefined) return undefined;
  const bytes = readFileSync(path);
  if (bytes.length < 8) return undefined;
  return { execution: bytes.readUInt32LE(0), input: bytes.subarray(8, 8 + bytes.readUInt32LE(4)) };
}

/** Runs a task in a process of its own, and watches it. */
async function runChild(
  { hangMs, ...task }: Task & { readonly isMinimising: boolean },
  onProgress: (progress: Progress) => void,
): Promise<ChildRun> {
  const directory = mkdtempSync(join(tmpdir(), "steward-fuzz-"));
  const recorder = join(directory, "input");
  const child = spawn(
    process.execPath,
    [
      `--max-old-space-size=${heapMiB}`,
      "--stack-trace-limit=30",
      childModule,
      JSON.stringify({ ...task, recorder } satisfies ChildTask),
    ],
    // Temporary files of the target go with its directory.
    { stdio: ["ignore", "pipe", "pipe", "pipe"], env: { ...process.env, TMPDIR: directory, NODE_COMPILE_CACHE: "" } },
  );
  const findings: Finding[] = [];
  let progress: Progress | undefined;
  let hasEnded = false;
  let isHung = false;
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (text: string) => {
      output = (output + text).slice(-shownOutput);
    });
  }

  let seen = 0;
  let movedAt = performance.now();
  const watch = setInterval(() => {
    const execution = recorded(recorder)?.execution ?? 0;
    if (execution !== seen) movedAt = performance.now();
    seen = execution;
    if (performance.now() - movedAt < (seen === 0 ? loadMs : hangMs)) return;
    isHung = true;
    child.kill("SIGKILL");
  }, lookMs);

  const events = child.stdio[3];
  if (events === null || events === undefined || !("read" in events))
    throw new TypeError("the child has no third pipe");
  const lines = createInterface({ input: events });
  const isRead = new Promise<void>((resolve) => lines.on("close", resolve));
  lines.on("line", (line) => {
    const event = JSON.parse(line) as ChildEvent;
    if (event.kind === "finding") {
      const { message, input } = event;
      findings.push({ message, input: Buffer.from(input, "base64"), isReproducible: true });
    } else {
      hasEnded = event.kind === "end";
      progress = event;
      onProgress(event);
    }
  });

  const [code, signal] = await once(child, "close");
  await isRead;
  clearInterval(watch);
  if (code === driverFailed) throw new Error(`the fuzzer itself failed: ${output}`);
  const last = hasEnded ? undefined : recorded(recorder);
  rmSync(directory, { recursive: true, force: true });
  const how = isHung ? `did not end within ${hangMs / 1000} s` : `ended its process: ${signal ?? `exit ${code}`}`;
  const loss = hasEnded ? undefined : { message: `${how}\n${output}`.trim(), input: last?.input };
  return { progress, findings, loss };
}

/** What becomes of one input in a process of its own. */
export async function replay(
  task: Pick<Task, "module" | "instrumented" | "hangMs">,
  input: Buffer,
): Promise<Finding | undefined> {
  const directory = mkdtempSync(join(tmpdir(), "steward-fuzz-"));
  try {
    const file = join(directory, "input");
    writeFileSync(file, input);
    const rest = { seed: 0, seconds: 0, runs: 0, withSeeds: false, workDirectory: undefined, keepDirectory: undefined };
    const { module, instrumented, hangMs } = task;
    const child = { module, instrumented, hangMs, ...rest, inputs: [file], isMinimising: false };
    const { findings, loss } = await runChild(child, () => undefined);
    if (loss !== undefined) return { message: loss.message, input, isReproducible: true };
    return findings[0];
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Tries a loss again with its input alone, and makes that smaller. */
async function confirm(task: Task, { message, input }: Loss): Promise<Finding> {
  if (input === undefined) throw new Error(`cannot load ${task.module}: ${message}`);
  const isHang = message.startsWith("did not end");
  const again = await replay(task, input);
  if (again === undefined) return { message, input, isReproducible: false };
  const until = performance.now() + minimiseMs;
  const stillFails = async (smaller: Buffer): Promise<boolean> => {
    if (performance.now() > until) return false;
    const outcome = await replay(task, smaller);
    return outcome !== undefined && outcome.message.startsWith("did not end") === isHang;
  };
  const smallest = await minimise(input, stillFails, triesByProcess);
  return { message: again.message, input: smallest, isReproducible: true };
}

/** Fuzzes a target; an input that ends the process is confirmed and made smaller in others, and ends the run. */
export async function supervise(task: Task, onProgress: (progress: Progress) => void): Promise<Supervised> {
  const { loss, findings: seen, ...supervised } = await runChild({ ...task, isMinimising: true }, onProgress);
  const findings: Finding[] = [];
  for (const finding of seen) {
    const again = await replay(task, finding.input);
    findings.push({ ...finding, isReproducible: again !== undefined });
  }
  if (loss !== undefined) findings.push(await confirm(task, loss));
  return { ...supervised, findings };
}
