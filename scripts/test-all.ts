import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { parseArgs } from "node:util";
import { errorMessage } from "#kernel/errors.ts";
import { type Command, type Part, parts } from "./testing/parts.ts";
import { countText, failedFiles, failureText } from "./testing/report.ts";
import type { FileResult } from "./testing/results.ts";
import { Interrupted, run, runVitest } from "./testing/run.ts";

const help = `usage: npm run test:all [-- [PART ...] [--summary FILE]]

Runs what takes longer than \`npm test\` may, part by part, and continues after a failure. Parts:
${parts.map(({ name, proves }) => `  ${name.padEnd(14)} ${proves}`).join("\n")}

  --summary FILE     where the results are written, JSON; dist/test-all.json unless given
  STEWARD_TEST_SEED  the number from which tests draw what they take by chance; another one for each day unless given

Exit status: 0 all passed, 1 something failed, 2 usage.
`;

interface PartResult {
  readonly part: string;
  readonly seconds: number;
  /** What repeats each command that failed. */
  readonly failed: readonly string[];
  readonly files: readonly FileResult[];
}

const words = (argv: readonly string[]): string =>
  argv.map((word) => (/^[\w./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(" ");

const assignments = (environment: Readonly<Record<string, string>>): string =>
  Object.entries(environment)
    .map(([name, value]) => `${name}=${value} `)
    .join("");

/** @returns the results, and the commands that repeat what failed. */
async function runCommand(command: Command, seed: string): Promise<Pick<PartResult, "failed" | "files">> {
  const environment = { ...command.environment, STEWARD_TEST_SEED: seed };
  const before = assignments(environment);
  if ("script" in command) {
    const argv = ["npm", "run", command.script, "--", ...command.arguments, "--seed", seed] as const;
    return { files: [], failed: (await run(argv, environment)) === 0 ? [] : [words(argv)] };
  }
  const { code, files } = await runVitest(command.vitest, environment);
  const failed = failedFiles(files);
  const ofFiles = failed.map(({ project, file }) =>
    project === "" ? words(command.vitest) : words(["--project", project, file]),
  );
  const repeated = code !== 0 && ofFiles.length === 0 ? [words(command.vitest)] : [...new Set(ofFiles)];
  return { files, failed: repeated.map((argv) => `${before}npm test -- ${argv}`) };
}

async function runPart({ name, commands }: Part, seed: string): Promise<PartResult> {
  console.log(`\n== ${name} ==`);
  const startedAt = performance.now();
  const results = [];
  for (const command of commands) results.push(await runCommand(command, seed));
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  const failed = results.flatMap((result) => result.failed);
  console.log(`${failed.length === 0 ? "ok" : "FAILED"}: ${name} (${seconds} s)`);
  return { part: name, seconds, failed, files: results.flatMap(({ files }) => files) };
}

function printSummary(results: readonly PartResult[]): void {
  const files = results.flatMap((result) => result.files);
  const failed = failedFiles(files);
  console.log(`\n${failureText(failed)}\n`);
  for (const { part, seconds, failed: commands } of results) {
    console.log(`${commands.length === 0 ? "ok" : "FAILED"}: ${part} (${seconds} s)`);
    for (const command of commands) console.log(`    ${command}`);
  }
  console.log(countText(files));
}

async function main(argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...argv],
    options: { help: { type: "boolean" }, summary: { type: "string", default: "dist/test-all.json" } },
    allowPositionals: true,
  });
  if (values.help) {
    console.log(help);
    return 0;
  }
  const unknown = positionals.filter((each) => !parts.some(({ name }) => name === each));
  if (unknown.length > 0)
    throw new Error(`unknown part ${unknown.join(", ")} (one of ${parts.map(({ name }) => name).join(", ")})`);
  const chosen = positionals.length === 0 ? parts : parts.filter(({ name }) => positionals.includes(name));
  const seed = process.env["STEWARD_TEST_SEED"] ?? String(Math.floor(Date.now() / 86_400_000));
  console.log(`STEWARD_TEST_SEED=${seed}`);
  // Without root the tests that need it are skipped, and say so.
  if (process.getuid?.() === 0 && (await run(["bash", "scripts/testing/packages", "all"])) !== 0)
    throw new Error("cannot install the programs that the tests drive");
  const results: PartResult[] = [];
  for (const part of chosen) {
    results.push(await runPart(part, seed));
    // Written after each part: what is known is kept where the run is ended.
    mkdirSync(dirname(resolve(values.summary)), { recursive: true });
    writeFileSync(values.summary, `${JSON.stringify({ seed, parts: results }, undefined, 2)}\n`);
  }
  printSummary(results);
  return results.every(({ failed }) => failed.length === 0) ? 0 : 1;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  console.error(errorMessage(error));
  process.exitCode = error instanceof Interrupted ? error.status : 2;
}
