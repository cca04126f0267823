import { LogQueryRefused } from "#domain/ports/journal.ts";
import type { EntryList } from "../journal-file/entry-array.ts";
import { matchingUnits } from "../match.ts";
import { countOf, offsetAt, type Postings, toOffsets, wholeList } from "../postings.ts";
import type { Source } from "../source.ts";
import { type ClassCount, type ClassTable, createClassifier, emptyTable } from "./classes.ts";
import { createGrouping, type Grouping } from "./grouping.ts";
import type { TemplateMemory } from "./memory.ts";

/** Below this share of a file its entries are looked up one by one. */
const sparse = 0.05;

/** Finds positions in a list that may not be in order, as that of a damaged file. */
function createLookup(list: EntryList): (offset: number) => number {
  let positions: ReadonlyMap<number, number> | undefined;
  return (offset) => {
    positions ??= new Map(Array.from(list.slice(0, list.length), (each, at) => [each, at]));
    return positions.get(offset) ?? list.length;
  };
}

/** For each of these entries, asked for in their order, its position in the file. */
export function positionsOf(
  source: Source,
  postings: Postings,
  isAny: boolean,
): { readonly at: (index: number) => number } {
  const list = source.all();
  const count = countOf(postings);
  if (count === 0) return { at: () => 0 };
  if (isAny && postings.kind === "run") return { at: (index) => postings.from + index };
  const offsets = toOffsets(postings);
  const lookUp = createLookup(list);
  if (count < sparse * list.length)
    return {
      at(index) {
        const offset = offsets[index] ?? 0;
        const found = list.lowerBound(offset);
        return found < list.length && list.at(found) === offset ? found : lookUp(offset);
      },
    };
  const all = list.slice(0, list.length);
  let position = 0;
  return {
    at(index) {
      const offset = offsets[index] ?? 0;
      while ((all[position] ?? offset) < offset) position += 1;
      return all[position] === offset ? position : lookUp(offset);
    },
  };
}

/** The templates of the entries of some files. */
export interface SourceTemplates {
  readonly tables: ReadonlyMap<Source, ClassTable>;
  readonly grouping: Grouping;
}

/** Distinguishes the entries of files. What it knows of a file it keeps as long as the file is open. */
export interface KnownTemplates {
  /** @throws as a query. */
  readonly of: (sources: readonly Source[]) => SourceTemplates;
}

/** @param memoryOf gives what is remembered beside what the files have. */
export function createKnownTemplates(memoryOf: () => TemplateMemory): KnownTemplates {
  const known = new WeakMap<Source, ClassTable>();
  const group = createGrouping();
  const classCount: ClassCount = { inAll: 0 };

  const tableOf = (source: Source): ClassTable => {
    const table = known.get(source) ?? emptyTable();
    known.set(source, table);
    const { length } = source.all();
    if (table.length >= length) return table;
    // What is needed to continue is rebuilt: of all files together it may be much.
    createClassifier(source, table, classCount)(length);
    return table;
  };

  return {
    of(sources) {
      classCount.inAll = sources.reduce((sum, source) => sum + (known.get(source)?.classes.length ?? 0), 0);
      const tables = new Map(sources.map((source) => [source, tableOf(source)]));
      return { tables, grouping: group([...tables.values()], memoryOf().templates) };
    },
  };
}

/** Leaves those of a template among entries of a file. */
export type OfTemplate = (source: Source, postings: Postings, isAny: boolean) => Postings;

/**
 * Those of one template, the same that are counted as its entries.
 * @param units of which one must have it: a caller who sees some units only does not see what others write.
 * @throws LogQueryRefused where there is no such template, and as a query.
 */
export function findTemplate(
  { tables, grouping }: SourceTemplates,
  id: string,
  units: readonly string[] | undefined,
): OfTemplate {
  const wanted = grouping.positionOf(id);
  const classes = new Map(
    [...tables].map(([source, table]) => [
      source,
      Uint8Array.from(table.classes, (_, number) =>
        number > 0 && grouping.templateOf(table, number) === wanted ? 1 : 0,
      ),
    ]),
  );
  const ofTemplate: OfTemplate = (source, postings, isAny) => {
    const [isWanted, numbers] = [classes.get(source), tables.get(source)?.numbers];
    const count = countOf(postings);
    const offsets = new Float64Array(count);
    let found = 0;
    if (isWanted !== undefined && numbers !== undefined && isWanted.includes(1)) {
      const { at } = positionsOf(source, postings, isAny);
      for (let index = 0; index < count; index += 1) {
        if (isWanted[numbers[at(index)] ?? 0] !== 1) continue;
        offsets[found] = offsetAt(postings, index);
        found += 1;
      }
    }
    return { kind: "offsets", offsets: offsets.slice(0, found) };
  };
  const isSeen = (source: Source): boolean => {
    const ofThese = matchingUnits(source, units);
    return countOf(ofTemplate(source, ofThese ?? wholeList(source.all()), ofThese === undefined)) > 0;
  };
  if (wanted === undefined || (units !== undefined && ![...tables.keys()].some(isSeen)))
    throw new LogQueryRefused("template", "Must be the id of a template that GET /system/logs/templates lists");
  return ofTemplate;
}
