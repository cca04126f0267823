import type { Answer } from "../api/call.ts";
import { type Entry, entryTone, tones } from "./entry.ts";

/** More bars than this cannot be distinguished: two become one. */
const mostBuckets = 240;

/** Entries over time, by the colours of their severities. */
export interface Buckets {
  /** How long one is. */
  readonly seconds: number;
  /** Since 1970, in buckets. */
  readonly first: number;
  /** Of each colour, in the order of {@link tones}. */
  readonly counts: readonly number[][];
}

export function bucketsOf({ bucket_seconds: seconds, buckets }: Answer<"getLogHistogram">): Buckets {
  const rows = buckets.map(({ total, priorities }) => {
    const row = tones.map(() => 0);
    let rest = total;
    for (const [priority, count] of Object.entries(priorities)) {
      const at = tones.indexOf(entryTone(Number(priority)));
      row[at] = (row[at] ?? 0) + count;
      rest -= count;
    }
    // Entries without a severity are listed as info.
    row[2] = (row[2] ?? 0) + rest;
    return row;
  });
  return {
    seconds,
    first: Math.floor(Date.parse(buckets[0]?.at ?? "1970-01-01T00:00:00Z") / 1000 / seconds),
    counts: tones.map((_, tone) => rows.map((row) => row[tone] ?? 0)),
  };
}

/** Two neighbours in one. */
function halved({ seconds, first, counts }: Buckets): Buckets {
  const half = Math.floor(first / 2);
  return {
    seconds: seconds * 2,
    first: half,
    counts: counts.map((row) => {
      const sums: number[] = [];
      for (const [at, count] of row.entries()) {
        const to = Math.floor((first + at) / 2) - half;
        sums[to] = (sums[to] ?? 0) + count;
      }
      return sums;
    }),
  };
}

/** Counts entries that have arrived. */
export function counted(before: Buckets, entries: readonly Entry[]): Buckets {
  let after: Buckets = { ...before, counts: before.counts.map((row) => [...row]) };
  for (const { timestamp, priority } of entries) {
    const placeOf = ({ seconds, first }: Buckets): number => Math.floor(Date.parse(timestamp) / 1000 / seconds) - first;
    while (placeOf(after) >= mostBuckets) after = halved(after);
    const at = placeOf(after);
    // One that was written before the window began.
    if (at < 0) continue;
    for (const row of after.counts) while (row.length <= at) row.push(0);
    const row = after.counts[tones.indexOf(entryTone(priority))];
    if (row !== undefined) row[at] = (row[at] ?? 0) + 1;
  }
  return after;
}

/** How many entries each colour has. */
export const totals = ({ counts }: Buckets): readonly number[] =>
  counts.map((row) => row.reduce((sum, count) => sum + count, 0));

/** A part of the time, in milliseconds, with the number of the first entry in it, and of the first one behind it. */
export interface Stretch {
  readonly since: number;
  readonly until: number;
  readonly first: number;
  readonly end: number;
}

/** The bucket of an entry, by its number. */
export function stretchOf({ seconds, first, counts }: Buckets, index: number): Stretch | undefined {
  let before = 0;
  for (let at = 0; at < (counts[0]?.length ?? 0); at += 1) {
    const here = counts.reduce((sum, row) => sum + (row[at] ?? 0), 0);
    if (index < before + here) {
      const since = (first + at) * seconds * 1000;
      return { since, until: since + seconds * 1000, first: before, end: before + here };
    }
    before += here;
  }
  return undefined;
}
