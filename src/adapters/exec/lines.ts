import { spawn } from "node:child_process";
import { CommandFailed, environment, killGroup } from "./command.ts";
import { createLineSplitter, type OutputLine } from "./line-splitter.ts";

export interface LinesOptions {
  readonly signal?: AbortSignal;
  /** How long the command may run, time in which nobody pulls included; no bound unless given. */
  readonly timeoutMs?: number;
  readonly maxLineBytes?: number;
  /** Called with the process group of the command, for whoever outlives the caller. */
  readonly onStarted?: (pid: number) => void;
  readonly onEnded?: (pid: number) => void;
}

export class CommandExited extends Error {
  override readonly name = "CommandExited";
  readonly exitCode: number;
  readonly stderr: string;

  constructor(program: string, exitCode: number, stderr: string) {
    const [firstLine = ""] = stderr.split("\n");
    super(`cannot run ${program}: exit code ${exitCode}${firstLine === "" ? "" : `: ${firstLine}`}`);
    this.exitCode = exitCode;
    this.stderr = stderr;
  }
}

export type ExecLines = (
  argv: readonly [program: string, ...args: string[]],
  options?: LinesOptions,
) => AsyncGenerator<readonly OutputLine[], void, undefined>;

const defaultMaxLineBytes = 64 * 1024 * 1024;
const maxStderrBytes = 64 * 1024;

type Ending =
  | { readonly kind: "error"; readonly error: Error }
  | { readonly kind: "left" }
  | { readonly kind: "exit"; readonly code: number | null; readonly killedBy: NodeJS.Signals | null };

/** Starts with the first pull; backpressure slows the program. @throws CommandFailed, or CommandExited, after all lines. */
export const execLines: ExecLines = async function* ([program, ...args], options = {}) {
  const { signal, timeoutMs, maxLineBytes = defaultMaxLineBytes } = options;
  if (signal?.aborted) throw new CommandFailed(`cannot run ${program}: cancelled`);
  const child = spawn(program, args, {
    env: environment,
    cwd: "/",
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  const { pid } = child;
  if (pid !== undefined) {
    options.onStarted?.(pid);
    child.once("exit", () => options.onEnded?.(pid));
  }
  const ending = Promise.withResolvers<Ending>();
  child.on("error", (error) => ending.resolve({ kind: "error", error }));
  child.on("close", (code, killedBy) => ending.resolve({ kind: "exit", code, killedBy }));
  const stderr: Buffer[] = [];
  let stderrRoom = maxStderrBytes;
  // Read to its end in any case: a full pipe would hold the program up.
  child.stderr?.on("data", (chunk: Buffer) => {
    const kept = chunk.subarray(0, stderrRoom);
    stderrRoom -= kept.length;
    if (kept.length > 0) stderr.push(kept);
  });

  let stopped: string | undefined;
  const whyStopped = (): string | undefined => stopped;
  const stop = (why: string): void => {
    if (stopped !== undefined) return;
    stopped = why;
    killGroup(child, () => ending.resolve({ kind: "left" }));
  };
  const timer = timeoutMs === undefined ? undefined : setTimeout(() => stop(`no end after ${timeoutMs} ms`), timeoutMs);
  const onAbort = (): void => stop("cancelled");
  signal?.addEventListener("abort", onAbort, { once: true });
  let hasEnded = false;
  try {
    const splitter = createLineSplitter(maxLineBytes);
    let broken: unknown;
    try {
      for await (const chunk of outputOf(child.stdout)) {
        const lines = splitter.push(chunk);
        if (lines.length > 0) yield lines;
      }
    } catch (error) {
      // The output of a program that was stopped, or never started, breaks off; how the program ended says more.
      broken = error;
    }
    const rest = broken === undefined && whyStopped() === undefined ? splitter.end() : [];
    if (rest.length > 0) yield rest;
    const end = await ending.promise;
    hasEnded = true;
    if (end.kind === "error") {
      throw new CommandFailed(`cannot run ${program}: ${end.error.message}`, { cause: end.error });
    }
    if (end.kind === "left") throw new CommandFailed(`cannot run ${program}: ${whyStopped()}, and it cannot be killed`);
    const why = whyStopped() ?? (end.code === null ? `killed by ${end.killedBy}` : undefined);
    if (why !== undefined) throw new CommandFailed(`cannot run ${program}: ${why}`);
    if (end.code !== null && end.code !== 0) {
      throw new CommandExited(program, end.code, Buffer.concat(stderr).toString("utf8"));
    }
    if (broken !== undefined) throw new CommandFailed(`cannot run ${program}: its output broke off`, { cause: broken });
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
    if (!hasEnded) stop("no longer wanted");
  }
};

async function* outputOf(output: NodeJS.ReadableStream | null): AsyncGenerator<Buffer> {
  if (output === null) return;
  for await (const chunk of output) yield typeof chunk === "string" ? Buffer.from(chunk) : chunk;
}
