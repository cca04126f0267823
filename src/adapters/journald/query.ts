import { notShown } from "#domain/common/page.ts";
import { namesUnread } from "#domain/logs/unread.ts";
import { type Lacking, type LogFilters, type LogQuery, LogQueryRefused } from "#domain/ports/journal.ts";
import { resolveBoot } from "./boots.ts";
import type { Part } from "./byte-writer.ts";
import { type Copies, countCopies, isHidden } from "./copies.ts";
import { compileGrep, grepping } from "./grep-postings.ts";
import type { EntryList } from "./journal-file/entry-array.ts";
import { matching } from "./match.ts";
import { type Found, merge, type Run } from "./merge.ts";
import {
  comparePlaces,
  copyPlace,
  formatCursor,
  isSameEntry,
  type Location,
  type Place,
  parseCursor,
  unknownPlace,
} from "./order.ts";
import type { Ordering } from "./ordering.ts";
import {
  between,
  betweenSimple,
  countOf,
  intersection,
  lowerBound,
  mapParts,
  noPostings,
  offsetAt,
  type Postings,
  toOffsets,
  union,
  within,
} from "./postings.ts";
import type { Renderer, WriteOptions } from "./render.ts";
import type { Help } from "./shared-search.ts";
import type { Source } from "./source.ts";
import type { OfTemplate } from "./templates/known-templates.ts";

/** All of an answer is in memory. A page that would be larger has fewer entries. */
export const maxAnswerBytes = 64 * 1024 * 1024;

/** The query for the one entry that is asked for, in its microsecond. */
function narrowed(query: LogQuery): LogQuery {
  const timestamp = query.entry && parseCursor(query.entry.cursor)?.realtime;
  if (timestamp === undefined) return query;
  const [since, until] = [Math.max(query.since, timestamp), Math.min(query.until, timestamp)];
  return { ...query, since, until, cursor: undefined, order: "asc", limit: 1 };
}

/** Whether an entry is the one that is asked for. */
function isAskedFor({ entry }: LogQuery): (location: Location) => boolean {
  const asked = entry && parseCursor(entry.cursor);
  return (location) => asked === undefined || isSameEntry(location, asked);
}

/** Whether a page has the first entries of what is asked for, oldest first. */
const beginsAtOldest = ({
  order,
  cursor,
  isFromOldest,
}: Pick<LogQuery, "order" | "cursor" | "isFromOldest">): boolean =>
  order === "asc" && (cursor !== undefined || isFromOldest === true);

const opening = '{"logs":[';

/** Those of the postings that are among the ones of a window. */
export function clip(postings: Postings, window: Postings, whole: EntryList): Postings {
  if (window.kind === "offsets") return intersection([postings, window]);
  const count = countOf(window);
  if (count === 0) return noPostings;
  if (count === whole.length) return postings;
  return within(postings, offsetAt(window, 0), offsetAt(window, count - 1) + 1);
}

/** Matches between the first and the last entry of a list of all entries, as most are. They are kept as long as their file stays as it is. */
const reached = new WeakMap<Postings, EntryList>();

/**
 * Those of the matches that lie in the window. The list of all entries decides, which reads no entry; a match that it does
 * not reach, as it was written meanwhile or the list is damaged, is asked for its own time.
 */
export function inWindow(
  source: Source,
  matched: Postings,
  window: Postings,
  { since, until }: Pick<LogFilters, "since" | "until">,
): Postings {
  const whole = source.all();
  if (reached.get(matched) === whole) return clip(matched, window, whole);
  const from = whole.length === 0 ? 0 : lowerBound(matched, whole.at(0));
  const to = whole.length === 0 ? 0 : lowerBound(matched, whole.at(whole.length - 1) + 1);
  const inside = clip(between(matched, from, to), window, whole);
  if (from === 0 && to === countOf(matched)) {
    reached.set(matched, whole);
    return inside;
  }
  const outside = [between(matched, 0, from), between(matched, Math.max(from, to), countOf(matched))];
  const timely = outside.map((part): Postings => {
    const isTimely = (offset: number): boolean => {
      const time = source.head(offset)?.realtime;
      return time !== undefined && time >= since && time <= until;
    };
    return { kind: "offsets", offsets: toOffsets(part).filter(isTimely) };
  });
  return union([...timely, inside]);
}

const isOutside = (source: Source, window: Postings): boolean =>
  countOf(window) === 0 && source.all().length > 0 && source.all().length === source.file.header.entries;

/** Whether a file may have entries of a window. */
export const mayHave = (source: Source, { since, until }: Pick<LogFilters, "since" | "until">): boolean =>
  !isOutside(source, source.window(since, until));

/** What follows from all files together, and who helps to search them. */
export interface Across {
  readonly copies: Copies;
  readonly ordering: Ordering;
  readonly help?: Help | undefined;
  /** Undefined where a query wants those of all templates. */
  readonly ofTemplate?: OfTemplate | undefined;
}

/** The entries of a file that match. */
export interface Matched extends Run {
  /** Whether they are all of the file that match, whenever they were written. */
  readonly isWhole: boolean;
  /** Whether nothing narrows them but the window. */
  readonly isAny: boolean;
}

/** What matches in each file that reaches into the window; messages are not inspected. */
export function matchedOf(
  sources: readonly Source[],
  query: Pick<LogQuery, Exclude<keyof LogFilters, "grep" | "boot" | "template"> | "uid">,
  boots: readonly string[] | undefined,
  { ofTemplate }: Pick<Across, "ofTemplate">,
): readonly Matched[] {
  return sources.flatMap((source): readonly Matched[] => {
    const window = source.window(query.since, query.until);
    if (isOutside(source, window)) return [];
    const matched = matching(source, { ...query, boots });
    const postings = matched === undefined ? window : inWindow(source, matched, window, query);
    const isAny = matched === undefined;
    // What is of a template may change without its file, so that no counts of it are kept.
    if (ofTemplate !== undefined)
      return [{ source, postings: ofTemplate(source, postings, isAny), isWhole: false, isAny: false }];
    return [{ source, postings, isWhole: countOf(window) === source.all().length, isAny }];
  });
}

/** What an answer lacks, as it turns out while it is made. */
export interface Lacks extends Lacking {
  /** Why there are no files. */
  readonly missing: string | undefined;
}

/** Answers a query from the files: everything that fits is counted in the indexes, and only what is shown is read. */
export function answer(
  sources: readonly Source[],
  across: Across,
  asked: LogQuery,
  { render, lacks }: { readonly render: Renderer; readonly lacks: () => Lacks },
): Buffer {
  const { copies, ordering, help } = across;
  const query = narrowed(asked);
  const { limit, order, grep } = query;
  if (grep !== undefined) compileGrep(grep);
  const boots = query.boot === undefined ? undefined : resolveBoot(sources, query.boot, ordering);
  const cursor = query.cursor === undefined ? undefined : parseCursor(query.cursor);
  if (query.cursor !== undefined && cursor === undefined)
    throw new LogQueryRefused("cursor", "Must be the cursor of a log entry");

  const indexed = matchedOf(sources, query, boots, across);
  const isForward = beginsAtOldest(query);
  const from = cursor === undefined ? undefined : ordering.locate(cursor);
  const select = (run: Run): Selected => {
    const hidden = copies.get(run.source);
    return {
      count: countOf(run.postings) - (hidden === undefined ? 0 : countCopies(run.postings, hidden)),
      run: from === undefined ? run : beyond(run, from, order, ordering),
    };
  };
  const selectShown = (run: Run): Selected => {
    const { count, run: wanted } = select(run);
    const most = query.entry === undefined ? limit + 1 + (copies.get(run.source)?.length ?? 0) : Infinity;
    return { count, run: firstOf(wanted, most, isForward) };
  };
  const selected =
    grep === undefined ? indexed.map(select) : grepping(indexed, { pattern: grep, select: selectShown, help });
  const total = selected.reduce((sum, { count }) => sum + count, 0);
  const isWanted = isAskedFor(query);
  const page = createPage(render, query, isForward);
  const hasCopies = copies.size > 0;
  let found = 0;
  let hasMore = false;
  const runs = selected.flatMap(({ run }) => (countOf(run.postings) > 0 ? [run] : []));
  merge(runs, isForward ? "forwards" : "backwards", ordering, (entry) => {
    if (hasCopies && isHidden(copies.get(entry.source), entry.offset)) return true;
    if (!isWanted(entry.place)) return true;
    hasMore = found === limit;
    if (hasMore) return false;
    found += 1;
    // At once, while what was read of it is in memory.
    hasMore = !page.add(entry);
    return !hasMore;
  });
  return page.end(query.entry === undefined ? total : found, hasMore, lacks());
}

interface Selected {
  /** How many entries fit, wherever a page begins. */
  readonly count: number;
  /** Those that may be shown. */
  readonly run: Run;
}

/** Those that come first in an order, so many of them, in memory of their own. */
function firstOf({ source, postings, again }: Run, most: number, isForward: boolean): Run {
  const count = countOf(postings);
  const kept = Math.min(most, count);
  const part = isForward ? between(postings, 0, kept) : between(postings, count - kept, count);
  const offsets = Float64Array.from(toOffsets(part));
  return { source, postings: { kind: "offsets", offsets }, again: kept === count ? undefined : again };
}

/** Those of a file that come after a place, or before it. */
export function beyond(
  { source, postings, again }: Run,
  cursor: Place,
  order: LogQuery["order"],
  ordering: Ordering,
): Run {
  const { place } = ordering;
  const reaches = (least: number) => (offset: number) => {
    const at = place(source, offset);
    return at && comparePlaces(at, cursor) >= least;
  };
  const isForward = order === "asc";
  const cut = mapParts(postings, (part) => {
    const from = source.firstWhere(part, reaches(isForward ? 1 : 0));
    return isForward ? betweenSimple(part, from, countOf(part)) : betweenSimple(part, 0, from);
  });
  const cutAgain = again && (() => beyond({ source, postings: again() }, cursor, order, ordering).postings);
  return { source, postings: cut, again: cutAgain };
}

function nextCursor(last: Location | undefined, { order, cursor }: LogQuery, hasMore: boolean): string | null {
  if (order === "desc" && !hasMore) return null;
  if (last === undefined) return cursor ?? null;
  return formatCursor(last);
}

/** The parts of a page that has its entries in the other order. */
function reversed(entries: readonly Part[], ending: Part): readonly Part[] {
  const [[, end] = ending] = entries;
  const comma: Part = [end, end + 1];
  return [
    [0, opening.length],
    ...entries.toReversed().flatMap((part, at) => (at === 0 ? [part] : [comma, part])),
    ending,
  ];
}

/** A window that ends so long ago at most ends now: its end is the time at which it was asked for. */
const recentMicros = 60_000_000;

/**
 * Whether entries are worth keeping as they are written. The newest ones are asked for again and again, and those of a filter
 * stand far apart, so that reading them takes most of the time. A page after another one is not asked for again.
 */
export function isRepeated(query: LogQuery, nowMs: number): boolean {
  const { until, cursor, units, priority, identifier, uid, boot, grep } = query;
  const isNewest = until >= nowMs * 1000 - recentMicros;
  return cursor === undefined && (isNewest || [units, priority, identifier, uid, boot, grep].some(isGiven));
}

const isGiven = (filter: unknown): boolean => filter !== undefined;

/** Writes entries in the order in which they are found: where not all have space, the last ones are left out. */
function createPage({ page, write }: Renderer, query: LogQuery, isForward: boolean) {
  const isReversed = query.order === "asc" && !isForward;
  const options: WriteOptions = {
    from: query.entry?.offset ?? 0,
    isRepeated: isRepeated(query, Date.now()),
    fields: query.fields,
  };
  const entries: Part[] = [];
  const first = unknownPlace();
  const last = unknownPlace();
  let count = 0;
  page.cut(0);
  page.text(opening);
  return {
    /** @returns whether there was space for it. */
    add(found: Found): boolean {
      const start = page.size();
      if (count > 0) page.text(",");
      const begin = page.size();
      write(found, options);
      if (page.size() - opening.length >= maxAnswerBytes) {
        page.cut(start);
        return false;
      }
      if (isReversed) entries.push([begin, page.size()]);
      if (count === 0) copyPlace(found.place, first);
      copyPlace(found.place, last);
      count += 1;
      return true;
    },
    end(total: number, hasMore: boolean, { missing, unread }: Lacks): Buffer {
      const end = page.size();
      const shownLast = isReversed ? first : last;
      const next = nextCursor(count === 0 ? undefined : shownLast, query, hasMore);
      const rest = { total, next_cursor: next, ...notShown("entries", missing), ...namesUnread({ unread }) };
      page.text(`],${JSON.stringify(rest).slice(1)}`);
      const bytes = isReversed ? page.bytes(reversed(entries, [end, page.size()])) : page.bytes();
      page.cut(0);
      return bytes;
    },
  };
}
