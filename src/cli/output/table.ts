import { type Io, oneLine, screenOf } from "./output.ts";
import { type Cell, paint, type Style } from "./screen.ts";
import { fitText, textWidth } from "./text.ts";

const gap = "  ";
/** Rows are distinguished by their first cells: these become narrow last. */
const fewestOfFirst = 24;
const fewestColumns = 14;
const fewestCells = 2;

const cellText = (cell: Cell): string =>
  typeof cell === "object" ? `${cell.indent ?? ""}${oneLine(cell.text)}` : oneLine(String(cell));

const sumOf = (widths: readonly number[]): number =>
  widths.reduce((sum, width) => sum + width, 0) + gap.length * (widths.length - 1);

/** Widths that fit: the last columns are dropped where there is no space, then the widest become narrower. */
function fitWidths(natural: readonly number[], columns: number | undefined): readonly number[] {
  const widths = [...natural];
  if (columns === undefined) return widths;
  const least = (width: number, at: number): number => Math.min(width, at === 0 ? fewestOfFirst : fewestColumns);
  while (widths.length > fewestCells && sumOf(widths.map(least)) > columns) widths.pop();
  while (sumOf(widths) > columns) {
    const spare = widths.map((width, at) => (width > least(width, at) ? width : 0));
    const widest = Math.max(...spare);
    if (widest === 0) break;
    widths[spare.lastIndexOf(widest)] = widest - 1;
  }
  return widths;
}

/** Nothing without rows: what else is printed says that there are none. */
export function printRows(io: Io, head: readonly string[], rows: readonly (readonly Cell[])[]): void {
  if (io.table !== undefined) {
    io.table(head, rows);
    return;
  }
  if (rows.length === 0) return;
  const screen = screenOf(io);
  const columns = screen.columns();
  const texts = rows.map((row) => row.map(cellText));
  const natural = head.map((title, at) =>
    texts.reduce((width, row) => Math.max(width, textWidth(row[at] ?? "")), textWidth(title)),
  );
  const widths = fitWidths(natural, columns);
  const formatRow = (cells: readonly string[], styleAt: (at: number) => Style | undefined): string => {
    // Where not even the narrowest columns fit, the line is cut.
    let space = columns ?? Number.POSITIVE_INFINITY;
    const parts: string[] = [];
    for (const [at, cell] of cells.slice(0, widths.length).entries()) {
      if (space < 1) break;
      const text = fitText(cell, Math.min(widths[at] ?? 0, space));
      const width = textWidth(text);
      const padding = at === widths.length - 1 ? 0 : (widths[at] ?? 0) - width + gap.length;
      parts.push(paint(screen, styleAt(at), text) + " ".repeat(Math.max(0, Math.min(padding, space - width))));
      space -= width + padding;
    }
    return `${parts.join("").trimEnd()}\n`;
  };
  io.out(
    formatRow(
      head.map((title) => title.toUpperCase()),
      () => "bold",
    ),
  );
  for (const [index, row] of texts.entries()) {
    io.out(
      formatRow(row, (at) => {
        const cell = rows[index]?.[at];
        return typeof cell === "object" ? cell.style : undefined;
      }),
    );
  }
}

type PlainMember<Row> = {
  readonly [M in keyof Row]-?: Row[M] extends string | number | null | undefined ? M : never;
}[keyof Row];

/** The columns of a table by their titles: the member of a row that each shows, or its cell. */
export type Columns<Row> = Readonly<Record<string, PlainMember<Row> | ((row: Row) => Cell)>>;

/** Writes a table by its columns. */
export function printTable<Row>(io: Io, rows: readonly Row[], columns: Columns<NoInfer<Row>>): void {
  const cellOf = (row: Row, column: Columns<Row>[string]): Cell =>
    typeof column === "function" ? column(row) : ((row[column] as Cell | null | undefined) ?? "");
  printRows(
    io,
    Object.keys(columns),
    rows.map((row) => Object.values(columns).map((column) => cellOf(row, column))),
  );
}
