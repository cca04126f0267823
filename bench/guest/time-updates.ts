import { spawnSync } from "node:child_process";
import { median } from "../harness.ts";
import { timeRequests } from "../time-requests.ts";

/**
 * Runs inside the test host: `time-updates.ts service URL COUNT`, the key in STEWARD_API_KEY, or `time-updates.ts apt COUNT
 * [OPTION ...]`. Prints as JSON the time of one answer and what it says: `name version`, in order.
 */
const [, , side = "", ...args] = process.argv;

interface Answer {
  readonly medianMs: number;
  readonly updates: readonly string[];
  readonly security: readonly string[];
}

async function askService(url: string, count: number): Promise<Answer> {
  const headers = { "X-API-Key": process.env["STEWARD_API_KEY"] ?? "" };
  const { medianMs, body } = await timeRequests(url, headers, count);
  const { packages } = JSON.parse(body) as {
    packages: { updates: readonly { name: string; new_version: string; is_security: boolean }[] };
  };
  const lineOf = ({ name, new_version: version }: (typeof packages.updates)[number]): string => `${name} ${version}`;
  return {
    medianMs,
    updates: packages.updates.map(lineOf).sort(),
    security: packages.updates
      .filter((update) => update.is_security)
      .map(lineOf)
      .sort(),
  };
}

function askApt(count: number, options: readonly string[]): Answer {
  const times: number[] = [];
  let text = "";
  for (let index = 0; index < count; index += 1) {
    const startedAt = performance.now();
    const { status, stdout, stderr } = spawnSync("apt", ["list", "--upgradable", ...options], {
      maxBuffer: 64 * 1024 * 1024,
    });
    times.push(performance.now() - startedAt);
    if (status !== 0) throw new Error(`cannot run apt: ${stderr.toString("utf8")}`);
    text = stdout.toString("utf8");
  }
  // NAME/SUITE,SUITE VERSION ARCHITECTURE [upgradable from: VERSION]
  const found = [...text.matchAll(/^([^/\s]+)\/(\S+) (\S+) \S+ \[upgradable from: /gm)];
  const lineOf = ([, name = "", , version = ""]: RegExpExecArray): string => `${name} ${version}`;
  return {
    medianMs: median(times),
    updates: found.map(lineOf).sort(),
    security: found
      .filter(([, , suites = ""]) => suites.includes("-security"))
      .map(lineOf)
      .sort(),
  };
}

const ask: Readonly<Record<string, () => Answer | Promise<Answer>>> = {
  service: () => askService(args[0] ?? "", Number(args[1])),
  apt: () => askApt(Number(args[0]), args.slice(1)),
};
const answer = await ask[side]?.();
if (answer === undefined) throw new Error(`cannot time ${side}: there is no such side`);
console.log(JSON.stringify(answer));
