import { spawnSync } from "node:child_process";
import { median } from "../harness.ts";
import { fetchBody, timeEach } from "../time-requests.ts";

/**
 * Runs inside the test host: `time-units.ts COUNT PROGRAM|URL UNIT ...`, the key in STEWARD_API_KEY. Asks for another unit each time:
 * an address by requests over one connection, a program as a process. Prints the times as JSON.
 */
const [, , count = "1", asked = "", ...units] = process.argv;
const headers = { "X-API-Key": process.env["STEWARD_API_KEY"] ?? "" };
const wanted = Array.from({ length: Number(count) }, (_, index) => units[index % units.length] ?? "");

async function timeService(): Promise<number> {
  const urls = wanted.map((unit) => `${asked}/${unit}`);
  const { name, logs } = JSON.parse(await fetchBody(urls.at(-1) ?? "", headers)) as { name: string; logs: unknown };
  if (name !== wanted.at(-1) || !Array.isArray(logs))
    throw new Error(`cannot compare: no answer with the log of ${name}`);
  return timeEach(urls.map((url) => ({ url, headers })));
}

function timeProgram(): number {
  return median(
    wanted.map((unit) => {
      const startedAt = performance.now();
      const { stdout, stderr } = spawnSync(asked, ["status", "--no-pager", "--lines=20", unit]);
      const time = performance.now() - startedAt;
      if (!stdout.toString("utf8").includes(unit)) throw new Error(`cannot run ${asked}: ${stderr.toString("utf8")}`);
      return time;
    }),
  );
}

const medianMs = /^https?:/.test(asked) ? await timeService() : timeProgram();
console.log(JSON.stringify({ medianMs, listed: units.length, total: units.length }));
