import type { LogFieldValues } from "#contract/logs.ts";
import type { JournalBoot, LogQuery } from "#domain/ports/journal.ts";
import { bootsOf } from "./boots.ts";
import { fieldNamesOf } from "./journal-file/data.ts";
import { matching } from "./match.ts";
import type { Ordering } from "./ordering.ts";
import { countOf, intersection, offsetAt, type Postings, toOffsets } from "./postings.ts";
import { asValue, isFieldName, nameOf } from "./raw-fields.ts";
import type { Source } from "./source.ts";

const maxValues = 100_000;
const maxValueBytes = 16 * 1024 * 1024;

/** Entries of the units of one file; undefined: of all. */
export const ofUnits = (source: Source, units: LogQuery["units"]): Postings | undefined =>
  units === undefined
    ? undefined
    : matching(source, { units, priority: undefined, identifier: undefined, boots: undefined });

/** In a file whose entries are in no order of time. */
function extremesOf(source: Source, postings: Postings): readonly [first: number, last: number] | undefined {
  let moments: [number, number] | undefined;
  for (const offset of toOffsets(postings)) {
    const time = source.head(offset)?.realtime;
    if (time === undefined) continue;
    moments ??= [time, time];
    moments = [Math.min(moments[0], time), Math.max(moments[1], time)];
  }
  return moments;
}

/** First and last moment of entries, in microseconds since the epoch. */
export function momentsOf(source: Source, postings: Postings): readonly [first: number, last: number] | undefined {
  const count = countOf(postings);
  if (source.spans() === undefined) return extremesOf(source, postings);
  for (let from = 0, to = count - 1; from <= to; ) {
    const [first, last] = [source.head(offsetAt(postings, from)), source.head(offsetAt(postings, to))];
    if (first !== undefined && last !== undefined) return [first.realtime, last.realtime];
    if (first === undefined) from += 1;
    if (last === undefined) to -= 1;
  }
  return undefined;
}

export function listBoots(
  sources: readonly Source[],
  ordering: Ordering,
  units: LogQuery["units"],
): readonly JournalBoot[] {
  const ids = bootsOf(sources, ordering);
  return ids.flatMap((id, position): readonly JournalBoot[] => {
    const found = sources.flatMap((source): readonly number[] => {
      const written = source.entriesWith(`_BOOT_ID=${id}`);
      const wanted = ofUnits(source, units);
      return momentsOf(source, wanted === undefined ? written : intersection([wanted, written])) ?? [];
    });
    if (found.length === 0) return [];
    return [{ index: position - ids.length + 1, id, first: Math.min(...found), last: Math.max(...found) }];
  });
}

/** Data objects that these entries have, each once. */
function* itemsOf(source: Source, postings: Postings): Generator<number> {
  const seen = new Set<number>();
  const items: number[] = [];
  for (let position = 0; position < countOf(postings); position += 1) {
    const count = source.readItems(offsetAt(postings, position), items);
    for (const item of items.slice(0, count)) {
      if (seen.has(item)) continue;
      seen.add(item);
      yield item;
    }
  }
}

/** Names of fields, from the indexes of the files; where units are named, from their entries. */
export function listFieldNames(sources: readonly Source[], units: LogQuery["units"]): readonly string[] {
  const names = new Set<string>();
  for (const source of sources) {
    const wanted = ofUnits(source, units);
    if (wanted === undefined) for (const name of fieldNamesOf(source.file, source.onDamage)) names.add(name);
    else {
      for (const item of itemsOf(source, wanted)) {
        const payload = source.payloadOf(item);
        const found = payload && nameOf(payload);
        if (found !== undefined) names.add(found.name);
      }
    }
  }
  return [...names].filter(isFieldName).sort();
}

type ListedValues = Pick<LogFieldValues, "values" | "truncated">;

/** Values, each once, as many as an answer has room for. */
function createValueList(): {
  /** @returns whether there is room for more. */
  readonly add: (bytes: Buffer, start?: number, end?: number) => boolean;
  readonly list: () => ListedValues;
} {
  const seen = new Set<string>();
  const values: LogFieldValues["values"] = [];
  let size = 0;
  let truncated = false;
  return {
    add(bytes, start = 0, end = bytes.length) {
      const key = bytes.toString("latin1", start, end);
      if (truncated || seen.has(key)) return !truncated;
      size += key.length;
      truncated = seen.size >= maxValues || size > maxValueBytes;
      if (truncated) return false;
      seen.add(key);
      values.push(asValue(bytes, start, end));
      return true;
    },
    list: () => ({ values, truncated }),
  };
}

/** Values of a field, from where {@link listFieldNames} has names. */
export function listValues(sources: readonly Source[], name: string, units: LogQuery["units"]): ListedValues {
  const values = createValueList();
  for (const source of sources) {
    const wanted = ofUnits(source, units);
    for (const item of wanted === undefined ? source.valuesOf(name) : itemsOf(source, wanted)) {
      const payload = source.payloadOf(item);
      const found = payload && nameOf(payload);
      if (payload === undefined || found?.name !== name) continue;
      if (!values.add(payload.bytes, found.value, payload.end)) return values.list();
    }
  }
  return values.list();
}
