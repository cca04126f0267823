import type { LogFieldValues } from "#contract/logs.ts";
import type { LogQuery } from "#domain/ports/journal.ts";
import { fieldNamesOf } from "./journal-file/data.ts";
import { matchingUnits } from "./match.ts";
import { countOf, offsetAt, type Postings } from "./postings.ts";
import { asValue, isFieldName, nameOf } from "./raw-fields.ts";
import type { Source } from "./source.ts";

const maxValues = 100_000;
const maxValueBytes = 16 * 1024 * 1024;

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
    const wanted = matchingUnits(source, units);
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

/** Values, each once, as many as an answer has space for. */
function createValueList(): {
  /** @returns whether there is space for more. */
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
    const wanted = matchingUnits(source, units);
    for (const item of wanted === undefined ? source.valuesOf(name) : itemsOf(source, wanted)) {
      const payload = source.payloadOf(item);
      const found = payload && nameOf(payload);
      if (payload === undefined || found?.name !== name) continue;
      if (!values.add(payload.bytes, found.value, payload.end)) return values.list();
    }
  }
  return values.list();
}
