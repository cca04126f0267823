import { type LogQuery, LogQueryRefused } from "#domain/ports/journal.ts";
import { resolveBoot } from "./boots.ts";
import { type Copies, countCopies, isHidden } from "./copies.ts";
import { compileGrep, grepping } from "./grep-postings.ts";
import type { EntryList } from "./journal-file/entry-array.ts";
import { matching } from "./match.ts";
import { type Found, merge, type Run } from "./merge.ts";
import { comparePlaces, type Place, parseCursor } from "./order.ts";
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
import { cursorOf, type Renderer } from "./render.ts";
import type { Help } from "./shared-search.ts";
import type { Source } from "./source.ts";

export const maxAnswerBytes = 64 * 1024 * 1024;

/** @throws LogQueryRefused */
export function assertAnswerSize(bytes: number): void {
  if (bytes <= maxAnswerBytes) return;
  throw new LogQueryRefused("limit", `The answer would be over ${maxAnswerBytes / 2 ** 20} MiB: ask for fewer entries`);
}

const opening = Buffer.from('{"logs":[');
const comma = Buffer.from(",");

function clip(postings: Postings, window: Postings, whole: EntryList): Postings {
  if (window.kind === "offsets") return intersection([postings, window]);
  const count = countOf(window);
  if (count === 0) return noPostings;
  if (count === whole.length) return postings;
  return within(postings, offsetAt(window, 0), offsetAt(window, count - 1) + 1);
}

/**
 * Those of the matches that lie in the window. The list of all entries decides, which reads no entry; a match that it does
 * not reach, as it was written meanwhile or the list is damaged, is asked for its own time.
 */
function inWindow(source: Source, matched: Postings, window: Postings, { since, until }: LogQuery): Postings {
  const whole = source.all();
  const from = whole.length === 0 ? 0 : lowerBound(matched, whole.at(0));
  const to = whole.length === 0 ? 0 : lowerBound(matched, whole.at(whole.length - 1) + 1);
  const inside = clip(between(matched, from, to), window, whole);
  if (from === 0 && to === countOf(matched)) return inside;
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

/** What follows from all files together, and who helps to search them. */
export interface Across {
  readonly copies: Copies;
  readonly ordering: Ordering;
  readonly help?: Help | undefined;
}

/** Answers a query from the files: everything that fits is counted in the indexes, and only what is shown is read. */
export function answer(
  sources: readonly Source[],
  { copies, ordering, help }: Across,
  query: LogQuery,
  render: Renderer,
): Buffer {
  const { since, until, limit, order, grep } = query;
  if (grep !== undefined) compileGrep(grep);
  const boots = query.boot === undefined ? undefined : resolveBoot(sources, query.boot, ordering);
  const cursor = query.cursor === undefined ? undefined : parseCursor(query.cursor);
  if (query.cursor !== undefined && cursor === undefined)
    throw new LogQueryRefused("cursor", "Must be a journal cursor");

  const indexed = sources.flatMap((source): readonly Run[] => {
    const window = source.window(since, until);
    if (isOutside(source, window)) return [];
    const matched = matching(source, { ...query, boots });
    return [{ source, postings: matched === undefined ? window : inWindow(source, matched, window, query) }];
  });
  const fitting = grep === undefined ? indexed : grepping(indexed, grep, help);
  const runs = fitting.filter(({ postings }) => countOf(postings) > 0);
  const total = runs.reduce((sum, { source, postings }) => {
    const hidden = copies.get(source);
    return sum + countOf(postings) - (hidden === undefined ? 0 : countCopies(postings, hidden));
  }, 0);

  const isForward = order === "asc" && cursor !== undefined;
  const from = cursor === undefined ? undefined : ordering.locate(cursor);
  const wanted = from === undefined ? runs : runs.map((run) => beyond(run, from, order, ordering));
  const entries: Found[] = [];
  let hasMore = false;
  for (const found of merge(wanted, isForward ? "forwards" : "backwards", ordering)) {
    if (isHidden(copies.get(found.source), found.offset)) continue;
    if (entries.length === limit) {
      hasMore = true;
      break;
    }
    entries.push(found);
  }
  if (order === "asc" && !isForward) entries.reverse();
  return write(entries, { total, order, hasMore, cursor: query.cursor }, render);
}

function beyond({ source, postings }: Run, cursor: Place, order: LogQuery["order"], { place }: Ordering): Run {
  const reaches = (least: number) => (offset: number) => {
    const at = place(source, offset);
    return at && comparePlaces(at, cursor) >= least;
  };
  const isForward = order === "asc";
  const cut = mapParts(postings, (part) => {
    const from = source.firstWhere(part, reaches(isForward ? 1 : 0));
    return isForward ? betweenSimple(part, from, countOf(part)) : betweenSimple(part, 0, from);
  });
  return { source, postings: cut };
}

function nextCursor(
  last: Found | undefined,
  { order, hasMore, cursor }: { order: LogQuery["order"]; hasMore: boolean; cursor: string | undefined },
): string | null {
  if (order === "desc" && !hasMore) return null;
  if (last === undefined) return cursor ?? null;
  return cursorOf(last);
}

function write(
  entries: readonly Found[],
  page: { total: number; order: LogQuery["order"]; hasMore: boolean; cursor: string | undefined },
  render: Renderer,
): Buffer {
  const parts: Buffer[] = [];
  let size = 0;
  for (const found of entries) {
    const bytes = render(found);
    size += bytes.length + comma.length;
    assertAnswerSize(size);
    if (parts.length > 0) parts.push(comma);
    parts.push(bytes);
  }
  const next = JSON.stringify(nextCursor(entries.at(-1), page));
  return Buffer.concat([opening, ...parts, Buffer.from(`],"total":${page.total},"next_cursor":${next}}`)]);
}
