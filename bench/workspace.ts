import { type ChildProcess, type StdioOptions, spawn } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, truncateSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Writable } from "node:stream";

/** A process of this benchmark, its output in a file as a real service's would be. */
export interface Running {
  readonly pid: number;
  readonly hasEnded: () => boolean;
  readonly ended: Promise<void>;
  /** The end of what it printed. */
  readonly output: () => string;
  /** A long load writes much; it is not to fill the disk. */
  readonly forgetOutput: () => void;
  /** Asks it to end and waits; ends it when it does not. */
  readonly stop: () => Promise<void>;
  /** What it reads, where it was started with an input. */
  readonly input: Writable | undefined;
  /** Messages to and from a program on Node that was started with a channel. */
  readonly channel: Channel | undefined;
}

/** Messages between this process and a child of it. */
export interface Channel {
  readonly send: (message: object) => void;
  readonly onMessage: (listener: (message: unknown) => void) => void;
}

/** What a process has besides an output. */
export interface Wiring {
  readonly input?: boolean;
  readonly channel?: boolean;
}

/** A temporary directory and the processes that work in it. */
export interface Workspace {
  readonly directory: string;
  /** @throws Error when the program cannot be started. */
  readonly start: (
    argv: readonly [string, ...string[]],
    env: Readonly<Record<string, string>>,
    wiring?: Wiring,
  ) => Running;
}

const stopTimeoutMs = 10_000;

/** What a child gets of our environment: nothing that could change what it does. */
const baseEnvironment = (): Record<string, string> => ({
  PATH: process.env["PATH"] ?? "/usr/local/bin:/usr/bin:/bin",
  HOME: process.env["HOME"] ?? "/",
  LC_ALL: "C.UTF-8",
});

function startIn(
  directory: string,
  name: string,
  [program, ...args]: readonly [string, ...string[]],
  env: Readonly<Record<string, string>>,
  wiring: Wiring,
): Running {
  const file = join(directory, `${name}.log`);
  const output = openSync(file, "a");
  const stdio: StdioOptions = [wiring.input === true ? "pipe" : "ignore", output, output];
  if (wiring.channel === true) stdio.push("ipc");
  const child = spawn(program, args, { env: { ...baseEnvironment(), ...env }, stdio });
  closeSync(output);
  // A program that has ended shows as that; the broken pipe says no more.
  child.stdin?.on("error", () => undefined);
  const { pid } = child;
  const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null;
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  child.on("error", () => undefined);
  if (pid === undefined) throw new Error(`cannot start ${program}: is it installed (apt-get install ${program})?`);
  return {
    pid,
    hasEnded,
    ended,
    output: () => readFileSync(file, "utf8").slice(-2000),
    forgetOutput: () => truncateSync(file),
    async stop() {
      if (hasEnded()) return;
      child.kill("SIGTERM");
      const timer = setTimeout(() => child.kill("SIGKILL"), stopTimeoutMs);
      await ended;
      clearTimeout(timer);
    },
    input: child.stdin ?? undefined,
    channel: wiring.channel === true ? channelOf(child) : undefined,
  };
}

const channelOf = (child: ChildProcess): Channel => ({
  send: (message) => void child.send(message),
  onMessage: (listener) => void child.on("message", listener),
});

/** Gives `use` a directory and processes; both are gone when it is over, also when it fails or we are asked to end. */
export async function withWorkspace<T>(use: (workspace: Workspace) => Promise<T>): Promise<T> {
  const directory = mkdtempSync(join(tmpdir(), "steward-bench-"));
  const running: Running[] = [];
  const removeDirectory = (): void => rmSync(directory, { recursive: true, force: true });
  const endAtOnce = (): void => {
    for (const child of running) if (!child.hasEnded()) process.kill(child.pid, "SIGKILL");
    removeDirectory();
  };
  process.once("exit", endAtOnce);
  try {
    return await use({
      directory,
      start(argv, env, wiring = {}) {
        const child = startIn(directory, `process-${running.length}`, argv, env, wiring);
        running.push(child);
        return child;
      },
    });
  } finally {
    await Promise.all(running.map((child) => child.stop()));
    process.off("exit", endAtOnce);
    removeDirectory();
  }
}
