import type { HistogramQuery, LogCounts } from "#domain/ports/journal.ts";
import { timesOfBoots } from "./boots.ts";
import { among, bootsAsked, type Counted, countInFiles, during, levelsOf } from "./counting.ts";
import { countOf } from "./postings.ts";
import type { Across } from "./query.ts";
import type { AddCounts, Source } from "./source.ts";

const [minute, hour, day] = [60, 3600, 86_400];
/** Round lengths of buckets, in seconds. Longer ones are multiples of the last. */
const lengths = [
  ...[1, 2, 5, 10, 15, 30],
  ...[1, 2, 5, 10, 15, 30].map((count) => count * minute),
  ...[1, 2, 3, 6, 12].map((count) => count * hour),
  ...[1, 2, 7, 14, 28, 91, 364].map((count) => count * day),
];
const longest = 364 * day;

const micros = 1_000_000;

/** Buckets of one length that a window reaches into, by their numbers since 1970. */
export interface Division {
  readonly seconds: number;
  readonly first: number;
  readonly last: number;
}

/** Divides a window, both of whose times are in it, into at most so many buckets of a round length. */
export function divide(since: number, until: number, most: number): Division {
  const divided = (seconds: number): Division => {
    const at = (time: number): number => Math.floor(time / (seconds * micros));
    return { seconds, first: at(since), last: at(Math.max(since, until)) };
  };
  const isFew = ({ first, last }: Division): boolean => last - first < most;
  const found = lengths.map(divided).find(isFew);
  if (found !== undefined) return found;
  for (let times = 2; ; times *= 2) {
    const longer = divided(longest * times);
    if (isFew(longer)) return longer;
  }
}

/** Numbers of entries in each bucket: all, and those of each severity. */
export type Tally = ReadonlyMap<number, readonly number[]>;

/** Entries in a tally before any is counted. */
const emptyRow = (): number[] => [0, 0, 0, 0, 0, 0, 0, 0, 0];

/** The answer, with the buckets that nothing was counted in. */
function toCounts({ since, until }: Pick<HistogramQuery, "since" | "until">, by: Division, tally: Tally): LogCounts {
  const { seconds, first, last } = by;
  const numbers = since > until ? [] : Array.from({ length: last - first + 1 }, (_, index) => first + index);
  return {
    since,
    until,
    bucketSeconds: seconds,
    buckets: numbers.map((number) => {
      const [total = 0, ...priorities] = tally.get(number) ?? emptyRow();
      return { at: number * seconds * micros, total, priorities };
    }),
  };
}

function countInBuckets(
  counted: Counted,
  { query: { since, until }, by }: { readonly query: HistogramQuery; readonly by: Division },
  add: AddCounts,
): void {
  const { seconds, first, last } = by;
  const { postings, count } = counted;
  if (countOf(postings) === 0) return;
  const levels = levelsOf(counted.source).map((list) => among(counted, list));
  const lists = [postings, ...levels];
  for (let bucket = first; bucket <= last; bucket += 1) {
    const begin = bucket * seconds * micros;
    const timestamp = { since: Math.max(since, begin), until: Math.min(until, begin + seconds * micros - 1) };
    const total = count(during(counted, postings, timestamp));
    if (total === 0) continue;
    add(
      String(bucket),
      lists.map((list, index) =>
        index === 0 ? total : countOf(list) === 0 ? 0 : count(during(counted, list, timestamp)),
      ),
    );
  }
}

/** The window that is meant: of a boot from its first to its last entry, of the units that are asked for. */
function fitted(
  sources: readonly Source[],
  query: HistogramQuery,
  boots: readonly string[] | undefined,
): HistogramQuery {
  const { isFitted, since, until, units } = query;
  if (boots === undefined || (!isFitted.since && !isFitted.until)) return query;
  const times = sources.flatMap((source) => timesOfBoots(source, boots, units));
  const last = times.length === 0 ? until : Math.min(until, Math.max(...times));
  // Where there is nothing, the window is its end.
  return {
    ...query,
    since: isFitted.since ? Math.min(last, ...times) : since,
    until: isFitted.until ? Math.max(isFitted.since ? 0 : since, last) : until,
  };
}

/** Counts entries over time from the indexes of the files. */
export function answerHistogram(sources: readonly Source[], across: Across, asked: HistogramQuery): LogCounts {
  const boots = bootsAsked(sources, asked, across);
  const query = fitted(sources, asked, boots);
  const by = divide(query.since, query.until, query.buckets);
  const tally = new Map<number, number[]>();
  countInFiles(sources, across, {
    filters: query,
    boots,
    // A file that is wholly in the window has the same counts in every window that is divided so.
    term: `histogram ${by.seconds}`,
    countIn: (each, add) => countInBuckets(each, { query, by }, add),
    add(bucket, row) {
      const sum = tally.get(Number(bucket)) ?? emptyRow();
      tally.set(Number(bucket), sum);
      for (const [index, count] of row.entries()) sum[index] = (sum[index] ?? 0) + count;
    },
  });
  return toCounts(query, by, tally);
}
