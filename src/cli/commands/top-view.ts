import type { Answer } from "#client/index.ts";
import { counted, formatBytes } from "#kernel/text.ts";
import { oneLine } from "../output/output.ts";
import type { Style } from "../output/screen.ts";
import { fitText, textWidth } from "../output/text.ts";

type ProcessList = Answer<"listProcesses">;
type Unit = NonNullable<ProcessList["units"]>[number];
type Process = ProcessList["processes"][number];

export interface TopState {
  readonly list: ProcessList | undefined;
  /** The processes of units that are open, by unit. */
  readonly open: ReadonlyMap<string, readonly Process[]>;
  /** The row that is chosen, among those of units and processes. */
  readonly chosen: number;
  readonly sort: "cpu" | "memory";
  /** Why there is no newer answer. */
  readonly fault: string | undefined;
}

export interface TopLine {
  readonly text: string;
  readonly style: Style | undefined;
}

export interface TopRow {
  readonly unit: string | null;
  readonly isUnit: boolean;
  readonly cells: readonly [name: string, processes: string, cpu: string, memory: string];
}

/** As other tools show it: a thread of the kernel, and what has ended, by its name in brackets. */
export const commandOf = ({ command, name }: Process): string => (command ? command : `[${name}]`);

const unitRow = ({ unit, processes, cpu_percent: cpu, memory_bytes: memory }: Unit, isOpen: boolean): TopRow => ({
  unit,
  isUnit: true,
  cells: [
    `${unit === null ? " " : isOpen ? "▾" : "▸"} ${unit ?? "(no unit: kernel and others)"}`,
    String(processes),
    cpu.toFixed(1),
    formatBytes(memory),
  ],
});

const processRow = (process: Process): TopRow => ({
  unit: process.unit,
  isUnit: false,
  cells: [
    `    ${String(process.pid).padStart(7)} ${process.user ?? "?"}  ${commandOf(process)}`,
    "",
    process.cpu_percent.toFixed(1),
    formatBytes(process.memory_bytes),
  ],
});

/** The rows below the head: units, and below each that is open its processes. */
export const topRows = ({ list, open }: Pick<TopState, "list" | "open">): readonly TopRow[] =>
  (list?.units ?? []).flatMap((unit) => {
    const processes = unit.unit === null ? undefined : open.get(unit.unit);
    return [unitRow(unit, processes !== undefined), ...(processes ?? []).map(processRow)];
  });

const widths = [6, 7, 9] as const;
const numbersWidth = widths.reduce((sum, width) => sum + width + 1, 0);

function formatRow([name, ...numbers]: TopRow["cells"], columns: number): string {
  const space = Math.max(1, columns - numbersWidth);
  const shown = fitText(oneLine(name) === "" ? "" : name.replaceAll(/\p{Cc}+/gu, " "), space);
  const padded = shown + " ".repeat(Math.max(0, space - textWidth(shown)));
  const cells = numbers.map((text, at) => text.padStart(widths[at] ?? 0));
  return fitText([padded, ...cells].join(" "), columns);
}

/** What fills a screen, line by line, and never more than it holds. */
export function topLines(state: TopState, { columns, rows }: { columns: number; rows: number }): readonly TopLine[] {
  const { list, sort, fault, chosen } = state;
  const all = topRows(state);
  const cpu = (list?.units ?? []).reduce((sum, unit) => sum + unit.cpu_percent, 0);
  const head =
    list === undefined
      ? "steward top: asking the service"
      : `${list.sampled_at.slice(11, 19)} UTC  ${counted(list.total, "process", "processes")}  ${counted(list.units?.length ?? 0, "unit")}  cpu ${cpu.toFixed(1)} % of one, over ${list.cpu_seconds.toFixed(1)} s`;
  const notes = [fault, ...(list?.notes ?? [])].filter((each) => each !== undefined);
  const body = Math.max(1, rows - 4);
  const from = Math.max(0, Math.min(chosen - Math.floor(body / 2), all.length - body));
  const shown = all.slice(from, from + body).map(
    (row, at): TopLine => ({
      text: `${from + at === chosen ? ">" : " "}${formatRow(row.cells, columns - 1)}`,
      style: from + at === chosen ? "bold" : row.isUnit ? undefined : "dim",
    }),
  );
  const blank = Array.from(
    { length: Math.max(0, body - shown.length) },
    (): TopLine => ({ text: "", style: undefined }),
  );
  const line = (text: string, style?: Style): TopLine => ({ text: fitText(oneLine(text), columns), style });
  const titles = formatRow([` UNIT (by ${sort})`, "PROCS", "CPU %", "MEMORY"], columns - 1);
  return [
    line(head, "bold"),
    { text: ` ${titles}`, style: "underline" as const },
    ...shown,
    ...blank,
    line(notes.join("; "), fault === undefined ? "dim" : "red"),
    line("q quit  ↑↓ choose  enter open or close  c by cpu  m by memory", "dim"),
  ].slice(0, rows);
}
