import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { checksOff } from "./checks-off.ts";
import { until } from "./until.ts";
import type { Workspace } from "./workspace.ts";

export const root = fileURLToPath(new URL("../../..", import.meta.url));
/** The variable that names the directory in which `prepare.ts` has bundled the program. */
export const programDirectory = "STEWARD_TEST_PROGRAM";
const bundle = process.env[programDirectory];
/** The program of the checkout, as `npm start` runs it; its sources where nothing was bundled. */
export const mainFile = bundle === undefined ? join(root, "src/main.ts") : join(bundle, "program.mjs");

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export type LogLine = Readonly<Record<string, unknown>>;

/** A process of the service, started or about to end. */
export interface ServiceProcess {
  readonly pid: number;
  readonly stateDir: string;
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** The log so far. */
  readonly lines: () => readonly LogLine[];
  readonly kill: (signal: NodeJS.Signals) => void;
  readonly exit: Promise<Exit>;
}

/** A service that has written that it is ready. */
export interface RunningService extends ServiceProcess {
  readonly url: string;
  readonly port: number;
  readonly adminKey: string;
}

export interface LaunchOptions {
  /** What runs in place of the service of the checkout. */
  readonly program?: readonly string[];
  /**
   * The settings file, YAML; one with no more than that packages and model servers are left alone when left out: no file of the
   * machine is read. Traces are received only where it says something of tracing.
   */
  readonly settings?: string;
  /** Whether the built-in checks run; left out, they do where the settings say something of health. */
  readonly checks?: boolean;
  readonly environment?: Readonly<Record<string, string>>;
  readonly stateDir?: string;
  readonly arguments?: readonly string[];
  /** Runs the process as this user. */
  readonly uid?: number;
  /** How many descriptors it may have; what this process may have unless given. */
  readonly openFiles?: number;
}

/**
 * Whatever a test asks for, at random or by mistake, the packages of the machine that it runs on stay as they are, and a
 * model server on it is left alone.
 */
const withoutUpdates = "updates: { enabled: false }\nconnectors: { discover: false }\n";

/** The ports for traces are the same for every service: those of other tests leave them alone. */
const withoutReceiver = (settings: string): string =>
  /^tracing:/m.test(settings) ? settings : `${settings.replace(/\n?$/, "\n")}tracing: { receiver: off }\n`;

/** A start is followed by a run of each check, some of which start programs: work for nothing where a test is about something else. */
const withoutChecks = (settings: string): string =>
  /^health:/m.test(settings) ? settings : `${settings.replace(/\n?$/, "\n")}${checksOff()}`;

/** What every process gets: nothing of the variables that the test run happens to have. */
export const baseEnvironment = (workspace: Workspace): Readonly<Record<string, string>> => ({
  PATH: "/usr/local/bin:/usr/bin:/bin",
  HOME: workspace.path(),
  NODE_COMPILE_CACHE: join(bundle ?? join(root, "node_modules/.cache"), "compile"),
});

/** Writes a file into the workspace under a name of its own. */
export function writeSettings(workspace: Workspace, text: string): string {
  const path = workspace.path(`config-${randomUUID()}.yaml`);
  writeFileSync(path, text);
  return path;
}

/** Starts `steward serve` without waiting for anything. */
export function launchService(workspace: Workspace, options: LaunchOptions = {}): ServiceProcess {
  const stateDir = options.stateDir ?? workspace.path(`state-${randomUUID()}`);
  const text = withoutReceiver(options.settings ?? withoutUpdates);
  const settings = writeSettings(workspace, options.checks === true ? text : withoutChecks(text));
  if (options.uid !== undefined) chmodSync(workspace.path(), 0o755);
  const { openFiles } = options;
  const command = [...(options.program ?? [process.execPath, mainFile]), "serve", ...(options.arguments ?? [])];
  // It becomes the command, under the same number.
  const limited = openFiles === undefined ? command : ["prlimit", `--nofile=${openFiles}:${openFiles}`, ...command];
  const child = spawn(limited[0] ?? "", limited.slice(1), {
    stdio: ["ignore", "pipe", "pipe"],
    cwd: workspace.path(),
    env: {
      ...baseEnvironment(workspace),
      STEWARD_CONFIG: settings,
      STEWARD_LISTEN: "127.0.0.1:0",
      STEWARD_STATE_DIR: stateDir,
      ...options.environment,
    },
    ...(options.uid !== undefined && { uid: options.uid, gid: options.uid }),
  });
  workspace.adopt(child);
  const { pid } = child;
  if (pid === undefined) throw new Error("the service could not be started");
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  return {
    pid,
    stateDir,
    stdout: () => stdout,
    stderr: () => stderr,
    lines: () =>
      stdout
        .split("\n")
        .slice(0, -1)
        .map((line) => JSON.parse(line) as LogLine),
    kill: (signal) => child.kill(signal),
    exit: new Promise((resolve) => child.once("close", (code, signal) => resolve({ code, signal }))),
  };
}

/**
 * Waits until the service has logged a message.
 * @throws Error with what it wrote, when it ended before.
 */
export async function logged(service: ServiceProcess, message: string): Promise<LogLine> {
  let ended: Exit | undefined;
  void service.exit.then((exit) => {
    ended = exit;
  });
  return until(`log line "${message}"`, () => {
    const line = service.lines().find(({ msg }) => msg === message);
    if (line === undefined && ended !== undefined) {
      throw new Error(`the service ended (${ended.code ?? ended.signal}): ${service.stdout()}${service.stderr()}`);
    }
    return line;
  });
}

export const readAdminKey = (stateDir: string): string => readFileSync(join(stateDir, "admin.key"), "utf8").trim();

/** Starts the service and waits until it is ready. */
export async function startService(workspace: Workspace, options: LaunchOptions = {}): Promise<RunningService> {
  const service = launchService(workspace, options);
  const { url } = await logged(service, "listening");
  await logged(service, "ready");
  const { port } = new URL(String(url));
  return { ...service, url: String(url), port: Number(port), adminKey: readAdminKey(service.stateDir) };
}

/** Makes a directory in the workspace. */
export function makeDirectory(workspace: Workspace, name: string, mode = 0o700): string {
  const path = workspace.path(name);
  mkdirSync(path, { mode });
  chmodSync(path, mode);
  return path;
}
