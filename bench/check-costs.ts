import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { bootHost } from "../test/host/host.ts";
import { machineFacts } from "./report.ts";

const file = fileURLToPath(new URL("check-costs.json", import.meta.url));
const guestNode = "/opt/steward/node_modules/.bin/node";
const timeoutMs = 20 * 60_000;

const help = `usage: npm run bench-checks [-- --runs N]

Boots the test host, runs each check N times in it (default 20) and prints the processor time of a run, with that of the programs that
it starts. Writes them into bench/check-costs.json, from which \`npm run generate\` makes docs/reference/checks.md.
`;

const { values } = parseArgs({
  options: { runs: { type: "string", default: "20" }, help: { type: "boolean", default: false } },
});
const runs = Number(values.runs);
if (values.help) {
  process.stdout.write(help);
} else if (!Number.isInteger(runs) || runs < 1 || runs > 1000) {
  throw new Error(`cannot do ${values.runs} runs: 1 to 1000 are possible`);
} else {
  const host = await bootHost({ log: (line) => void process.stderr.write(`${line}\n`) });
  try {
    const command = [guestNode, "/opt/steward/bench/guest/time-checks.ts", String(runs)];
    const { stdout } = await host.exec(command, { timeoutMs });
    const costs = Object.entries(JSON.parse(stdout) as Record<string, { status: string; cpuMs: number }>).map(
      ([id, { status, cpuMs }]) => [id, { status, cpu_ms: Number(cpuMs.toPrecision(2)) }] as const,
    );
    for (const [id, { status, cpu_ms: cpuMs }] of costs)
      process.stdout.write(`${id.padEnd(24)}${String(cpuMs).padStart(8)} ms  ${status}\n`);
    const measured = { machine: machineFacts(), runs, checks: Object.fromEntries(costs) };
    writeFileSync(file, `${JSON.stringify(measured, undefined, 2)}\n`);
  } finally {
    await host.stop();
  }
}
