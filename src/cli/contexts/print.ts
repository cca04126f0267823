import { orElse } from "#kernel/errors.ts";
import { counted } from "#kernel/text.ts";
import { planLines } from "../core/plan.ts";
import { exitCode, type Io, printJson, screenOf, severalLines } from "../output/output.ts";
import { type Cell, paint } from "../output/screen.ts";
import { printRows, printTable } from "../output/table.ts";
import type { CollectedTable, HostResult } from "./ask.ts";

export function mergeTables(
  results: readonly { readonly name: string; readonly collected: { readonly tables: readonly CollectedTable[] } }[],
): readonly CollectedTable[] {
  const merged = new Map<string, { head: readonly string[]; rows: (readonly Cell[])[] }>();
  for (const { name, collected } of results) {
    for (const { head, rows } of collected.tables) {
      const key = head.join("\n");
      const into = merged.get(key) ?? { head: ["host", ...head], rows: [] };
      merged.set(key, into);
      into.rows.push(...rows.map((row) => [name, ...row]));
    }
  }
  return [...merged.values()];
}

/** JSON output as data: one value, one for each line, or the text itself. */
export function parseAnswer(text: string): unknown {
  const parse = (each: string): unknown => JSON.parse(each);
  const lines = (): unknown[] => text.split("\n").filter(Boolean).map(parse);
  return orElse(() => parse(text), orElse(lines, text));
}

const indented = (lines: readonly string[]): string => lines.map((line) => `  ${line}\n`).join("");

/** What a command printed, without the plan in front of it, which has been shown already. */
function resultText({ collected, plan }: HostResult): string {
  const { text } = collected;
  const shown = plan === undefined ? "" : indented(planLines(plan));
  return (text.startsWith(shown) ? text.slice(shown.length) : text).trimEnd();
}

const hasAnswered = ({ fault }: HostResult): boolean => fault === undefined;

const printNamed = (io: Io, name: string, lines: readonly string[]): void =>
  io.out(`${paint(screenOf(io), "bold", `${name}:`)}\n${indented(lines)}`);

function printAnswers(io: Io, results: readonly HostResult[]): void {
  const answered = results.filter(hasAnswered);
  for (const { head, rows } of mergeTables(answered)) printRows(io, head, rows);
  const said = answered.map((each) => ({ name: each.name, text: resultText(each) })).filter(({ text }) => text !== "");
  if (said.every(({ text }) => !text.includes("\n"))) {
    if (said.length > 0) printTable(io, said, { host: ({ name }) => name, answer: ({ text }) => text });
    return;
  }
  for (const { name, text } of said) printNamed(io, name, text.split("\n"));
}

function printTrouble(io: Io, results: readonly HostResult[]): void {
  for (const { name, code, collected } of results.filter(hasAnswered)) {
    for (const line of severalLines(collected.trouble).split("\n"))
      if (line !== "") io.err(`${name}: ${line.replace(/^steward: /, "")}\n`);
    if (code !== exitCode.fine && code !== exitCode.foundTrouble) io.err(`${name}: it ended with exit code ${code}\n`);
  }
}

function printFaults(io: Io, results: readonly HostResult[]): void {
  const list = (kinds: readonly string[], title: (hosts: string) => string): void => {
    const faults = results.flatMap(({ name, fault }) =>
      fault !== undefined && kinds.includes(fault.kind) ? [`${name}: ${fault.text}`] : [],
    );
    if (faults.length === 0) return;
    io.err(`steward: ${title(`${faults.length} of ${counted(results.length, "host")}`)}:\n${indented(faults)}`);
  };
  list(["unanswered"], (hosts) => `${hosts} did not answer`);
  list(["usage", "notDone"], (hosts) => `${hosts} did not do it`);
  list(["unknown"], (hosts) => `how it ended is not known of ${hosts}`);
}

const toJson = ({ name, code, collected, plan, fault }: HostResult, isDone: boolean): object => {
  if (fault !== undefined) return { context: name, ok: false, error: fault.text };
  const answer = plan === undefined || isDone ? parseAnswer(collected.text) : plan;
  return { context: name, ok: true, exit_code: code, answer };
};

export function printPlans(io: Io, results: readonly HostResult[]): void {
  for (const { name, plan } of results) if (plan !== undefined) printNamed(io, name, planLines(plan));
}

export function printResults(
  io: Io,
  results: readonly HostResult[],
  { isJson, isDone }: { readonly isJson: boolean; readonly isDone: boolean },
): void {
  if (isJson)
    printJson(
      io,
      results.map((each) => toJson(each, isDone)),
    );
  else if (isDone) printAnswers(io, results);
  else printPlans(io, results);
  printTrouble(io, results);
  if (!isJson) printFaults(io, results);
}
