import { availableParallelism } from "node:os";
import { errorMessage } from "#kernel/errors.ts";
import { defaultSuite } from "../test/host/recipe.ts";
import {
  countText,
  failedFiles,
  failureText,
  outcomeOf,
  type Repetition,
  timeText,
  unstableText,
} from "./testing/report.ts";
import type { FileResult } from "./testing/results.ts";
import { type Argv, Interrupted, run, runVitest } from "./testing/run.ts";

interface Step {
  readonly name: string;
  /** Run at the same time. */
  readonly commands: readonly Argv[];
}

/** The quick gates first; beside the slow ones what the tests run on is built. */
const gates: readonly Step[] = [
  { name: "format and style", commands: [["biome", "check", "--error-on-warnings", "."]] },
  {
    name: "types, promises, unused code, generated files, test host and program",
    commands: [
      ["tsc", "-b"],
      ["oxlint", "--type-aware", "--deny-warnings"],
      ["knip"],
      ["node", "scripts/generate.ts", "--check"],
      ["redocly", "lint", "docs/reference/openapi.json"],
      ["node", "scripts/testing/prepare.ts"],
    ],
  },
];

interface Lane {
  readonly name: string;
  readonly arguments: readonly string[];
}

const without = (...projects: readonly string[]): readonly string[] =>
  projects.flatMap((project) => ["--project", `!${project}`]);

/** One after the other, so that no test waits for the machine more than it would alone. */
const lanes: readonly Lane[] = [
  {
    name: "tests",
    arguments: [...without("host", "long", "machine", "sid", "demo"), "--maxWorkers", String(availableParallelism())],
  },
  { name: "hosts", arguments: ["--project", "host"] },
];

/** More files than this that fail and then pass alone fail the run. */
const maxUnstable = 2;
/** More that fail say that something common to them is broken: to run each again would show nothing. */
const maxRepeated = 8;

const help = `usage: npm test [-- VITEST ARGUMENT ...]

Runs all gates, then the tests, one lane after the other (${lanes.map(({ name }) => name).join(", ")}). A file that fails is run once more,
alone, at the end: where it passes then, it is named as unstable, and more than ${maxUnstable} of these fail the run.
With arguments it is vitest that runs, with these: npm test -- --project api, npm test -- test/ports/units.test.ts
Everything that takes longer: npm run test:all -- --help

  STEWARD_TEST_SEED  the number from which tests draw what they take by chance; 1 unless given
  STEWARD_TEST_HOST  the Debian of the test hosts; bookworm unless given
`;

const seconds = (since: number): string => `${((performance.now() - since) / 1000).toFixed(1)} s`;

async function passes({ name, commands }: Step): Promise<boolean> {
  const startedAt = performance.now();
  const codes = await Promise.all(commands.map((command) => run(command)));
  const failed = commands.filter((_, at) => codes[at] !== 0);
  for (const command of failed) console.log(`FAILED: ${command.join(" ")}`);
  console.log(`${failed.length === 0 ? "ok" : "FAILED"}: ${name} (${seconds(startedAt)})`);
  return failed.length === 0;
}

/** Runs files that have failed once more, each alone. */
async function runAgain(files: readonly FileResult[]): Promise<readonly Repetition[]> {
  const repetitions: Repetition[] = [];
  for (const first of files) {
    console.log(`once more, alone: ${first.file}`);
    repetitions.push({ first, ...(await runVitest(["--project", first.project, first.file])) });
  }
  return repetitions;
}

/** Runs all lanes. @returns whether they pass. */
async function runLanes(): Promise<boolean> {
  const results: FileResult[] = [];
  let isComplete = true;
  for (const { name, arguments: args } of lanes) {
    const startedAt = performance.now();
    const { code, files } = await runVitest(args);
    const failed = failedFiles(files);
    // Without a file to blame vitest itself has failed, or a file hung or lost its process and others were not run.
    if (code !== 0 && (failed.length === 0 || failed.some(({ project }) => project === ""))) isComplete = false;
    results.push(...files);
    console.log(`${code === 0 ? "ok" : `${failed.length} files failed`}: ${name} (${seconds(startedAt)})`);
  }
  const first = failedFiles(results);
  const repetitions = isComplete && first.length <= maxRepeated ? await runAgain(first) : [];
  const { failed, unstable, files } = outcomeOf(results, repetitions);

  console.log(`\n${timeText(results)}\n`);
  if (failed.length > 0) console.log(`${failureText(failed)}\n`);
  if (!isComplete) console.log("FAILED: something failed outside of tests, and others may not have run\n");
  if (first.length > maxRepeated) console.log(`${first.length} files failed: none was run again\n`);
  console.log(countText(files));
  console.log(`${unstable.length} unstable`);
  if (unstable.length > 0) console.log(unstableText(unstable));
  if (unstable.length > maxUnstable) console.log(`FAILED: more than ${maxUnstable} files are unstable`);
  return isComplete && failed.length === 0 && unstable.length <= maxUnstable;
}

async function main(args: readonly string[]): Promise<number> {
  if (args.includes("--help")) {
    console.log(help);
    return 0;
  }
  process.env["STEWARD_TEST_SEED"] ??= "1";
  console.log(`test host: Debian ${defaultSuite()}, STEWARD_TEST_SEED=${process.env["STEWARD_TEST_SEED"]}`);
  const startedAt = performance.now();
  if (args.length > 0) {
    const { code, files } = await runVitest(args);
    console.log(failureText(failedFiles(files)));
    return code;
  }
  for (const step of gates) if (!(await passes(step))) return 1;
  const isPassed = await runLanes();
  console.log(`${isPassed ? "ok" : "FAILED"}: npm test (${seconds(startedAt)})`);
  return isPassed ? 0 : 1;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  console.error(errorMessage(error));
  process.exitCode = error instanceof Interrupted ? error.status : 2;
}
