import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { bootHost } from "../../test/host/host.ts";
import type { RunningService } from "../../test/process/support/service.ts";
import { makeDirectory, startService } from "../../test/process/support/service.ts";
import { createWorkspace } from "../../test/process/support/workspace.ts";
import { writeLog } from "../../test/process/support/ws-journal.ts";
import type { Address } from "./load.ts";

/** A running service that a load is put on. */
export interface Target {
  /** Where it runs, for the report. */
  readonly words: string;
  readonly address: () => Address;
  readonly units: readonly string[];
  readonly plugin: string;
  readonly pid: () => Promise<number>;
  /** What a line of shell prints where the service runs. */
  readonly shell: (line: string) => Promise<string>;
  /** Lines of `inside.ts`. */
  readonly insideLines: () => Promise<string>;
  /** Lines of the log at the level of errors. */
  readonly errorLines: () => Promise<readonly string[]>;
  /** Lets it read its settings again. */
  readonly reload: () => Promise<void>;
  /** Ends it in order and starts it again on the same state. */
  readonly restart: () => Promise<void>;
  /** Kills it at once and starts it again on the same state. */
  readonly kill: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

const settings = (pluginDir: string, modelUrl: string, journal: string | undefined): string =>
  [
    "updates: { enabled: false }",
    "health: { interval: 5s }",
    `plugins: { dirs: [${pluginDir}] }`,
    ...(journal === undefined ? [] : [`journal: { dir: ${journal} }`]),
    "connectors:",
    "  discover: false",
    "  default: stub",
    "  list:",
    `    - { name: stub, provider: openai-compatible, model: tiny-1, base_url: "${modelUrl}" }`,
    "",
  ].join("\n");

const pluginFiles = {
  "plugin.yaml": ["name: soak", 'version: "1"', "type: check", "exec: run", ""].join("\n"),
  run: "#!/bin/sh\necho 'OK - still there | turns=1'\n",
} as const;

const inside = fileURLToPath(new URL("./inside.ts", import.meta.url));
/** As the unit has them. */
const nodeOptions = "--max-semi-space-size=16";
const lineIntervalMs = 1_000;
const linesAtOnce = 20;

const isError = (line: Readonly<Record<string, unknown>>): boolean => line["level"] === "error";

/** What a program prints; a shell, since what is asked is put together from others' programs. */
async function run(line: string): Promise<string> {
  const child = spawn("/bin/sh", ["-c", line], { stdio: ["ignore", "pipe", "inherit"] });
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, "close")]);
  if (code !== 0) throw new Error(`cannot look at the service: exit code ${String(code)}`);
  return output;
}

/** A plain process on this machine, with a journal of its own where one can be written. */
export async function processTarget(modelUrl: string): Promise<Target> {
  const workspace = createWorkspace();
  const stateDir = workspace.path("state");
  const insideFile = workspace.path("inside.jsonl");
  const pluginDir = makeDirectory(workspace, "plugins", 0o755);
  chmodSync(workspace.path(), 0o755);
  const directory = makeDirectory(workspace, "plugins/soak", 0o755);
  await writeFile(`${directory}/plugin.yaml`, pluginFiles["plugin.yaml"], { mode: 0o644 });
  await writeFile(`${directory}/run`, pluginFiles.run, { mode: 0o755 });
  const canLog =
    existsSync("/usr/lib/systemd/systemd-journal-remote") || existsSync("/lib/systemd/systemd-journal-remote");
  const journal = canLog ? makeDirectory(workspace, "journal") : undefined;
  let lines = 0;
  const writeLines = (): void => {
    if (journal === undefined) return;
    const texts = Array.from({ length: linesAtOnce }, (_, at) => ({
      message: `line ${lines + at}`,
      unit: "soak.service",
      priority: 3 + (at % 4),
    }));
    lines += linesAtOnce;
    writeLog(`${journal}/system.journal`, texts);
  };
  writeLines();
  const start = (): Promise<RunningService> =>
    startService(workspace, {
      checks: true,
      stateDir,
      settings: settings(pluginDir, modelUrl, journal),
      environment: {
        STEWARD_RATE_LIMITS: "off",
        STEWARD_SOAK_FILE: insideFile,
        NODE_OPTIONS: `${nodeOptions} --import=${inside}`,
      },
    });
  let service = await start();
  const ended: RunningService[] = [];
  const writer = setInterval(writeLines, lineIntervalMs);
  return {
    words: "a plain process",
    address: () => ({ url: service.url, key: service.adminKey }),
    units: [],
    plugin: "soak",
    pid: () => Promise.resolve(service.pid),
    shell: run,
    insideLines: () => Promise.resolve(existsSync(insideFile) ? readFileSync(insideFile, "utf8") : ""),
    errorLines: () =>
      Promise.resolve(
        [...ended, service].flatMap((each) =>
          each
            .lines()
            .filter(isError)
            .map((line) => JSON.stringify(line)),
        ),
      ),
    reload: () => {
      service.kill("SIGHUP");
      return Promise.resolve();
    },
    async restart() {
      service.kill("SIGTERM");
      const { code } = await service.exit;
      if (code !== 0) throw new Error(`the service ended with ${code}: ${service.stderr()}`);
      ended.push(service);
      service = await start();
    },
    async kill() {
      service.kill("SIGKILL");
      await service.exit;
      ended.push(service);
      service = await start();
    },
    async stop() {
      clearInterval(writer);
      await workspace.dispose();
    },
  };
}

/**
 * 240 000 lines once the streams are open, so that the caches of those who follow the journal are full when the measuring begins,
 * then 20 a second.
 */
const writeLines =
  "sleep 40; for i in $(seq 240); do seq -f 'line %.0f' 1000; sleep 0.3; done; n=0; while :; do n=$((n+1)); echo line $n; sleep 0.05; done";
const guestFile = "/run/steward-service/inside.jsonl";

/** The installed unit on a booted Debian. */
export async function hostTarget(modelUrl: string): Promise<Target> {
  const host = await bootHost();
  const shell = async (line: string): Promise<string> => (await host.exec(["sh", "-c", line])).stdout;
  try {
    const pluginDir = "/etc/steward/plugins";
    for (const [name, content] of Object.entries(pluginFiles)) {
      await host.writeFile(`${pluginDir}/soak/${name}`, content, name === "run" ? 0o755 : 0o644);
    }
    await shell(`chmod -R go-w,a+rX ${pluginDir}`);
    await host.exec([
      "systemd-run",
      "--quiet",
      "--unit=soak-lines",
      "--property=LogRateLimitIntervalSec=0",
      "sh",
      "-c",
      writeLines,
    ]);
    const service = await host.startService({
      config: settings(pluginDir, modelUrl, undefined),
      env: {
        STEWARD_RATE_LIMITS: "off",
        STEWARD_SOAK_FILE: guestFile,
        NODE_OPTIONS: `${nodeOptions} --import=/opt/steward/scripts/soak/inside.ts`,
        STEWARD_LISTEN: "127.0.0.1:0",
      },
    });
    return {
      words: "steward.service on Debian 12, as the package installs it",
      address: () => ({ url: service.url, key: service.adminKey }),
      units: ["cron.service", "systemd-logind.service"],
      plugin: "soak",
      pid: () => service.pid(),
      shell,
      insideLines: () => shell(`cat ${guestFile} 2>/dev/null || :`),
      errorLines: async () =>
        (await shell("journalctl --quiet --no-pager -o cat -u steward.service -p err || :"))
          .split("\n")
          .filter(Boolean),
      async reload() {
        await host.exec(["systemctl", "reload", "steward.service"]);
      },
      restart: () => service.restart(),
      async kill() {
        await host.exec(["systemctl", "kill", "--kill-whom=main", "--signal=KILL", "steward.service"]);
        await service.restart();
      },
      stop: () => host.stop(),
    };
  } catch (error) {
    await host.stop();
    throw error;
  }
}
