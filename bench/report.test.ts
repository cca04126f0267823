import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { summarise } from "./harness.ts";
import { formatTable, tableEnd, tableStart, withLines } from "./report.ts";
import { toLine } from "./row.ts";

const subject = { work: "work", peer: "peer", unit: "req/s", judged: "ours/peer" } as const;

const cellsOf = (row: string | undefined): readonly string[] =>
  (row ?? "")
    .split("|")
    .slice(1, -1)
    .map((cell) => cell.trim());

test("a measured benchmark line shows medians, ratio, spread and goal", () => {
  const summary = summarise(
    [
      { ours: 30_000, peer: 60_000 },
      { ours: 31_000, peer: 40_000 },
      { ours: 32_000, peer: 50_000 },
    ],
    "ours/peer",
  );
  const rows = formatTable([toLine({ ...subject, goal: { is: "at least", value: 0.6 } }, summary)]).split("\n");
  expect(cellsOf(rows[2])).toEqual([
    "work",
    "peer",
    "31 000 req/s",
    "50 000 req/s",
    "×0.64 (ours/peer)",
    "0.50–0.78",
    "at least ×0.60",
    "met",
  ]);
  expect(new Set(rows.map((row) => row.length)).size).toBe(1);
});

test("a benchmark goal for one figure is in its unit", () => {
  const summary = summarise([{ ours: 0.7, peer: 0 }], "ours/peer");
  const line = toLine(
    { ...subject, unit: "% of a core", judged: "ours", goal: { is: "less than", value: 0.5 } },
    summary,
  );
  expect(cellsOf(formatTable([line]).split("\n")[2]).slice(4)).toEqual([
    "–",
    "–",
    "less than 0.50 % of a core",
    "missed",
  ]);
});

test("a skipped benchmark line says why", () => {
  const rows = formatTable([{ work: "work", peer: "peer", skipped: "it is missing" }]).split("\n");
  expect(cellsOf(rows[2]).at(-1)).toBe("skipped: it is missing");
});

test("benchmark lines replace the rows of the same work and peer", () => {
  const line = (work: string, skipped: string) => ({ work, peer: "peer", skipped });
  const around = (table: string) => `# A\n\n${tableStart}\n${table}\n\nMeasured on a machine.\n${tableEnd}\n\nmore\n`;
  const first = [line("a", "long ago"), line("b", "long ago")];
  const written = withLines(`# A\n\n${tableStart}\n${tableEnd}\n\nmore\n`, first, "a machine");
  expect(written).toBe(around(formatTable(first)));
  const again = withLines(written ?? "", [line("c", "now"), line("a", "now")], "a machine");
  expect(again).toBe(around(formatTable([line("a", "now"), line("b", "long ago"), line("c", "now")])));
  expect(withLines("# A\n", first, "a machine")).toBeUndefined();
});

test("the README shows rows of the benchmark results", () => {
  const tableRows = (path: string): readonly (readonly string[])[] =>
    readFileSync(new URL(path, import.meta.url), "utf8")
      .split("\n")
      .filter((line) => line.startsWith("| "))
      .map(cellsOf);
  const results = tableRows("RESULTS.md").map((cells) => [...cells.slice(0, 5), ...cells.slice(6)]);
  const shown = tableRows("../README.md").filter((cells) => cells.length === 7 && !/^-+$/.test(cells[0] ?? ""));
  expect(shown.length).toBe(12);
  for (const cells of shown) expect(results).toContainEqual(cells);
});
