import { spawn } from "node:child_process";

export type CommandResult = { stdout: string; stderr: string; exitCode: number };

export type CommandOptions = {
  input?: string;
  timeoutMs?: number;
  allowFailure?: boolean;
  /** The whole environment of the command; nothing is added to it. */
  env?: Readonly<Record<string, string>>;
};

/** Receives what happens, one line at a time. */
export type Log = (line: string) => void;

/** The log of a caller that was given none. */
export const noLog: Log = () => undefined;

/** The environment of every command: tools answer in one language, no matter who runs the tests. */
export const plainEnvironment: Readonly<Record<string, string>> = {
  PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  LC_ALL: "C.UTF-8",
  HOME: "/root",
};

/** What a command is, in a message: long arguments would hide the reason that follows. */
function describeCommand(argv: readonly string[]): string {
  const text = argv.join(" ");
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}

/**
 * Runs one command to its end and collects what it prints.
 * @throws if it cannot be started, takes longer than `timeoutMs` (100 seconds) or, unless `allowFailure`, exits with anything but 0.
 */
export function runCommand(argv: readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
  const [file, ...args] = argv;
  if (file === undefined) throw new Error("cannot run a command: the list of its words is empty");
  const timeoutMs = options.timeoutMs ?? 100_000;
  return new Promise((resolve, reject) => {
    // A process group of its own, so that a timeout also ends what the command itself has started.
    const child = spawn(file, args, { env: options.env ?? plainEnvironment, detached: true, stdio: "pipe" });
    const stdout: Buffer[] = [];
    const stderr: Buffer[] = [];
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      if (child.pid !== undefined) killGroup(child.pid);
    }, timeoutMs);
    child.stdout.on("data", (chunk: Buffer) => stdout.push(chunk));
    child.stderr.on("data", (chunk: Buffer) => stderr.push(chunk));
    // A command that does not read its input closes the pipe early; its exit code says what there is to say.
    child.stdin.on("error", () => undefined);
    child.stdin.end(options.input ?? "");
    child.on("error", (error) => {
      clearTimeout(timer);
      reject(new Error(`cannot run ${describeCommand(argv)}: ${error.message}`, { cause: error }));
    });
    child.on("close", (code, signal) => {
      clearTimeout(timer);
      const result = {
        stdout: Buffer.concat(stdout).toString("utf8"),
        stderr: Buffer.concat(stderr).toString("utf8"),
        exitCode: code ?? 255,
      };
      const ended = signal === null ? `exit code ${result.exitCode}` : `ended by ${signal}`;
      const reason = timedOut ? `no end after ${timeoutMs} ms` : ended;
      if (!timedOut && (result.exitCode === 0 || options.allowFailure === true)) return resolve(result);
      const said = (result.stderr.trim() || result.stdout.trim()).slice(-2000);
      reject(new Error(`cannot run ${describeCommand(argv)}: ${reason}${said === "" ? "" : `: ${said}`}`));
    });
  });
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // The group has just ended by itself.
  }
}
