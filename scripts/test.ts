import { spawn } from "node:child_process";
import { parseArgs } from "node:util";

interface Step {
  readonly name: string;
  readonly argv: readonly [string, ...string[]];
  /** Runs at the same time. */
  readonly beside?: readonly [string, ...string[]];
}

/** What `npm test` runs, in order: the quick gates first. */
const steps = [
  { name: "types and layers", argv: ["tsc", "-b"] },
  { name: "format and style", argv: ["biome", "check", "--error-on-warnings", "."] },
  { name: "promises and types", argv: ["oxlint", "--type-aware", "--deny-warnings"] },
  { name: "unused code", argv: ["knip"] },
  { name: "generated files", argv: ["node", "scripts/generate.ts", "--check"] },
  { name: "OpenAPI document", argv: ["redocly", "lint", "docs/reference/openapi.json"] },
  // Side by side: the test hosts wait for their own systemd most of the time.
  {
    name: "tests",
    // Half of the processors: the test hosts are not to be short of their own.
    argv: ["vitest", "run", "--project", "!host", "--project", "!long", "--project", "!demo", "--maxWorkers", "50%"],
    beside: ["vitest", "run", "--project", "host"],
  },
] as const satisfies readonly Step[];

const help = `usage: npm test [-- [--only STEP] [VITEST ARGUMENT ...]]

Runs all gates and tests but those of the projects "long" and "demo". Steps: ${steps.map(({ name }) => `"${name}"`).join(", ")}.
Arguments go to vitest and run the tests alone: npm test -- --project api
`;

const environment = {
  ...process.env,
  // Nothing is sent anywhere about this run.
  REDOCLY_TELEMETRY: "off",
  REDOCLY_SUPPRESS_UPDATE_NOTICE: "true",
  NO_UPDATE_NOTIFIER: "1",
  DO_NOT_TRACK: "1",
};

function run([program, ...args]: readonly [string, ...string[]]): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: "inherit", env: environment });
    child.on("error", reject);
    child.on("close", (code) => resolve(code ?? 1));
  });
}

const { values, positionals, tokens } = parseArgs({
  options: { help: { type: "boolean" }, only: { type: "string" } },
  allowPositionals: true,
  strict: false,
  tokens: true,
});
if (values.help) {
  console.log(help);
  process.exit(0);
}
const forVitest = process.argv.slice(2);
const isForVitest = values.only === undefined && (positionals.length > 0 || tokens.length > 0);
const chosen: readonly Step[] = isForVitest
  ? [{ name: "tests", argv: ["vitest", "run", ...forVitest] }]
  : steps.filter(({ name }) => values.only === undefined || values.only === name);
if (chosen.length === 0) {
  console.error(help);
  process.exit(2);
}

for (const { name, argv, beside } of chosen) {
  const startedAt = performance.now();
  const codes = await Promise.all([argv, ...(beside === undefined ? [] : [beside])].map(run));
  const code = codes.find((each) => each !== 0) ?? 0;
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  console.log(`${code === 0 ? "ok" : "FAILED"}: ${name} (${seconds} s)`);
  if (code !== 0) process.exit(code);
}
