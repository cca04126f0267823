import type { Io } from "../output/output.ts";
import type { Cell } from "../output/screen.ts";

export interface CollectedTable {
  readonly head: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
}

export interface Collected {
  readonly io: Io;
  readonly text: () => string;
  readonly trouble: () => string;
  readonly tables: () => readonly CollectedTable[];
}

/** Ports that collect what a command writes; tables as their cells. */
export function collect(): Collected {
  let text = "";
  let trouble = "";
  const tables: CollectedTable[] = [];
  return {
    io: {
      out: (more) => {
        text += more;
      },
      err: (more) => {
        trouble += more;
      },
      table: (head, rows) => tables.push({ head, rows }),
    },
    text: () => text,
    trouble: () => trouble,
    tables: () => tables,
  };
}

export function mergeTables(
  collected: readonly { readonly name: string; readonly tables: readonly CollectedTable[] }[],
): readonly CollectedTable[] {
  const merged = new Map<string, { head: readonly string[]; rows: (readonly Cell[])[] }>();
  for (const { name, tables } of collected) {
    for (const { head, rows } of tables) {
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
  try {
    return parse(text);
  } catch {
    const lines = text.split("\n").filter((line) => line !== "");
    try {
      return lines.map(parse);
    } catch {
      return text;
    }
  }
}
