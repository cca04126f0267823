import { setTimeout as sleep } from "node:timers/promises";
import { checksOff } from "../process/support/checks-off.ts";
import type { ExecOptions } from "./boot.ts";
import { type CommandResult, noLog } from "./commands.ts";
import { installedFiles } from "./installed.ts";
import { ensureProgram, installedPrograms } from "./program.ts";

export type ServiceOptions = {
  /** Text of /etc/steward/config.yaml; without it the file stays as it is, unless `checks` are named. */
  config?: string;
  /**
   * The built-in checks that it has; all of them unless given. Every start runs each of them within seconds, some by processes of
   * root, which is work for nothing where a test is about something else.
   */
  checks?: readonly string[];
  env?: Readonly<Record<string, string>>;
  /** Words after `serve`. */
  args?: readonly string[];
  /** What runs instead of the service of the checkout, as root, for a service that keeps the same promises. */
  command?: readonly string[];
  /** As the package installs it, without rights, unless given; `root` is the service that somebody starts by hand. */
  user?: "steward" | "root";
};

export type RunningService = {
  readonly unit: "steward.service";
  /** Where it listens, reachable from this process unless the host has a private network. Changes with `restart`. */
  readonly url: string;
  readonly adminKey: string;
  /** What it logged since it was last started. */
  logs(): Promise<string>;
  /** The number of its main process inside the guest; 0 when it does not run. */
  pid(): Promise<number>;
  stop(): Promise<void>;
  /** Starts it again, also after `stop` or a reboot of the host. */
  restart(): Promise<void>;
};

/** What of a host this needs. */
type ServiceHost = {
  exec(argv: readonly string[], options?: ExecOptions): Promise<CommandResult>;
  readFile(path: string): Promise<string>;
  writeFile(path: string, content: string, mode?: number): Promise<void>;
};

const unit = "steward.service";
const stateDirectory = "/var/lib/steward";
const startTimeoutMs = 30_000;

/** Writes the unit and the settings, starts the service and waits until it listens and has an admin key. */
export async function startService(host: ServiceHost, options: ServiceOptions): Promise<RunningService> {
  const settings = settingsOf(options);
  if (settings !== undefined) await host.writeFile("/etc/steward/config.yaml", settings);
  const isRoot = options.user === "root" || options.command !== undefined;
  await host.exec(["systemctl", "stop", unit], { allowFailure: true });
  if (isRoot) await installAsRoot(host, options);
  else await installUnprivileged(host, options);
  await host.exec(["systemctl", "daemon-reload"]);
  let started = await startOnce(host);
  return {
    unit,
    get url() {
      return started.url;
    },
    get adminKey() {
      return started.adminKey;
    },
    logs: async () => {
      // What it has written is in the journal once journald has read it. There may be no journald at all.
      await host.exec(["journalctl", "--sync"], { allowFailure: true });
      return readLogs(host, started.invocation);
    },
    pid: async () => Number(await readProperty(host, "MainPID")),
    stop: async () => {
      await host.exec(["systemctl", "stop", unit]);
    },
    restart: async () => {
      started = await startOnce(host);
    },
  };
}

function settingsOf({ config, checks }: ServiceOptions): string | undefined {
  return checks === undefined ? config : `${checksOff(checks)}${config ?? ""}`;
}

const dropIn = (name: string): string => `/etc/systemd/system/${name}.d/50-test.conf`;

async function installAsRoot(host: ServiceHost, options: ServiceOptions): Promise<void> {
  // Its state may be that of the unprivileged one until now, and the other way round.
  await host.exec(["rm", "-f", dropIn(unit)]);
  await host.exec(["sh", "-c", `[ ! -e ${stateDirectory} ] || chown -R root:root ${stateDirectory}`]);
  await host.writeFile(`/etc/systemd/system/${unit}`, describeUnit(options));
  await host.exec(["sh", "-c", await ensureProgram(noLog)]);
}

/** The files of the package, with the program of the checkout. */
async function installUnprivileged(host: ServiceHost, options: ServiceOptions): Promise<void> {
  for (const { path, content } of await installedFiles()) await host.writeFile(path, content);
  const environment = Object.entries(environmentOf(options)).map(
    ([name, value]) => `Environment=${quoteForUnit(`${name}=${value}`)}`,
  );
  const words = [...installedPrograms, "serve", ...(options.args ?? [])].map(forUnit).join(" ");
  const ownLines = ["Restart=no", "TimeoutStopSec=10", "ExecStart=", `ExecStart=${words}`];
  await host.writeFile(
    dropIn(unit),
    ["[Unit]", "StartLimitIntervalSec=0", "[Service]", ...environment, ...ownLines, ""].join("\n"),
  );
  const ofTasks = environment.filter((line) => !line.includes("STEWARD_LISTEN="));
  await host.writeFile(dropIn("steward-task@.service"), ["[Service]", ...ofTasks, ""].join("\n"));
  await host.exec(["systemd-sysusers"]);
  // Its policy names a user that was not there when the file was written.
  await host.exec(["systemctl", "reload", "dbus.service"]);
  await host.exec(["sh", "-c", await ensureProgram(noLog)]);
  await host.exec(["systemd-tmpfiles", "--create", "steward.conf"]);
  await host.exec(["sh", "-c", `[ ! -e ${stateDirectory} ] || chown -R steward:steward ${stateDirectory}`]);
}

/** What the test wants to be so, over what the units say. */
function environmentOf(options: ServiceOptions): Readonly<Record<string, string>> {
  // The environment wins over the settings file, so the default must not be there when the file names an address.
  const configListens = options.config !== undefined && /^["']?listen["']?\s*:/m.test(options.config);
  return { ...(configListens ? {} : { STEWARD_LISTEN: "127.0.0.1:0" }), ...options.env };
}

type Started = { url: string; adminKey: string; invocation: string };

async function startOnce(host: ServiceHost): Promise<Started> {
  const deadline = performance.now() + startTimeoutMs;
  const { stderr } = await host.exec(["systemctl", "restart", unit], { timeoutMs: startTimeoutMs, allowFailure: true });
  const invocation = await readProperty(host, "InvocationID");
  for (;;) {
    // Asked before the log is read: what a service says while it ends is then in the log.
    const state = await readProperty(host, "ActiveState");
    const logs = await readLogs(host, invocation);
    const url = findUrl(logs);
    const adminKey = await host.readFile(`${stateDirectory}/admin.key`).then(
      (text) => text.trim(),
      () => "",
    );
    if (state === "active" && url !== undefined && adminKey !== "") return { url, adminKey, invocation };
    const gone = state === "failed" || state === "inactive";
    if (gone || performance.now() > deadline) {
      const missing =
        url === undefined ? "its log has no line with msg listening" : `${stateDirectory}/admin.key is missing`;
      const reason = gone ? `it is ${state}` : `${missing} after ${startTimeoutMs} ms`;
      throw new Error(`cannot start ${unit}: ${reason}: ${stderr.trim()}\n${logs}`);
    }
    await sleep(50);
  }
}

/** The last address that the service said it listens on. */
function findUrl(logs: string): string | undefined {
  const urls = logs.split("\n").flatMap((line) => {
    const entry = parseObject(line);
    return entry !== undefined &&
      "msg" in entry &&
      entry.msg === "listening" &&
      "url" in entry &&
      typeof entry.url === "string"
      ? [entry.url]
      : [];
  });
  return urls.at(-1);
}

function parseObject(line: string): object | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

async function readLogs(host: ServiceHost, invocation: string): Promise<string> {
  const match =
    invocation === "" ? ["-u", unit] : [`_SYSTEMD_INVOCATION_ID=${invocation}`, "+", `INVOCATION_ID=${invocation}`];
  const { stdout } = await host.exec(["journalctl", "--quiet", "--no-pager", "-o", "cat", ...match]);
  return stdout;
}

async function readProperty(host: ServiceHost, name: string): Promise<string> {
  const { stdout } = await host.exec(["systemctl", "show", "--property", name, "--value", unit]);
  return stdout.trim();
}

function describeUnit(options: ServiceOptions): string {
  const command = [...(options.command ?? [...installedPrograms, "serve"]), ...(options.args ?? [])];
  const environment = { STEWARD_STATE_DIR: stateDirectory, ...environmentOf(options) };
  return [
    "[Unit]",
    "Description=Steward",
    "[Service]",
    "Type=exec",
    `ExecStart=${command.map(forUnit).join(" ")}`,
    ...Object.entries(environment).map(([name, value]) => `Environment=${quoteForUnit(`${name}=${value}`)}`),
    "Restart=no",
    "TimeoutStopSec=10",
    "",
  ].join("\n");
}

/** A word of a command line, in which a dollar begins a variable. */
const forUnit = (word: string): string => quoteForUnit(word).replaceAll("$", () => "$$");

/** One word in the syntax of systemd.service(5), in which a percent sign starts a specifier. */
function quoteForUnit(word: string): string {
  if (/[\n\r\0]/.test(word))
    throw new Error(`cannot write ${JSON.stringify(word)} into ${unit}: it has more than one line`);
  return `"${word.replaceAll(/[\\"]/g, "\\$&").replaceAll("%", "%%")}"`;
}
