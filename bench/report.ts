import { readFileSync } from "node:fs";
import { cpus, release, totalmem } from "node:os";
import type { Goal } from "./harness.ts";
import type { Line, MeasuredLine, Unit } from "./row.ts";

/** What stands around the table in bench/RESULTS.md. */
export const tableStart = "<!-- bench:start -->";
export const tableEnd = "<!-- bench:end -->";

const headings = ["work", "peer", "ours", "peer's", "ratio", "spread", "goal", "result"] as const;

/** The machine in one line, without its name. */
export function machineFacts(): string {
  const processors = cpus();
  const gib = Math.round(totalmem() / 1024 ** 3);
  const os = /^PRETTY_NAME="?([^"\n]*)/m.exec(readFileSync("/etc/os-release", "utf8"))?.[1] ?? "Linux";
  const model = processors[0]?.model ?? process.arch;
  return `${processors.length} cores (${model}), ${gib} GiB, ${os}, kernel ${release()}, Node ${process.version}`;
}

/** Three digits or more: a median of seven rounds holds no finer truth. */
function formatNumber(value: number): string {
  if (value >= 100) return Math.round(value).toLocaleString("en").replaceAll(",", " ");
  return value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

const formatFigure = (value: number, unit: Unit): string =>
  unit === "times" ? `${formatNumber(value)} times` : `${formatNumber(value)} ${unit}`;

function formatGoal(goal: Goal | undefined, line: MeasuredLine): string {
  if (goal === undefined) return "–";
  const value = line.judged === "ours" ? formatFigure(goal.value, line.unit) : `×${formatNumber(goal.value)}`;
  return `${goal.is} ${value}`;
}

function cells(line: Line): readonly string[] {
  const { work, peer } = line;
  if ("skipped" in line) return [work, peer, "–", "–", "–", "–", "–", `skipped: ${line.skipped}`];
  const { summary, unit, goal, isMet } = line;
  const { ours, peer: its, ratio, leastRatio, greatestRatio, rounds } = summary;
  const isJudgedByRatio = line.judged !== "ours";
  return [
    work,
    peer,
    formatFigure(ours, unit),
    formatFigure(its, unit),
    isJudgedByRatio ? `×${formatNumber(ratio)} (${line.judged})` : "–",
    isJudgedByRatio && rounds > 1 ? `${formatNumber(leastRatio)}–${formatNumber(greatestRatio)}` : "–",
    formatGoal(goal, line),
    isMet === undefined ? "–" : isMet ? "met" : "missed",
  ];
}

/** The lines as a Markdown table whose columns line up. */
export function formatTable(lines: readonly Line[]): string {
  const table = [headings, ...lines.map(cells)];
  const widths = headings.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
  const format = (row: readonly string[]) => `| ${row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(" | ")} |`;
  const rule = `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`;
  const [head, ...body] = table.map(format);
  return [head, rule, ...body].join("\n");
}

/**
 * A text with the table between its markers.
 * @returns undefined when it does not have both, in this order.
 */
export function withTable(text: string, table: string, machine: string): string | undefined {
  const from = text.indexOf(tableStart);
  const to = text.indexOf(tableEnd);
  if (from === -1 || to < from) return undefined;
  return `${text.slice(0, from + tableStart.length)}\n${table}\n\nMeasured on ${machine}.\n${text.slice(to)}`;
}
