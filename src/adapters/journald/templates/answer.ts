import type { LogTemplateStatus } from "#contract/log-exploration.ts";
import { byInterest, type Change, type Occurrences, spansOf, statusOf } from "#domain/logs/templates/changes.ts";
import type {
  ComparedWindow,
  CountedTemplate,
  LogTemplate,
  LogTemplateCounts,
  TemplateQuery,
} from "#domain/ports/journal.ts";
import { bootsAsked, type Counted, type Counting, countInFiles } from "../counting.ts";
import { formatCursor } from "../order.ts";
import { countOf } from "../postings.ts";
import type { Across } from "../query.ts";
import type { AddCounts, Source } from "../source.ts";
import type { ClassTable } from "./classes.ts";
import type { Grouping } from "./grouping.ts";
import { positionsOf, type SourceTemplates } from "./known-templates.ts";

interface Row extends Occurrences {
  count: number;
  first: number;
  last: number;
  source: Source;
  lastOffset: number;
  /** Infinity where none is stated. */
  priority: number;
}

/** Passes on the counts of the whole of a file, as its table has them. */
function passWhole({ classes, length }: ClassTable, add: AddCounts): void {
  let rest = length;
  for (const [number, { count, first, last, lastOffset }] of classes.entries()) {
    rest -= count;
    if (number > 0 && count > 0) add(String(number), [count, first, last, lastOffset]);
  }
  const other = rest + (classes[0]?.count ?? 0);
  if (other > 0) add("0", [other, 0, 0, 0]);
}

/** Counts the entries that match by their classes. */
function countClasses({ source, postings, isAny, count, isHidden }: Counted, table: ClassTable, add: AddCounts): void {
  const matched = countOf(postings);
  const shown = count(postings);
  if (shown === 0) return;
  if (isAny && matched === table.length && shown === matched) {
    passWhole(table, add);
    return;
  }
  const counts = new Float64Array(table.classes.length);
  const firsts = new Float64Array(table.classes.length);
  const lasts = new Float64Array(table.classes.length);
  const { at } = positionsOf(source, postings, isAny);
  for (let index = 0; index < matched; index += 1) {
    const position = at(index);
    if (shown < matched && isHidden(source.all().at(position))) continue;
    const number = table.numbers[position] ?? 0;
    if (counts[number] === 0) firsts[number] = position;
    lasts[number] = position;
    counts[number] = (counts[number] ?? 0) + 1;
  }
  const timeAt = (position: number): number => source.head(source.all().at(position))?.realtime ?? 0;
  for (const [number, found] of counts.entries()) {
    if (found === 0) continue;
    const [first, last] = [firsts[number] ?? 0, lasts[number] ?? 0];
    const isOther = number === 0;
    add(String(number), isOther ? [found, 0, 0, 0] : [found, timeAt(first), timeAt(last), source.all().at(last)]);
  }
}

/** Adds up what is counted of files by the templates of their classes. */
function createTally(tables: ReadonlyMap<Source, ClassTable>, { templateOf }: Grouping) {
  const rows = new Map<number, Row>();
  const tally = { rows, total: 0, other: 0 };
  let source: Source | undefined;
  const add: AddCounts = (key, [count = 0, first = 0, last = 0, lastOffset = 0]) => {
    tally.total += count;
    const number = Number(key);
    const table = source && tables.get(source);
    if (number === 0 || source === undefined || table === undefined) {
      tally.other += count;
      return;
    }
    const template = templateOf(table, number);
    const priority = table.origins[table.classes[number]?.origin ?? -1]?.priority ?? Infinity;
    const row = rows.get(template);
    if (row === undefined) {
      rows.set(template, { count, first, last, source, lastOffset, priority });
      return;
    }
    row.count += count;
    row.first = Math.min(row.first, first);
    row.priority = Math.min(row.priority, priority);
    if (last > row.last) Object.assign(row, { last, source, lastOffset });
  };
  const onFile = (next: Source): void => {
    source = next;
  };
  return { tally, add, onFile };
}

interface Changed extends Change<Row> {
  readonly template: number;
  readonly status: LogTemplateStatus | undefined;
}

function changesOf(
  query: TemplateQuery,
  after: ReadonlyMap<number, Row>,
  before: ReadonlyMap<number, Row> | undefined,
): readonly Changed[] {
  const all = [...new Set([...after.keys(), ...(before?.keys() ?? [])])].map((template) => ({
    template,
    before: before?.get(template),
    after: after.get(template),
  }));
  if (query.before === undefined) return all.map((change) => ({ ...change, status: undefined }));
  const spans = spansOf({ ...query, before: query.before }, all);
  return all.map((change) => ({ ...change, status: statusOf(change, spans) }));
}

function show(
  { before, after, status }: Changed,
  template: LogTemplate,
  firstError: number | null | undefined,
): readonly CountedTemplate[] {
  const last = after ?? before;
  if (last === undefined) return [];
  const location = last.source.location(last.lastOffset);
  const priority = Math.min(before?.priority ?? Infinity, after?.priority ?? Infinity);
  return [
    {
      ...template,
      priority: priority === Infinity ? null : priority,
      count: after?.count ?? 0,
      first: Math.min(before?.first ?? Infinity, after?.first ?? Infinity),
      last: last.last,
      cursor: location === undefined ? null : formatCursor(location),
      before: status === undefined ? undefined : (before?.count ?? 0),
      status,
      firstError: firstError ?? undefined,
    },
  ];
}

/** Counts entries by their templates. @throws as a query. */
export function answerTemplates(
  { tables, grouping }: SourceTemplates,
  sources: readonly Source[],
  across: Across,
  query: TemplateQuery,
): LogTemplateCounts {
  const countWindow = (window: ComparedWindow) => {
    const filters = { ...query, ...window };
    const { tally, add, onFile } = createTally(tables, grouping);
    const countIn: Counting["countIn"] = (counted, into) => {
      const table = tables.get(counted.source);
      if (table !== undefined) countClasses(counted, table, into);
    };
    countInFiles(sources, across, {
      filters,
      boots: bootsAsked(sources, filters, across),
      term: "templates",
      countIn,
      onFile,
      add,
    });
    return tally;
  };
  const after = countWindow(query);
  const before = query.before && countWindow(query.before);
  const changes = changesOf(query, after.rows, before?.rows);
  const wanted = changes.filter(({ status }) => query.status === undefined || status === query.status);
  return {
    total: after.total + (before?.total ?? 0),
    other: after.other + (before?.other ?? 0),
    distinct: wanted.length,
    templates: wanted
      .toSorted(byInterest)
      .slice(0, query.limit)
      .flatMap((change) => {
        const template = grouping.templates[change.template];
        return template === undefined ? [] : show(change, template, grouping.rememberedOf(change.template)?.firstError);
      }),
  };
}
