import type { LogFacet } from "#contract/log-exploration.ts";
import type { FacetQuery, LogFacetCounts } from "#domain/ports/journal.ts";
import { bootsAsked, type Counted, countAmong, countInFiles, inMemory, levelsOf } from "./counting.ts";
import { claims } from "./match.ts";
import { countOf, intersection, type Postings, unionOfParts, wholeList } from "./postings.ts";
import type { Across } from "./query.ts";
import type { Source } from "./source.ts";

/** Of each field at most so many values are distinguished. */
const maxFacetValues = 100_000;
/** Longer ones are left out. */
const maxFacetBytes = 1024;

/** The fields of the journal whose values are taken as they are. */
const fieldOf = {
  identifier: "SYSLOG_IDENTIFIER",
  hostname: "_HOSTNAME",
  boot: "_BOOT_ID",
  transport: "_TRANSPORT",
} as const satisfies Partial<Record<LogFacet, string>>;

/** Values of a field and the entries that have each. */
function* listsOf(source: Source, name: string): Generator<readonly [value: string, entries: Postings]> {
  const before = name.length + 1;
  for (const offset of source.valuesOf(name)) {
    const payload = source.payloadOf(offset);
    if (payload === undefined) continue;
    const { bytes, start, end } = payload;
    if (end - start - before > maxFacetBytes) continue;
    const value = bytes.toString("utf8", start + before, end);
    yield [value, wholeList(source.entriesOf(offset))];
  }
}

/** The entries that each unit wrote, or that are about it, as a filter for it finds them; slices have those of all their units besides. */
function unitLists(source: Source): readonly (readonly [unit: string, entries: Postings])[] {
  const units = new Map<string, Postings[]>();
  const add = (unit: string, entries: Postings): void => {
    const known = units.get(unit);
    if (known !== undefined) known.push(entries);
    else if (unit !== "" && countOf(entries) > 0 && units.size < maxFacetValues) units.set(unit, [entries]);
  };
  add("kernel", source.entriesWith("_TRANSPORT=kernel"));
  for (const [unit, entries] of listsOf(source, "_SYSTEMD_UNIT")) add(unit, entries);
  for (const { name, trusted } of claims) {
    const written = intersection(trusted.map(source.entriesWith));
    if (countOf(written) === 0) continue;
    for (const [unit, entries] of listsOf(source, name)) add(unit, intersection([entries, written]));
  }
  return [...units].map(([unit, lists]) => [unit, unionOfParts(lists)]);
}

function valueLists(source: Source, facet: LogFacet): Iterable<readonly [value: string, entries: Postings]> {
  if (facet === "unit") return unitLists(source);
  if (facet === "priority") return levelsOf(source).map((entries, level) => [String(level), entries]);
  return listsOf(source, fieldOf[facet]);
}

function countFacet(counted: Counted, facet: LogFacet, add: (value: string, count: number) => void): void {
  if (countOf(counted.postings) === 0) return;
  for (const [value, entries] of valueLists(counted.source, facet)) {
    const count = countAmong(counted, entries);
    if (count > 0) add(value, count);
  }
}

/** Adds up what was counted of one facet, of at most so many values. */
function createFacet(field: LogFacet) {
  const counts = new Map<string, number>();
  let isComplete = true;
  return {
    add(value: string, count: number): void {
      const before = counts.get(value);
      if (before === undefined && counts.size >= maxFacetValues) isComplete = false;
      else counts.set(value, (before ?? 0) + count);
    },
    answer(limit: number): LogFacetCounts["facets"][number] {
      const values = [...counts]
        .sort(([a, left], [b, right]) => right - left || (a < b ? -1 : 1))
        .slice(0, limit)
        .map(([value, count]) => ({ value, count }));
      return { field, values, distinct: isComplete ? counts.size : null };
    },
  };
}

/** Instead of the position of a field: what is counted is all entries. */
const all = -1;

/** Counts entries by what they have, from the indexes of the files. */
export function answerFacets(sources: readonly Source[], across: Across, query: FacetQuery): LogFacetCounts {
  const boots = bootsAsked(sources, query, across);
  const facets = query.fields.map(createFacet);
  let total = 0;
  countInFiles(sources, across, {
    filters: query,
    boots,
    term: `facets ${query.fields.join(" ")}`,
    countIn(file, add) {
      const each = inMemory(file);
      add("", [all, each.count(each.postings)]);
      for (const [at, field] of query.fields.entries())
        countFacet(each, field, (value, count) => add(value, [at, count]));
    },
    add(value, [at = all, count = 0]) {
      if (at === all) total += count;
      else facets[at]?.add(value, count);
    },
  });
  return { total, facets: facets.map((facet) => facet.answer(query.limit)) };
}
