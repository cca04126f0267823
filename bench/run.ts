import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { errorMessage } from "#kernel/errors.ts";
import { formatTable, machineFacts, tableEnd, tableStart, withLines } from "./report.ts";
import type { Line, Row } from "./row.ts";
import { rows } from "./rows/index.ts";

const results = fileURLToPath(new URL("RESULTS.md", import.meta.url));
const mostRounds = 100;

const help = `usage: npm run bench [-- [ROW ...] [--rounds N] [--json] [--write]]

Measures the service beside its peers on this machine, in turn, and prints both. Without ROW all rows run but those that say
otherwise.

${rows.map(({ name, summary }) => `  ${name.padEnd(27)}${summary}`).join("\n")}

  --rounds N  rounds that count, after one that does not (default 7)
  --json      print JSON instead of a table
  --write     also write the rows into the table of bench/RESULTS.md, between ${tableStart} and ${tableEnd}
  --help      print this

Exit code: 0 all rows were measured (a goal may be missed), 1 a row failed, 2 could not run.
`;

interface Choice {
  readonly chosen: readonly Row[];
  readonly rounds: number;
  readonly json: boolean;
  readonly write: boolean;
  readonly help: boolean;
}

/** @throws Error for what cannot be meant. */
function readArguments(argv: readonly string[]): Choice {
  const { values, positionals } = parseArgs({
    args: [...argv],
    options: {
      rounds: { type: "string", default: "7" },
      json: { type: "boolean", default: false },
      write: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
    allowPositionals: true,
  });
  const rounds = Number(values.rounds);
  if (!Number.isInteger(rounds) || rounds < 1 || rounds > mostRounds) {
    throw new Error(`cannot do ${values.rounds} rounds: 1 to ${mostRounds} are possible`);
  }
  const unknown = positionals.find((name) => !rows.some((row) => row.name === name));
  if (unknown !== undefined) throw new Error(`cannot run ${unknown}: no such row (see --help)`);
  const usual = rows.filter(({ isOnlyNamed }) => isOnlyNamed !== true);
  const chosen = positionals.length === 0 ? usual : rows.filter(({ name }) => positionals.includes(name));
  const { json, write } = values;
  return { chosen, rounds, json, write, help: values.help };
}

const say = (text: string): void => {
  process.stderr.write(`${text}\n`);
};

/** Runs one row after another: they would take time from each other. A row that fails does not keep the others. */
async function measureAll({ chosen, rounds }: Choice): Promise<{ lines: readonly Line[]; failed: readonly string[] }> {
  const lines: Line[] = [];
  const failed: string[] = [];
  for (const row of chosen) {
    try {
      lines.push(...(await row.measure({ rounds, say })));
    } catch (error) {
      failed.push(row.name);
      say(`cannot measure ${row.name}: ${errorMessage(error)}`);
    }
  }
  return { lines, failed };
}

function printReport(lines: readonly Line[], machine: string): void {
  console.log(`${machine}\n\n${formatTable(lines)}`);
  const noted = lines.filter((line) => "notes" in line).filter(({ notes }) => notes.length > 0);
  if (noted.length > 0) console.log();
  for (const { work, notes } of noted) console.log(`${work}: ${notes.join("; ")}`);
}

function writeResults(lines: readonly Line[], machine: string): void {
  const changed = withLines(readFileSync(results, "utf8"), lines, machine);
  if (changed === undefined) throw new Error(`cannot write ${results}: it lacks ${tableStart} and ${tableEnd}`);
  writeFileSync(results, changed);
  say("bench/RESULTS.md has the table; the rows in README.md are copied by hand");
}

async function main(argv: readonly string[]): Promise<number> {
  const choice = readArguments(argv);
  if (choice.help) {
    console.log(help);
    return 0;
  }
  const machine = machineFacts();
  const { lines, failed } = await measureAll(choice);
  if (choice.json) console.log(JSON.stringify({ machine, rounds: choice.rounds, lines, failed }, null, 2));
  else if (lines.length > 0) printReport(lines, machine);
  if (choice.write && failed.length === 0) writeResults(lines, machine);
  return failed.length === 0 ? 0 : 1;
}

// Ending by `exit` lets each row remove what it started.
for (const [signal, code] of [
  ["SIGINT", 130],
  ["SIGTERM", 143],
] as const)
  process.once(signal, () => process.exit(code));
process.exitCode = await main(process.argv.slice(2)).catch((error: unknown) => {
  say(errorMessage(error));
  return 2;
});
