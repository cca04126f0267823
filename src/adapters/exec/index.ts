import { type ChildProcess, spawn } from "node:child_process";
import { CommandFailed, environment, killGroup } from "./command.ts";

export interface CommandResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly truncated: boolean;
}

export interface CommandOptions {
  readonly timeoutMs?: number;
  readonly maxOutputBytes?: number;
  readonly signal?: AbortSignal;
  readonly input?: string;
  readonly cwd?: string;
  /** Gets the bytes of stdout as they come, which are then not in the result. */
  readonly onOutput?: (chunk: Buffer) => void;
  /** Called with the process of a program that cannot be killed, since the kernel waits for a file system: it is left behind. */
  readonly onLeft?: (pid: number) => void;
}

export type Exec = (
  argv: readonly [program: string, ...args: string[]],
  options?: CommandOptions,
) => Promise<CommandResult>;

const defaultTimeoutMs = 30_000;
const defaultMaxOutputBytes = 8 * 1024 * 1024;

function collector(limit: number) {
  const chunks: Buffer[] = [];
  let size = 0;
  let full = false;
  return {
    take: (chunk: Buffer): void => {
      const space = limit - size;
      if (chunk.length > space) full = true;
      if (space <= 0) return;
      chunks.push(chunk.subarray(0, space));
      size += Math.min(space, chunk.length);
    },
    text: () => Buffer.concat(chunks).toString("utf8"),
    isFull: () => full,
  };
}

/**
 * Runs in a process group of its own, killed whole on timeout or abort; one that cannot be killed is left behind.
 * @throws CommandFailed when it did not end by itself.
 */
export const exec: Exec = ([program, ...args], options = {}) => {
  const {
    timeoutMs = defaultTimeoutMs,
    maxOutputBytes = defaultMaxOutputBytes,
    signal,
    input,
    cwd = "/",
    onOutput,
    onLeft,
  } = options;
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(new CommandFailed(`cannot run ${program}: cancelled`));
    const child: ChildProcess = spawn(program, args, {
      env: environment,
      cwd,
      stdio: [input === undefined ? "ignore" : "pipe", "pipe", "pipe"],
      detached: true,
    });
    const stdout = collector(maxOutputBytes);
    const stderr = collector(maxOutputBytes);
    let ended: string | undefined;
    const fail = (why: string): void =>
      reject(
        new CommandFailed(`cannot run ${program}: ${why}`, {
          output: { stdout: stdout.text(), stderr: stderr.text() },
        }),
      );
    const leave = (): void => {
      if (child.pid !== undefined) onLeft?.(child.pid);
      settle();
      fail(`${ended}, and it cannot be killed`);
    };
    const kill = (why: string) => {
      if (ended !== undefined) return;
      ended = why;
      killGroup(child, leave);
    };
    const timer = setTimeout(() => kill(`no end after ${timeoutMs} ms`), timeoutMs);
    const onAbort = () => kill("cancelled");
    signal?.addEventListener("abort", onAbort, { once: true });
    const settle = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
    };
    child.on("error", (error) => {
      settle();
      reject(new CommandFailed(`cannot run ${program}: ${error.message}`, { cause: error }));
    });
    child.on("close", (code, killedBy) => {
      settle();
      if (ended !== undefined || code === null) return fail(ended ?? `killed by ${killedBy}`);
      const truncated = stdout.isFull() || stderr.isFull();
      resolve({ exitCode: code, stdout: stdout.text(), stderr: stderr.text(), truncated });
    });
    // A command that ends, or closes its input, without having read all of it has what it wanted.
    child.stdin?.on("error", () => undefined);
    child.stdin?.end(input);
    child.stdout?.on("data", onOutput ?? stdout.take);
    child.stderr?.on("data", stderr.take);
  });
};
