import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { errorMessage } from "#kernel/errors.ts";
import { machineFacts } from "../bench/report.ts";
import { startModelServer } from "../test/process/support/model-server.ts";
import { formatSoak, soakEnd, soakStart, withSoak } from "./soak/report.ts";
import { soak } from "./soak/run.ts";
import { hostTarget, processTarget } from "./soak/target.ts";

const document = fileURLToPath(new URL("../bench/SOAK.md", import.meta.url));
const mostMinutes = 24 * 60;
const mostKills = 10_000;

const help = `usage: npm run soak [-- [--minutes N] [--kills N] [--host] [--write]]

Puts a steady load on the service: reads, log queries, changes, chats with a stub, streams that stay, come and go, or never read,
restarts of units, reloads. Then restarts and kills it under load, and looks each time for every change that was acknowledged.

  --minutes N  how long, before the restarts (default 30; 1 to ${mostMinutes})
  --kills N    how often it is killed at the end (default 200; 0 to ${mostKills})
  --host       the installed unit on a booted Debian (needs root, see test/host/README.md); a plain process otherwise
  --write      also write the table into bench/SOAK.md, between ${soakStart} and ${soakEnd}
  --help       print this

Exit code: 0 it held, 1 it did not, 2 it could not run.
`;

const say = (text: string): void => {
  process.stderr.write(`${text}\n`);
};

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      minutes: { type: "string", default: "30" },
      kills: { type: "string", default: "200" },
      host: { type: "boolean", default: false },
      write: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    process.stdout.write(help);
    return 0;
  }
  const minutes = Number(values.minutes);
  if (!(minutes >= 1 && minutes <= mostMinutes))
    throw new Error(`cannot soak for ${values.minutes} minutes: 1 to ${mostMinutes} are possible`);
  const kills = Number(values.kills);
  if (!(Number.isInteger(kills) && kills >= 0 && kills <= mostKills))
    throw new Error(`cannot kill it ${values.kills} times: 0 to ${mostKills} are possible`);
  const model = await startModelServer();
  try {
    const target = await (values.host ? hostTarget : processTarget)(model.url);
    try {
      const result = await soak(target, { minutes, readsPerSecond: 20, restarts: 3, kills, say });
      const table = formatSoak(result, target.words);
      process.stdout.write(`${table}\n\n${machineFacts()}\n`);
      for (const fault of result.tally.interrupted.slice(0, 10)) say(`while it restarted: ${fault}`);
      if (values.write) {
        const text = withSoak(readFileSync(document, "utf8"), table, `Measured on ${machineFacts()}.`);
        if (text === undefined) throw new Error(`cannot write the table: ${document} has no markers`);
        writeFileSync(document, text);
      }
      return result.failures.length === 0 ? 0 : 1;
    } finally {
      await target.stop();
    }
  } finally {
    await model.close();
  }
}

try {
  process.exitCode = await main();
} catch (error) {
  say(`soak: ${errorMessage(error)}`);
  process.exitCode = 2;
}
