import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { errorMessage } from "#kernel/errors.ts";
import { defaultSuite, longTestsOn, suites } from "../test/host/recipe.ts";
import { failedTestsFile } from "./failed-tests.ts";

type Argv = readonly [string, ...string[]];

interface Step {
  readonly name: string;
  /** Run at the same time. */
  readonly commands: readonly Argv[];
}

const alone = (name: string, ...argv: Argv): Step => ({ name, commands: [argv] });

const reporters = ["default", "./scripts/failed-tests.ts", "./scripts/hung-tests.ts"].flatMap((each) => [
  "--reporter",
  each,
]);

const vitest = (projects: readonly string[], ...options: readonly string[]): Argv => [
  "vitest",
  "run",
  ...reporters,
  ...projects.flatMap((project) => ["--project", project]),
  ...options,
];

/** What `npm test` runs, in order: the quick gates first. */
const steps: readonly Step[] = [
  alone("format and style", "biome", "check", "--error-on-warnings", "."),
  {
    name: "types, promises, unused code, generated files",
    commands: [
      ["tsc", "-b"],
      ["oxlint", "--type-aware", "--deny-warnings"],
      ["knip"],
      ["node", "scripts/generate.ts", "--check"],
      ["redocly", "lint", "docs/reference/openapi.json"],
    ],
  },
  {
    name: "tests",
    commands: [
      // More than there are processors: services, hosts and clients wait for one another much of the time.
      vitest(["!host", "!long", "!sid", "!demo"], "--maxWorkers", String(Math.ceil(availableParallelism() * 1.5))),
      vitest(["host"]),
    ],
  },
];

/** What runs on the hosts of another Debian: of the long tests a part, such as 2/3, or all. */
const stepsOnHost = (part: string | undefined): readonly Step[] => [
  alone("host tests", ...vitest(["host"], "--maxWorkers", "4")),
  alone("long host tests", ...vitest(["long"], ...(part === undefined ? [] : ["--shard", part]), ...longTestsOn)),
];

const help = `usage: npm test [-- [--only STEP] [--host SUITE [--part PART]] [VITEST ARGUMENT ...]]

Runs all gates and tests but those of the projects "long", "sid" and "demo". Steps: ${steps.map(({ name }) => `"${name}"`).join(", ")}.
Arguments go to vitest and run the tests alone: npm test -- --project api
--host SUITE runs the tests of the host on another Debian (${suites.join(", ")}), or those that are named: npm test -- --host trixie,
npm test -- --host trixie --project host test/host/plugins.host.test.ts
--part 2/3 is the second third of the long tests among them; of all that are long: npm test -- --project long --shard 2/3
`;

const { values } = parseArgs({
  options: { help: { type: "boolean" }, only: { type: "string" }, host: { type: "string" }, part: { type: "string" } },
  allowPositionals: true,
  strict: false,
});

/** The arguments without an option that vitest does not know. */
function without(option: string, argv: readonly string[]): readonly string[] {
  const at = argv.findIndex((word) => word === option || word.startsWith(`${option}=`));
  return at === -1 ? argv : argv.toSpliced(at, argv[at] === option ? 2 : 1);
}

/** The Debian of the test hosts. @throws Error when it is none that they can be built from. */
function chosenSuite(): string {
  const { host = process.env["STEWARD_TEST_HOST"] } = values;
  return defaultSuite({ STEWARD_TEST_HOST: String(host ?? "") });
}

const environment = {
  ...process.env,
  // Nothing is sent anywhere about this run.
  REDOCLY_TELEMETRY: "off",
  REDOCLY_SUPPRESS_UPDATE_NOTICE: "true",
  NO_UPDATE_NOTIFIER: "1",
  DO_NOT_TRACK: "1",
};

function run([program, ...args]: Argv): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: "inherit", env: environment });
    child.on("error", reject);
    child.on("close", (code) => resolve(code ?? 1));
  });
}

if (values.help) {
  console.log(help);
  process.exit(0);
}
const forVitest = without("--part", without("--host", process.argv.slice(2)));
const chosen = ((): readonly Step[] => {
  const { only, host, part } = values;
  // Of whatever else runs, all would run: vitest's own word for a part is --shard.
  if (part !== undefined && (host === undefined || only !== undefined || forVitest.length > 0)) return [];
  if (only !== undefined) return steps.filter(({ name }) => name === only);
  if (forVitest.length > 0) return [alone("tests", ...vitest([], ...forVitest))];
  return host === undefined ? steps : stepsOnHost(part === undefined ? undefined : String(part));
})();
if (chosen.length === 0) {
  console.error(help);
  process.exit(2);
}

try {
  Object.assign(environment, { STEWARD_TEST_HOST: chosenSuite() });
} catch (error) {
  console.error(errorMessage(error));
  process.exit(2);
}

const temporary = mkdtempSync(join(tmpdir(), "steward-failed-tests-"));
process.on("exit", () => rmSync(temporary, { recursive: true, force: true }));
const failures = join(temporary, "failures");
writeFileSync(failures, "");
Object.assign(environment, { [failedTestsFile]: failures });

for (const { name, commands } of chosen) {
  const startedAt = performance.now();
  const codes = await Promise.all(commands.map(run));
  const code = codes.find((each) => each !== 0) ?? 0;
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  // They write at the same time, and what failed in one may be far up.
  console.log(readFileSync(failures, "utf8"));
  console.log(`${code === 0 ? "ok" : "FAILED"}: ${name} (${seconds} s)`);
  if (code !== 0) process.exit(code);
}
