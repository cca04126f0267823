import type { LogFilters } from "#domain/ports/journal.ts";
import { resolveBoot } from "./boots.ts";
import { countCopies, isHidden } from "./copies.ts";
import { compileGrep, grepping } from "./grep-postings.ts";
import type { EntryList } from "./journal-file/entry-array.ts";
import type { Run } from "./merge.ts";
import {
  countOf,
  intersection,
  lowerBound,
  offsetAt,
  type Postings,
  toOffsets,
  union,
  unionOfParts,
} from "./postings.ts";
import { type Across, clip, inWindow, type Matched, matchedOf } from "./query.ts";
import type { AddCounts, Source } from "./source.ts";

/** Entries of one file that match, and how those among them are counted that other files do not show. */
export interface Counted extends Pick<Matched, "source" | "postings" | "isAny"> {
  readonly count: (postings: Postings) => number;
  /** Whether another file shows it. */
  readonly isHidden: (offset: number) => boolean;
}

export interface Counting {
  readonly filters: LogFilters;
  /** Ids of the boots whose entries count; undefined: all. */
  readonly boots: readonly string[] | undefined;
  /** What is counted, where the counts of a complete file are kept. */
  readonly term: string;
  readonly countIn: (counted: Counted, add: AddCounts) => void;
  /** Takes the counts of one file after the other. */
  readonly add: AddCounts;
  /** Is called with the file that the next counts are of. */
  readonly onFile?: (source: Source) => void;
}

export const bootsAsked = (sources: readonly Source[], { boot }: LogFilters, { ordering }: Across) =>
  boot === undefined ? undefined : resolveBoot(sources, boot, ordering);

const newestFirst = (left: Matched, right: Matched): number =>
  right.source.file.header.tailRealtime - left.source.file.header.tailRealtime;

/** Counts in each file, the newest one first. What was counted in the whole of a file is kept until the file grows. */
export function countInFiles(
  sources: readonly Source[],
  across: Across,
  { filters, boots, term, countIn, add, onFile = () => {} }: Counting,
): void {
  const { copies, help } = across;
  const { units, priority, identifier, grep } = filters;
  if (grep !== undefined) compileGrep(grep);
  const matched = matchedOf(sources, filters, boots, across).toSorted(newestFirst);
  const countOne = ({ source, postings, isAny }: Omit<Matched, "isWhole">, into: AddCounts): void => {
    const hidden = copies.get(source);
    const count = (some: Postings): number => countOf(some) - (hidden === undefined ? 0 : countCopies(some, hidden));
    countIn({ source, postings, isAny, count, isHidden: (offset) => isHidden(hidden, offset) }, into);
  };
  if (grep !== undefined) {
    const select = (run: Run): object => {
      onFile(run.source);
      countOne({ ...run, isAny: false }, add);
      return {};
    };
    grepping(matched, { pattern: grep, select, help });
    return;
  }
  const kept = JSON.stringify([term, units, priority, identifier, boots]);
  for (const each of matched) {
    onFile(each.source);
    const isKept = each.isWhole && !copies.has(each.source);
    if (isKept) each.source.countsOfTerm(kept, (into) => countOne(each, into), add);
    else countOne(each, add);
  }
}

function holds(postings: Postings, offset: number): boolean {
  const at = lowerBound(postings, offset);
  return at < countOf(postings) && offsetAt(postings, at) === offset;
}

/** Those of the first that are not among the others. */
const without = (postings: Postings, others: Postings): Postings => ({
  kind: "offsets",
  offsets: toOffsets(postings).filter((offset) => !holds(others, offset)),
});

const severities = [0, 1, 2, 3, 4, 5, 6, 7];
const known = new WeakMap<EntryList, readonly Postings[]>();

/** The entries of each severity, the most severe one of those that have several. */
export function levelsOf(source: Source): readonly Postings[] {
  const whole = source.all();
  const before = known.get(whole);
  if (before !== undefined) return before;
  const lists = severities.map((level) => source.entriesWith(`PRIORITY=${level}`));
  const sum = lists.reduce((count, list) => count + countOf(list), 0);
  const areDistinct = sum === countOf(unionOfParts(lists));
  const levels = areDistinct
    ? lists
    : lists.map((list, level) => (level === 0 ? list : without(list, union(lists.slice(0, level)))));
  known.set(whole, levels);
  return levels;
}

/** Those of a list that match: what is in no list of all entries yet counts nowhere. */
export const among = ({ source, postings, isAny }: Counted, list: Postings): Postings =>
  isAny ? clip(list, postings, source.all()) : intersection([postings, list]);

/** Lists up to this length are looked up entry by entry: a file may have very many of them. */
const shortList = 32;

/** Matches that are more than so many stay in their file. */
const mostInMemory = 2 ** 20;

/** The same with the matches in memory, for those who look up many lists among them. */
export function inMemory(counted: Counted): Counted {
  const { postings, isAny } = counted;
  if (isAny || postings.kind === "offsets" || countOf(postings) > mostInMemory) return counted;
  return { ...counted, postings: { kind: "offsets", offsets: toOffsets(postings) } };
}

/** How many entries of a list match. */
export function countAmong(counted: Counted, list: Postings): number {
  const { postings, isAny, count, isHidden } = counted;
  const length = countOf(list);
  if (isAny || length > shortList || postings.kind !== "offsets") return count(among(counted, list));
  let found = 0;
  for (let position = 0; position < length; position += 1) {
    const offset = offsetAt(list, position);
    if (holds(postings, offset) && !isHidden(offset)) found += 1;
  }
  return found;
}

interface Timestamp {
  readonly since: number;
  readonly until: number;
}

/** Those of a list of matches that were written in a part of the window. */
export function during({ source, isAny }: Counted, list: Postings, timestamp: Timestamp): Postings {
  const window = source.window(timestamp.since, timestamp.until);
  return isAny ? clip(list, window, source.all()) : inWindow(source, list, window, timestamp);
}
