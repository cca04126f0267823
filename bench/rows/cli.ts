import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { withCompletionHost } from "../completion-host.ts";
import { compare, type Line, type Row, type RowOptions, type Subject } from "../row.ts";
import { startSteward } from "../servers.ts";
import { withWorkspace } from "../workspace.ts";

const main = fileURLToPath(new URL("../../src/main.ts", import.meta.url));
/** Processes in each measurement, whose median counts. */
const runs = 7;

const version: Subject = {
  work: "`steward --version`",
  peer: "Node that runs an empty program",
  unit: "ms",
  judged: "ours/peer",
  goal: { is: "at most", value: 2 },
};
const versionOfPeer: Subject = {
  work: "`steward --version`",
  peer: "`systemctl --version`",
  unit: "ms",
  judged: "ours/peer",
};
const status: Subject = {
  work: "`steward status`, five requests",
  peer: "Node that asks one of them with `fetch`",
  unit: "ms",
  judged: "ours/peer",
  goal: { is: "at most", value: 3 },
};

const versionOfClient: Subject = {
  work: "`steward --version`",
  peer: "`kubectl version --client`",
  unit: "ms",
  judged: "peer/ours",
};
const statusOfClient: Subject = {
  work: "`steward status`, five requests",
  peer: "`kubectl get --raw` of one of them",
  unit: "ms",
  judged: "peer/ours",
};

const completion: Subject = {
  work: "completion of a unit's name, the program of the package",
  peer: "`systemctl --no-legend list-units`, which the completion of systemctl runs",
  unit: "ms",
  judged: "ours/peer",
};

/** In the test host, where there is a systemd to ask. */
const measureCompletion = (options: RowOptions): Promise<Line> =>
  withCompletionHost(options.say, ({ timeOurs, timeSystemctl }) =>
    compare(
      completion,
      {
        ours: async () => (await timeOurs(runs)).medianMs,
        peer: async () => (await timeSystemctl(runs)).medianMs,
      },
      options,
    ),
  );

type Argv = readonly [string, ...string[]];

/** Median time from the start of a process to its end. */
function timeRuns([program, ...args]: Argv, env: Readonly<Record<string, string>>): number {
  const times = Array.from({ length: runs }, () => {
    const startedAt = performance.now();
    const { status: code, stderr } = spawnSync(program, args, { env, encoding: "utf8" });
    // 1: what it inspected is unhealthy.
    if (code !== 0 && code !== 1)
      throw new Error(`cannot time ${program} ${args.join(" ")}: exit code ${code}: ${stderr}`);
    return performance.now() - startedAt;
  });
  return times.sort((a, b) => a - b)[Math.floor(runs / 2)] ?? 0;
}

export const cli: Row = {
  name: "cli",
  summary: "how long commands take, from the start of their process to its end",
  measure: (options) =>
    withWorkspace(async (workspace) => {
      const server = await startSteward(workspace, { limits: "counted" });
      const env = {
        PATH: process.env["PATH"] ?? "/usr/bin:/bin",
        HOME: workspace.directory,
        NODE_COMPILE_CACHE: join(workspace.directory, "compile-cache"),
        STEWARD_URL: server.url,
        STEWARD_API_KEY: server.headers["X-API-Key"] ?? "",
      };
      const timed =
        (...argv: Argv) =>
        () =>
          Promise.resolve(timeRuns(argv, env));
      const ask =
        "await (await fetch(process.env.STEWARD_URL + '/api/v1/health', { headers: { 'X-API-Key': process.env.STEWARD_API_KEY } })).json()";
      const node = process.execPath;
      try {
        return [
          await compare(version, { ours: timed(node, main, "--version"), peer: timed(node, "-e", "0") }, options),
          await compare(
            versionOfPeer,
            { ours: timed(node, main, "--version"), peer: timed("systemctl", "--version") },
            options,
          ),
          await compare(
            versionOfClient,
            { ours: timed(node, main, "--version"), peer: timed("kubectl", "version", "--client") },
            options,
          ),
          await compare(
            statusOfClient,
            {
              ours: timed(node, main, "status"),
              peer: timed(
                "kubectl",
                `--server=${server.url}`,
                `--token=${env.STEWARD_API_KEY}`,
                "get",
                "--raw",
                "/api/v1/health",
              ),
            },
            options,
          ),
          await compare(
            status,
            { ours: timed(node, main, "status"), peer: timed(node, "--input-type=module", "-e", ask) },
            options,
          ),
          await measureCompletion(options),
        ];
      } finally {
        await server.stop();
      }
    }),
};
