import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { parseArgs } from "node:util";
import { nameOf, type Progress, root } from "./child.ts";
import { type Finding, replay, supervise } from "./supervise.ts";
import { type TargetEntry, targets } from "./targets/index.ts";

const help = `usage: npm run fuzz -- [TARGET ...] [--seconds N] [--runs N] [--seed S] [--fresh] [--keep]
       npm run fuzz -- TARGET --replay FILE

Gives hostile input to what reads input from outside, guided by the coverage of its code. Targets: ${targets.map(({ name }) => name).join(", ")}.

  --seconds N    how long in all; 60 unless given, shared among the targets
  --runs N       at most so many inputs of each target's own making; with 0 the corpus alone
  --seed S       a number: the same inputs for the same seed and corpus; random unless given
  --fresh        leaves aside what earlier runs on this machine have collected
  --keep         leaves in the corpus of the repository the smallest inputs that reach what was reached
  --replay FILE  runs one input, and says what is wrong

Exit status: 0 nothing found, 1 something found, 2 usage. Findings are written to test/fuzz/findings; see test/fuzz/README.md.
`;

const here = import.meta.dirname;
const findingsDirectory = join(here, "findings");
const workDirectory = join(root, "node_modules/.cache/fuzz");
const moduleOf = ({ name }: TargetEntry): string => join(here, "targets", `${name}.ts`);
/** Far beyond what any input takes, on a machine that has much else to do. */
const hangMs = 20_000;
const write = (text: string): void => void process.stdout.write(`${text}\n`);

/** A number that differs from one target to the next. */
const seedOf = (seed: number, name: string): number =>
  Buffer.from(name).reduce((sum, letter) => Math.imul(sum ^ letter, 0x0100_0193) >>> 0, seed >>> 0);

const progressLine = (name: string, { executions, corpus, corpusBytes, reached, known, seconds }: Progress): string => {
  const perSecond = Math.round(executions / Math.max(seconds, 0.001));
  const share = Math.round((100 * reached) / Math.max(known, 1));
  return `${name.padEnd(16)} ${executions} executions in ${seconds.toFixed(1)} s (${perSecond}/s), corpus ${corpus} (${Math.ceil(corpusBytes / 1024)} KiB), ${reached} of ${known} edges (${share} %)`;
};

/** Writes a finding down, and how to see it again. */
function report(name: string, { message, input, isReproducible }: Finding): void {
  const directory = join(findingsDirectory, name);
  mkdirSync(directory, { recursive: true });
  const file = join(directory, nameOf(input));
  writeFileSync(file, input);
  write(`\nFOUND by ${name}, with ${input.length} bytes: ${message}`);
  if (!isReproducible) write("  It did not happen again with this input alone: it depends on those before it.");
  write(`  npm run fuzz -- ${name} --replay ${relative(root, file)}\n`);
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    help: { type: "boolean" },
    seconds: { type: "string", default: "60" },
    runs: { type: "string" },
    seed: { type: "string" },
    fresh: { type: "boolean", default: false },
    keep: { type: "boolean", default: false },
    replay: { type: "string" },
  },
});

const unknown = positionals.filter((name) => !targets.some((target) => target.name === name));
const numbers = [values.seconds, values.runs ?? "0", values.seed ?? "0"].map(Number);
const isUsage = unknown.length === 0 && numbers.every((number) => Number.isFinite(number) && number >= 0);
if (values.help === true || !isUsage || (values.replay !== undefined && positionals.length !== 1)) {
  for (const name of unknown) write(`there is no target ${name}`);
  write(help);
  process.exit(values.help === true ? 0 : 2);
}

const chosen = targets.filter(({ name }) => positionals.length === 0 || positionals.includes(name));

if (values.replay !== undefined) {
  const [target] = chosen;
  if (target === undefined) throw new RangeError("no target");
  const { instrumented } = target;
  const finding = await replay({ module: moduleOf(target), instrumented, hangMs }, readFileSync(values.replay));
  write(finding === undefined ? "nothing is wrong with it" : finding.message);
  process.exit(finding === undefined ? 0 : 1);
}

const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(values.seed);
const runs = values.runs === undefined ? Number.MAX_SAFE_INTEGER : Number(values.runs);
write(`seed ${seed}`);
const isTerminal = process.stdout.isTTY;
let found = 0;
for (const target of chosen) {
  const { name, instrumented } = target;
  const corpus = join(here, "corpus", name);
  const work = join(workDirectory, name);
  const task = {
    module: moduleOf(target),
    instrumented,
    hangMs,
    seed: seedOf(seed, name),
    seconds: Number(values.seconds) / chosen.length,
    runs,
    inputs: values.fresh ? [corpus] : [corpus, work],
    withSeeds: true,
    workDirectory: runs === 0 || values.fresh ? undefined : work,
    keepDirectory: values.keep ? corpus : undefined,
  };
  const { progress, findings } = await supervise(task, (now) => {
    if (isTerminal) process.stdout.write(`\r\u001b[K${progressLine(name, now)}`);
  });
  if (isTerminal) process.stdout.write("\r\u001b[K");
  write(progress === undefined ? `${name}: ended before its first input` : progressLine(name, progress));
  for (const finding of findings) report(name, finding);
  found += findings.length;
}
write(found === 0 ? "nothing found" : `${found} found`);
process.exit(found === 0 ? 0 : 1);
