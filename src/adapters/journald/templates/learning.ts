import type { Source } from "../source.ts";
import { type ClassTable, createClassifier, emptyTable } from "./classes.ts";
import { createGrouping } from "./grouping.ts";
import { bounded, type Remembered, type TemplateMemory, writeMemory } from "./memory.ts";

/** The least severe one that is an error: err. */
const errorPriority = 3;
/** So many entries between two looks at the clock. */
const entriesAtOnce = 2_000;

/** A table that begins in the middle of a file. */
const tableFrom = (position: number): ClassTable => ({
  ...emptyTable(),
  numbers: new Uint16Array(position),
  length: position,
});

const keyOf = ({ unit, identifier, origin, text }: Remembered): string =>
  JSON.stringify([unit, identifier, origin, text]);

type Times = Pick<Remembered, "first" | "last" | "firstError">;

const least = (left: number | null, right: number | null): number | null =>
  left === null ? right : right === null ? left : Math.min(left, right);

const joined = (left: Times | undefined, right: Times): Times => ({
  first: Math.min(left?.first ?? Infinity, right.first),
  last: Math.max(left?.last ?? 0, right.last),
  firstError: least(left?.firstError ?? null, right.firstError),
});

/** Adds the templates of tables to what is remembered. Former templates stay, so that their ids lead to those that they have become. */
function remember(memory: readonly Remembered[], tables: readonly ClassTable[]): readonly Remembered[] {
  const { templates, templateOf, rememberedOf } = createGrouping()(tables, memory);
  const seen = new Map<number, Times>();
  for (const table of tables)
    for (const [number, { count, first, last, origin }] of table.classes.entries()) {
      if (number === 0 || count === 0) continue;
      const priority = table.origins[origin]?.priority ?? null;
      const firstError = priority !== null && priority <= errorPriority ? first : null;
      const template = templateOf(table, number);
      seen.set(template, joined(seen.get(template), { first, last, firstError }));
    }
  const all = new Map(memory.map((each) => [keyOf(each), each]));
  for (const [position, times] of seen) {
    const template = templates[position];
    if (template === undefined) continue;
    const { unit, identifier, origin, text } = template;
    const made = { unit, identifier, origin, text, ...joined(rememberedOf(position), times) };
    all.set(keyOf(made), made);
  }
  return bounded([...all.values()]);
}

/** Work between two times that what was learned is written. */
const writtenEachMs = 2_000;

/**
 * Goes on through the journal, the newest file first, for so long.
 * @returns whether everything is in the memory then.
 */
export function createLearner(
  path: string,
  memoryOf: () => TemplateMemory,
): (sources: readonly Source[], budgetMs: number) => boolean {
  const started = new WeakMap<Source, { readonly table: ClassTable; readonly classify: (length: number) => void }>();
  /** What is not written yet. */
  let files: Record<string, number> | undefined;
  const learned = new Set<ClassTable>();
  let unwrittenMs = 0;

  const learnFile = (source: Source, from: number, endsAt: number): ClassTable => {
    const { length } = source.all();
    let reading = started.get(source);
    if (reading?.table.length !== from) {
      const table = tableFrom(from);
      reading = { table, classify: createClassifier(source, table, { inAll: 0 }) };
      started.set(source, reading);
    }
    const { table, classify } = reading;
    do classify(Math.min(length, table.length + entriesAtOnce));
    while (table.length < length && performance.now() < endsAt);
    return table;
  };

  return (sources, budgetMs) => {
    const memory = memoryOf();
    const startedAt = performance.now();
    const known = files ?? memory.files;
    const present: Record<string, number> = {};
    const newestFirst = sources.toSorted(
      (left, right) => right.file.header.tailRealtime - left.file.header.tailRealtime,
    );
    let isDone = true;
    for (const source of newestFirst) {
      const { length } = source.all();
      const from = Math.min(known[source.id] ?? 0, length);
      present[source.id] = from;
      if (from === length || !isDone) continue;
      const table = learnFile(source, from, startedAt + budgetMs);
      present[source.id] = table.length;
      learned.add(table);
      isDone = table.length === length;
    }
    files = present;
    unwrittenMs += performance.now() - startedAt;
    if (learned.size > 0 && (isDone || unwrittenMs >= writtenEachMs)) {
      const firsts = sources.flatMap((source) => (source.all().length === 0 ? [] : [source.file.header.headRealtime]));
      const knownSince = isDone ? Math.min(memory.knownSince ?? Infinity, ...firsts) : memory.knownSince;
      writeMemory(path, { templates: remember(memory.templates, [...learned]), files, knownSince });
      learned.clear();
      files = undefined;
      unwrittenMs = 0;
    }
    return isDone;
  };
}
