import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join, relative } from "node:path";
import { createRandom, type Random } from "../support/random.ts";
import { type Coverage, startCoverage } from "./coverage.ts";
import { mutate } from "./mutate.ts";
import { BrokenPromise, type FuzzTarget, type OpenTarget } from "./target.ts";

/*
 * Fuzzes one target. A process of its own: an input that makes it loop, swell or die takes only this process along, and anyone who
 * started it reads in the flight recorder which input it was.
 */

/** What to do, as JSON in the first argument. */
export interface ChildTask {
  /** Module that exports `target`. */
  readonly module: string;
  /** Paths inside of the project, or beginnings of them, of the modules that are instrumented. */
  readonly instrumented: readonly string[];
  readonly seed: number;
  /** How long to continue after the inputs below, and how many times at most. */
  readonly seconds: number;
  readonly runs: number;
  /** Directories and files of inputs. */
  readonly inputs: readonly string[];
  /** Whether the target's own seeds are inputs too. */
  readonly withSeeds: boolean;
  /** Directory for inputs that reach something new. */
  readonly workDirectory: string | undefined;
  /** Directory that is left with the smallest inputs which reach all that these reach. */
  readonly keepDirectory: string | undefined;
  readonly recorder: string;
  /** Whether failing inputs are made smaller. */
  readonly isMinimising: boolean;
}

/** How far it has come. */
export interface Progress {
  readonly executions: number;
  readonly corpus: number;
  readonly corpusBytes: number;
  readonly reached: number;
  readonly known: number;
  readonly seconds: number;
}

/** One line on the third descriptor. */
export type ChildEvent =
  | ({ readonly kind: "progress" | "end" } & Progress)
  | { readonly kind: "finding"; readonly key: string; readonly message: string; readonly input: string };

export const root = join(import.meta.dirname, "../..");
/** Exit status where not the target is at fault. */
export const driverFailed = 70;
/** Former findings: they stay in the corpus, whatever they reach. */
const foundPrefix = "found-";
const eventDescriptor = 3;
const progressMs = 1_000;
/** Resident memory by which one run may raise the highest so far. */
const maxGrowthKb = 256 * 1024;
const maxFindings = 10;
const minimiseTries = 600;

export const nameOf = (input: Buffer): string => createHash("sha256").update(input).digest("hex").slice(0, 12);

const emit = (event: ChildEvent): void => void writeSync(eventDescriptor, `${JSON.stringify(event)}\n`);

/** The input that is being run, and its number, where they outlast the process. */
function openRecorder(path: string, maxBytes: number) {
  const file = openSync(path, "w", 0o600);
  const record = Buffer.alloc(8 + maxBytes);
  return (execution: number, input: Buffer): void => {
    record.writeUInt32LE(execution >>> 0, 0);
    record.writeUInt32LE(input.length, 4);
    input.copy(record, 8);
    writeSync(file, record, 0, 8 + Math.min(input.length, maxBytes), 0);
  };
}

/**
 * Makes an input smaller as long as it still fails: takes parts out, large ones first.
 * @param stillFails says whether a smaller one does.
 * @param tries how often it may be called.
 */
export async function minimise(
  input: Buffer,
  stillFails: (smaller: Buffer) => boolean | Promise<boolean>,
  tries: number,
): Promise<Buffer> {
  let smallest = input;
  let left = tries;
  for (let part = Math.ceil(input.length / 2); part >= 1 && left > 0; part = part === 1 ? 0 : Math.ceil(part / 2)) {
    for (let from = 0; from < smallest.length && left > 0; ) {
      const smaller = Buffer.concat([smallest.subarray(0, from), smallest.subarray(from + part)]);
      left -= 1;
      if (await stillFails(smaller)) smallest = smaller;
      else from += part;
    }
  }
  return smallest;
}

/** Which failure it is: what is the same for inputs that differ only in detail. */
function keyOf(error: Error): string {
  const frame = (error.stack ?? "").split("\n").find((line) => line.includes(root) && !line.includes("test/fuzz/"));
  const place = frame === undefined ? "" : relative(root, /\(?(?:file:\/\/)?(\/[^)]*)/.exec(frame)?.[1] ?? "");
  const [what = ""] = error instanceof BrokenPromise ? error.message.split(":") : [error.message];
  const message = what.replaceAll(/"[^"]*"|'[^']*'|[\d.]+/g, "#").slice(0, 80);
  return `${error.name} ${message} ${place}`;
}

const asError = (thrown: unknown): Error => (thrown instanceof Error ? thrown : new Error(`threw ${String(thrown)}`));

/** An input that reached something new, and how often others were made of it. */
interface Entry {
  readonly bytes: Buffer;
  chosen: number;
}

/** The one of three that was chosen least. */
function choose(corpus: readonly Entry[], random: Random): Entry {
  const [best] = [random.pick(corpus), random.pick(corpus), random.pick(corpus)].toSorted(
    (a, b) => a.chosen - b.chosen,
  );
  return best ?? random.pick(corpus);
}

/** Words of the target: its own, and those of its code that are not mere prose. */
function wordsOf(target: FuzzTarget, coverage: Coverage): readonly Buffer[] {
  const own = target.dictionary().map((word) => Buffer.from(word as string));
  const fromCode = coverage.literals().flatMap((literal) => {
    if (typeof literal === "string") return /^[^ ].{0,30}$/s.test(literal) ? [Buffer.from(literal)] : [];
    if (!Number.isSafeInteger(literal) || literal < 128) return [];
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64LE(BigInt(literal));
    return [bytes.subarray(0, literal < 2 ** 16 ? 2 : literal < 2 ** 32 ? 4 : 8), Buffer.from(String(literal))];
  });
  // Its own as often as all of the others.
  const times = own.length === 0 ? 0 : Math.max(1, Math.ceil(fromCode.length / own.length));
  return [...fromCode, ...Array.from({ length: times }, () => own).flat()];
}

const readInputs = (paths: readonly string[]): readonly { readonly bytes: Buffer; readonly isFound: boolean }[] =>
  paths.flatMap((path) => {
    if (!existsSync(path)) return [];
    if (!statSync(path).isDirectory()) return [{ bytes: readFileSync(path), isFound: true }];
    const names = readdirSync(path).toSorted();
    return names.map((name) => ({ bytes: readFileSync(join(path, name)), isFound: name.startsWith(foundPrefix) }));
  });

/** Leaves the smallest inputs in a directory that together reach every edge, and former findings. */
function keep(directory: string, inputs: readonly Buffer[]): void {
  mkdirSync(directory, { recursive: true });
  const wanted = new Set(inputs.map(nameOf));
  for (const name of readdirSync(directory)) {
    if (!name.startsWith(foundPrefix) && !wanted.has(name)) rmSync(join(directory, name));
  }
  for (const input of inputs) writeFileSync(join(directory, nameOf(input)), input);
}

async function fuzz(task: ChildTask): Promise<void> {
  const isWanted = (path: string): boolean => task.instrumented.some((prefix) => path.startsWith(prefix));
  const coverage = startCoverage((path) => isWanted(relative(root, path)));
  // Only now, so that it and all that it imports are instrumented.
  const { target } = (await import(task.module)) as { readonly target: FuzzTarget };
  const opened: OpenTarget = await target.open();
  const record = openRecorder(task.recorder, target.maxBytes);
  const random = createRandom(task.seed);
  const corpus: Entry[] = [];
  const keys = new Set<string>();
  let executions = 0;
  let late: Error | undefined;
  process.on("uncaughtException", (error) => {
    late ??= asError(error);
  });
  process.on("unhandledRejection", (error) => {
    late ??= asError(error);
  });

  /** Runs one input. @returns what it reached again, or how it failed. */
  const run = async (input: Buffer): Promise<readonly number[] | Error> => {
    executions += 1;
    record(executions, input);
    const residentBefore = process.resourceUsage().maxRSS;
    coverage.begin();
    let failure: Error | undefined;
    try {
      await opened.run(input);
    } catch (error) {
      failure = asError(error);
    }
    const event = coverage.end();
    const steps = coverage.steps();
    const grown = process.resourceUsage().maxRSS - residentBefore;
    failure ??= late;
    late = undefined;
    if (failure !== undefined) return failure;
    if (steps > target.maxSteps) return new Error(`it took ${steps} steps, and may take ${target.maxSteps}`);
    if (grown > maxGrowthKb) return new Error(`it took ${grown} KiB of memory`);
    return event;
  };

  const startedAt = performance.now();
  const progress = (kind: "progress" | "end"): void => {
    const { reached, known } = coverage.edges();
    const corpusBytes = corpus.reduce((sum, { bytes }) => sum + bytes.length, 0);
    const seconds = (performance.now() - startedAt) / 1000;
    emit({ kind, executions, corpus: corpus.length, corpusBytes, reached, known, seconds });
  };

  const report = async (input: Buffer, error: Error): Promise<void> => {
    const key = keyOf(error);
    if (keys.has(key)) return;
    keys.add(key);
    const isSame = async (smaller: Buffer): Promise<boolean> => {
      const outcome = await run(smaller);
      return outcome instanceof Error && keyOf(outcome) === key;
    };
    const smallest = task.isMinimising ? await minimise(input, isSame, minimiseTries) : input;
    emit({ kind: "finding", key, message: error.stack ?? error.message, input: smallest.toString("base64") });
  };

  /** Runs an input, and takes it into the corpus when it reaches something new. */
  const consider = async (input: Buffer, minimal: Buffer[] | undefined): Promise<void> => {
    const edgesBefore = coverage.edges().reached;
    const outcome = await run(input);
    if (outcome instanceof Error) return report(input, outcome);
    if (outcome.length === 0) return;
    corpus.push({ bytes: input, chosen: 0 });
    if (coverage.edges().reached > edgesBefore) minimal?.push(input);
    if (task.workDirectory !== undefined) writeFileSync(join(task.workDirectory, nameOf(input)), input);
  };

  if (task.workDirectory !== undefined) mkdirSync(task.workDirectory, { recursive: true });
  const seeds = task.withSeeds ? target.seeds().map((bytes) => ({ bytes, isFound: false })) : [];
  // The smallest first: larger ones have to reach more to be taken.
  const inputs = [...readInputs(task.inputs), ...seeds].toSorted((a, b) => a.bytes.length - b.bytes.length);
  const minimal: Buffer[] = [];
  for (const { bytes, isFound } of inputs) await consider(bytes.subarray(0, target.maxBytes), isFound ? [] : minimal);
  if (corpus.length === 0) corpus.push({ bytes: Buffer.alloc(0), chosen: 0 });
  progress("progress");

  const words = wordsOf(target, coverage);
  const until = performance.now() + task.seconds * 1000;
  let reportedAt = performance.now();
  for (let count = 0; count < task.runs && performance.now() < until && keys.size < maxFindings; count += 1) {
    const entry = choose(corpus, random);
    entry.chosen += 1;
    const other = random.pick(corpus).bytes;
    const { maxBytes } = target;
    const isFormal = target.mutate !== undefined && random.chance(0.5);
    const formal = isFormal ? target.mutate?.(entry.bytes, random)?.subarray(0, maxBytes) : undefined;
    await consider(formal ?? mutate(entry.bytes, random, { words, other, maxBytes }), undefined);
    if (performance.now() - reportedAt < progressMs) continue;
    reportedAt = performance.now();
    progress("progress");
    // What the target left to be done later has its turn.
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  await opened.close?.();
  if (task.keepDirectory !== undefined) keep(task.keepDirectory, minimal);
  progress("end");
}

// Started as a program; the types are imported from here too.
if (process.argv[1] === import.meta.filename) {
  try {
    await fuzz(JSON.parse(process.argv[2] ?? "") as ChildTask);
    // Whatever the target still holds open.
    process.exit(0);
  } catch (error) {
    process.stderr.write(`${asError(error).stack}\n`);
    process.exit(driverFailed);
  }
}
