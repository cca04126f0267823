import type { Plan } from "#contract/operation.ts";
import type { SeveralHosts } from "./contexts-choice.ts";
import { type Collected, collect, mergeTables, parseAnswer } from "./contexts-collect.ts";
import { PlanShown } from "./contexts-guard.ts";
import { counted } from "./figures.ts";
import { exitCode, type Io, oneLine, printJson, screenOf } from "./output.ts";
import { planLines } from "./plan.ts";
import { startProgress } from "./progress.ts";
import { paint } from "./screen.ts";
import { printTable } from "./table.ts";

/** One command line, run for one host. */
export interface HostRun {
  readonly name: string;
  readonly argv: readonly string[];
  readonly io: Io;
  readonly signal: AbortSignal;
  /** Asks for the plan in the place of what would change the host. */
  readonly isDryRun: boolean;
}

interface HostResult {
  readonly name: string;
  readonly code: number;
  readonly collected: Collected;
  readonly plan: Plan | undefined;
  /** Why there is no answer. */
  readonly error: string | undefined;
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

const isFailure = (code: number): boolean => code !== exitCode.fine && code !== exitCode.foundTrouble;

/** The reason without the name of the program, which says it in its own line. */
const reasonOf = (said: string): string => oneLine(said.replace(/^steward: /, "")) || "it ended without a reason";

async function askHost(
  run: (each: HostRun) => Promise<number>,
  { several, name, isDryRun }: { several: SeveralHosts; name: string; isDryRun: boolean },
): Promise<HostResult> {
  const collected = collect();
  const seconds = (isDryRun ? several.readMs : several.changeMs) / 1000;
  const signal = AbortSignal.timeout(seconds * 1000);
  const late = new Promise<"late">((resolve) => signal.addEventListener("abort", () => resolve("late")));
  const argv = ["--context", name, ...several.argv];
  try {
    const code = await Promise.race([run({ name, argv, io: collected.io, signal, isDryRun }), late]);
    const error = `no answer within ${seconds} s (--host-timeout says how long to wait)`;
    if (code === "late") return { name, code: exitCode.couldNotRun, collected, plan: undefined, error };
    const why = signal.aborted ? error : reasonOf(collected.trouble());
    return { name, code, collected, plan: undefined, error: isFailure(code) ? why : undefined };
  } catch (error) {
    if (error instanceof PlanShown) return { name, code: exitCode.fine, collected, plan: error.plan, error: undefined };
    throw error;
  }
}

/** Prints what hosts answered: tables as one, text by host. */
function printAnswers(io: Io, answered: readonly HostResult[]): void {
  for (const { head, rows } of mergeTables(
    answered.map(({ name, collected }) => ({ name, tables: collected.tables() })),
  ))
    printTable(io, head, rows);
  const texts = answered.map(({ name, collected }) => ({ name, text: collected.text().trimEnd() }));
  const said = texts.filter(({ text }) => text !== "");
  if (said.every(({ text }) => !text.includes("\n"))) {
    if (said.length > 0)
      printTable(
        io,
        ["host", "answer"],
        said.map(({ name, text }) => [name, text]),
      );
    return;
  }
  for (const { name, text } of said) {
    io.out(`${paint(screenOf(io), "bold", `${name}:`)}\n`);
    for (const line of text.split("\n")) io.out(`  ${line}\n`);
  }
}

function printFailures(io: Io, results: readonly HostResult[]): void {
  const failed = results.filter(({ error }) => error !== undefined);
  if (failed.length === 0) return;
  io.err(`steward: ${failed.length} of ${counted(results.length, "host")} did not answer:\n`);
  for (const { name, error } of failed) io.err(`  ${name}: ${error}\n`);
}

function sumOf(results: readonly HostResult[]): number {
  const failed = results.filter(({ error }) => error !== undefined).length;
  if (failed === results.length) return exitCode.couldNotRun;
  return failed > 0 || results.some(({ code }) => code !== exitCode.fine) ? exitCode.foundTrouble : exitCode.fine;
}

const toJson = ({ name, code, collected, plan, error }: HostResult): object => ({
  context: name,
  ok: error === undefined,
  ...(error === undefined ? { exit_code: code, answer: plan ?? parseAnswer(collected.text()) } : { error }),
});

function printPlans(io: Io, results: readonly HostResult[]): void {
  for (const { name, plan } of results) {
    if (plan === undefined) continue;
    io.out(`${paint(screenOf(io), "bold", `${name}:`)}\n`);
    for (const line of planLines(plan)) io.out(`  ${line}\n`);
  }
}

/**
 * Runs one command line for several hosts at once. What would change them is shown as a plan first, and done only where
 * that was said beforehand.
 * @returns 0 where all answered and were fine; 1 where some did not answer, or one found trouble; 2 where none did.
 */
export async function runForAll(ports: {
  readonly several: SeveralHosts;
  readonly io: Io;
  readonly run: (each: HostRun) => Promise<number>;
}): Promise<number> {
  const { several, io, run } = ports;

  const askAll = async (names: readonly string[], isDryRun: boolean): Promise<readonly HostResult[]> => {
    const progress = startProgress(io, `asking ${counted(names.length, "host")}`);
    let answered = 0;
    try {
      return await inTurns(names, async (name) => {
        const result = await askHost(run, { several, name, isDryRun });
        answered += 1;
        progress.show(`${answered} of ${counted(names.length, "host")} answered`);
        return result;
      });
    } finally {
      progress.end();
    }
  };

  const looked = await askAll(several.names, true);
  const planned = looked.filter(({ plan }) => plan !== undefined);
  if (planned.length > 0 && !several.isWanted) {
    if (several.isJson) printJson(io, looked.map(toJson));
    else {
      printPlans(io, looked);
      printFailures(io, looked);
    }
    io.err(`steward: nothing was done: this changes ${counted(planned.length, "host")} (--yes does it)\n`);
    return exitCode.couldNotRun;
  }
  if (planned.length > 0 && !several.isJson) printPlans(io, looked);
  const changed =
    planned.length === 0
      ? []
      : await askAll(
          planned.map(({ name }) => name),
          false,
        );
  const results = looked.map((each) => changed.find(({ name }) => name === each.name) ?? each);
  if (several.isJson) printJson(io, results.map(toJson));
  else {
    printAnswers(
      io,
      results.filter(({ error }) => error === undefined),
    );
    printFailures(io, results);
  }
  return sumOf(results);
}
