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
export const formatTable = (lines: readonly Line[]): string => format(lines.map(cells));

function format(rows: readonly (readonly string[])[]): string {
  const table = [headings, ...rows];
  const widths = headings.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
  const formatRow = (row: readonly string[]) =>
    `| ${row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(" | ")} |`;
  const rule = `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`;
  const [head, ...body] = table.map(formatRow);
  return [head, rule, ...body].join("\n");
}

/** The rows of a table that `formatTable` made. */
function readRows(table: string): readonly (readonly string[])[] {
  const rows = table.split("\n").filter((line) => line.startsWith("| "));
  return rows.slice(2).map((row) =>
    row
      .slice(1, -1)
      .split("|")
      .map((cell) => cell.trim()),
  );
}

/**
 * A text with the lines in the table between its markers: in the place of the row of the same work and peer, else at the end.
 * @returns undefined when it does not have both markers, in this order.
 */
export function withLines(text: string, lines: readonly Line[], machine: string): string | undefined {
  const from = text.indexOf(tableStart);
  const to = text.indexOf(tableEnd);
  if (from === -1 || to < from) return undefined;
  const rowsByName = new Map<string, readonly string[]>();
  for (const row of [...readRows(text.slice(from, to)), ...lines.map(cells)])
    rowsByName.set(`${row[0]}|${row[1]}`, row);
  const table = format([...rowsByName.values()]);
  return `${text.slice(0, from + tableStart.length)}\n${table}\n\nMeasured on ${machine}.\n${text.slice(to)}`;
}
