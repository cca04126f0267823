import { createHash, randomInt } from "node:crypto";
import { groupClasses, identityOf } from "#domain/logs/templates/group.ts";
import type { LogTemplate, MessageClass, RememberedError } from "#domain/ports/journal.ts";
import type { ClassTable } from "./classes.ts";
import type { Remembered, TemplateMemory } from "./memory.ts";

const digest = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 16);

export interface Grouping {
  readonly templates: readonly LogTemplate[];
  /** Position of the template of a class of a file. */
  readonly templateOf: (table: ClassTable, number: number) => number;
  /** Position of the template that has this id, or had it before it became more general; undefined for an unknown id. */
  readonly positionOf: (id: string) => number | undefined;
  /** What is remembered of the template at a position: its first entry, its last, the first that was an error. */
  readonly rememberedOf: (position: number) => Pick<Remembered, "first" | "last" | "firstError"> | undefined;
}

function group(tables: readonly ClassTable[], memory: readonly Remembered[]): Grouping {
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
  const classOf = ({ unit, identifier, origin, text }: MessageClass): MessageClass => ({
    ...{ unit, identifier },
    ...{ origin, text },
  });
  const remembered = memory.map((each) => [each, numberOf(classOf(each))] as const);
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
  const positions = new Map<string, number>();
  const before = new Map<number, Pick<Remembered, "first" | "last" | "firstError">>();
  for (const [each, number] of remembered) {
    const position = templateOf[number] ?? 0;
    positions.set(digest(identityOf(each)), position);
    const { first, last, firstError } = before.get(position) ?? each;
    before.set(position, {
      first: Math.min(first, each.first),
      last: Math.max(last, each.last),
      firstError: firstError === null ? each.firstError : Math.min(firstError, each.firstError ?? Infinity),
    });
  }
  for (const [position, { id }] of templates.entries()) positions.set(id, position);
  return {
    templates,
    templateOf: (table, number) => templateOf[numbers.get(table)?.[number] ?? 0] ?? 0,
    positionOf: (id) => positions.get(id),
    rememberedOf: (position) => before.get(position),
  };
}

/** Finds the templates of what is remembered and of the classes of several files: again when there are new ones, or more general ones. */
export function createGrouping(): (tables: readonly ClassTable[], memory: readonly Remembered[]) => Grouping {
  let known: readonly ClassTable[] = [];
  let remembered: readonly Remembered[] = [];
  let states = "";
  let grouped = group([], []);
  return (tables, memory) => {
    const current = tables.map(({ classes, generalized }) => `${classes.length} ${generalized}`).join();
    const isSame = current === states && memory === remembered && tables.every((table, at) => table === known[at]);
    if (!isSame) {
      grouped = group(tables, memory);
      known = tables;
      remembered = memory;
      states = current;
    }
    return grouped;
  };
}

/** Templates of which the first error came at this time or later: a former one is in that which it has become. */
export function errorsSince({ templates: memory, knownSince }: TemplateMemory, since: number) {
  const { templates, rememberedOf } = createGrouping()([], memory);
  const errors = templates.flatMap((template, position): readonly RememberedError[] => {
    const { firstError = null } = rememberedOf(position) ?? {};
    return firstError === null || firstError < since ? [] : [{ ...template, firstError }];
  });
  return { knownSince, errors };
}
