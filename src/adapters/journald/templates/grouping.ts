import { createHash, randomInt } from "node:crypto";
import { groupClasses } from "#domain/logs/templates/group.ts";
import type { LogTemplate, MessageClass } from "#domain/ports/journal.ts";
import type { ClassTable } from "./classes.ts";

const digest = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 16);

export interface Grouping {
  readonly templates: readonly LogTemplate[];
  /** Position of the template of a class of a file. */
  readonly templateOf: (table: ClassTable, number: number) => number;
}

function group(tables: readonly ClassTable[]): Grouping {
  const classes: MessageClass[] = [];
  const byKey = new Map<string, number>();
  const numberOf = (made: MessageClass): number => {
    const key = JSON.stringify(Object.values(made));
    const known = byKey.get(key);
    if (known !== undefined) return known;
    byKey.set(key, classes.length);
    classes.push(made);
    return classes.length - 1;
  };
  const numbers = new Map(
    tables.map((table) => [
      table,
      table.classes.map(({ origin, text }) => {
        const { unit = "", identifier = "", origin: from = "" } = table.origins[origin] ?? {};
        return numberOf({ unit, identifier, origin: from, text });
      }),
    ]),
  );
  const { templates, templateOf } = groupClasses(classes, digest, randomInt(2 ** 32));
  return { templates, templateOf: (table, number) => templateOf[numbers.get(table)?.[number] ?? 0] ?? 0 };
}

/** Finds the templates of the classes of several files: anew when there are new ones, or more general ones. */
export function createGrouping(): (tables: readonly ClassTable[]) => Grouping {
  let known: readonly ClassTable[] = [];
  let states = "";
  let grouped = group([]);
  return (tables) => {
    const current = tables.map(({ classes, generalized }) => `${classes.length} ${generalized}`).join();
    const isSame = current === states && tables.every((table, at) => table === known[at]);
    if (!isSame) {
      grouped = group(tables);
      known = tables;
      states = current;
    }
    return grouped;
  };
}
