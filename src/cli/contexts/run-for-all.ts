import type { Plan } from "#contract/operation.ts";
import { counted } from "#kernel/text.ts";
import type { CliTime } from "../core/ports.ts";
import { exitCode, type Io } from "../output/output.ts";
import { startProgress } from "../output/progress.ts";
import { askHost, type Fault, type HostResult, type HostRun, lookAt } from "./ask.ts";
import type { SeveralHosts } from "./choice.ts";
import { printPlans, printResults } from "./print.ts";

interface AllPorts extends Pick<CliTime, "timeout"> {
  readonly several: SeveralHosts;
  readonly io: Io;
  /** Runs a command for one host. @throws what ended it instead of an exit code. */
  readonly run: (each: HostRun) => Promise<number>;
  readonly interrupted: AbortSignal;
}

const mostAtOnce = 16;

async function inTurns<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<readonly R[]> {
  const results: R[] = [];
  let next = 0;
  const turn = async (): Promise<void> => {
    for (;;) {
      const at = next;
      next += 1;
      const item = items[at];
      if (item === undefined) return;
      results[at] = await work(item);
    }
  };
  await Promise.all(Array.from({ length: Math.min(mostAtOnce, items.length) }, turn));
  return results;
}

/** @param plans what was agreed to; without them, plans are asked for. */
async function askAll(
  { several, io, run, timeout, interrupted }: AllPorts,
  names: readonly string[],
  plans?: ReadonlyMap<string, Plan>,
): Promise<readonly HostResult[]> {
  const progress = startProgress(io, `asking ${counted(names.length, "host")}`);
  let answered = 0;
  try {
    return await inTurns(names, async (name) => {
      const planToken = plans?.get(name)?.plan_token;
      const result = await askHost(run, {
        several,
        name,
        isDryRun: plans === undefined,
        planToken,
        timeout,
        interrupted,
      });
      answered += 1;
      progress.show(`${answered} of ${counted(names.length, "host")} answered`);
      return result;
    });
  } finally {
    progress.end();
  }
}

const hasFault = ({ fault }: HostResult, kind: Fault["kind"]): boolean => fault?.kind === kind;

/** The exit code of all results. A change that was started counts as done. */
function sumOf(results: readonly HostResult[]): number {
  const isWithout = ({ fault }: HostResult): boolean => fault !== undefined && fault.kind !== "unknown";
  if (results.every(isWithout)) return exitCode.couldNotRun;
  const isFine = results.every(({ fault, code }) => fault === undefined && code === exitCode.fine);
  return isFine ? exitCode.fine : exitCode.foundTrouble;
}

function usageOf({ isPlugin }: SeveralHosts, results: readonly HostResult[]): string | undefined {
  const [first, ...others] = results.filter((each) => hasFault(each, "usage"));
  const text = first?.collected.trouble;
  const isTheSame = others.length + 1 === results.length && others.every((each) => each.collected.trouble === text);
  return !isPlugin || isTheSame ? text : undefined;
}

function interruptedLine(results: readonly HostResult[]): string {
  const namesOf = (kind: Fault["kind"]): readonly string[] =>
    results.filter((each) => hasFault(each, kind)).map(({ name }) => name);
  const [started, leftAlone] = [namesOf("unknown"), namesOf("leftAlone")];
  const parts = [
    ...(started.length === 0
      ? []
      : [`it was started at ${started.join(", ")}, and how it ended is not known (${lookAt(started)})`]),
    ...(leftAlone.length === 0 ? [] : [`nothing was done at ${leftAlone.join(", ")}`]),
  ];
  return `steward: ended by Ctrl-C: ${parts.join("; ")}\n`;
}

async function change(ports: AllPorts, looked: readonly HostResult[]): Promise<readonly HostResult[]> {
  const plans = new Map(looked.flatMap(({ name, plan }) => (plan === undefined ? [] : [[name, plan] as const])));
  const changed = await askAll(ports, [...plans.keys()], plans);
  return looked.map((each) => {
    const result = changed.find(({ name }) => name === each.name);
    return result === undefined ? each : { ...result, plan: each.plan };
  });
}

function report({ several: { isJson }, io, interrupted }: AllPorts, results: readonly HostResult[]): number {
  const ended = results.filter((each) => !hasFault(each, "unknown") && !hasFault(each, "leftAlone"));
  const isCutShort = interrupted.aborted && ended.length < results.length;
  // The line about Ctrl-C names the others.
  printResults(io, isCutShort && !isJson ? ended : results, { isJson, isDone: true });
  if (!isCutShort) return sumOf(results);
  io.err(interruptedLine(results));
  return exitCode.interrupted;
}

/**
 * Runs one command line for several hosts at once. Changes are shown as plans first, and done only with `--yes`.
 * @returns 0 where all were fine; 1 where some did not answer or found trouble; 2 where none answered; 130 after Ctrl-C.
 */
export async function runForAll(ports: AllPorts): Promise<number> {
  const { several, io, interrupted } = ports;
  const { isJson, isWanted } = several;
  const looked = await askAll(ports, several.names);
  if (interrupted.aborted) {
    io.err("steward: ended by Ctrl-C\n");
    return exitCode.interrupted;
  }
  const usage = usageOf(several, looked);
  if (usage !== undefined) {
    io.err(usage);
    return exitCode.couldNotRun;
  }
  const plans = looked.filter(({ plan }) => plan !== undefined).length;
  if (plans > 0 && !isWanted) {
    printResults(io, looked, { isJson, isDone: false });
    io.err(`steward: nothing was done: this changes ${counted(plans, "host")} (--yes does it)\n`);
    return exitCode.couldNotRun;
  }
  if (plans > 0 && !isJson) printPlans(io, looked);
  const results = plans === 0 ? looked : await change(ports, looked);
  return report(ports, results);
}
