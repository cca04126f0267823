import type { EntryList } from "./journal-file/entry-array.ts";
import type { Postings } from "./postings.ts";
import { between, union, wholeList } from "./postings.ts";

/** What a window is found in. */
export interface TimedFile {
  readonly all: () => EntryList;
  /** Wall clock time of the entry at an offset, in microseconds since the epoch; undefined when it cannot be read. */
  readonly realtimeOf: (offset: number) => number | undefined;
  /** Offset of the first entry of every boot in the file. */
  readonly firstOfBoots: () => readonly number[];
  /** Written by journald, which begins a new file when the clock goes backwards. */
  readonly isByJournald: boolean;
}

/** A file with no more entries than this is looked through, whoever wrote it. */
const smallFile = 4096;

/**
 * Position of the first of so many entries for which the test holds, given that it holds for all after it. One that cannot
 * be read says nothing: then the next one is asked.
 */
export function firstPosition(length: number, test: (position: number) => boolean | undefined): number {
  let from = 0;
  let to = length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    let probe = middle;
    let answer = test(probe);
    while (answer === undefined && probe + 1 < to) {
      probe += 1;
      answer = test(probe);
    }
    if (answer === undefined || answer) to = middle;
    else from = probe + 1;
  }
  return from;
}

/**
 * Finds the entries of a window of wall clock time, both moments included. Time is bisected, which takes entries to be in
 * its order. Of journald's files that is so within one boot: where a clock starts in the past, the next boot begins before
 * the end of the last one. Files that others wrote, systemd-journal-remote for one, may be in any order: the times of all
 * their entries are read once, and kept where the order is not that of time.
 */
export function createTimeWindow({ all, realtimeOf, firstOfBoots, isByJournald }: TimedFile) {
  /** Times by position, of files that are looked through. */
  let times = new Float64Array(0);
  let isInOrder = true;

  const learnTimes = (): void => {
    const { length } = all();
    if (times.length >= length) return;
    const offsets = all().slice(times.length, length);
    const learnt = new Float64Array(length);
    learnt.set(times);
    let latest = times.at(-1) ?? 0;
    for (const [index, offset] of offsets.entries()) {
      // One that cannot be read takes the time of its neighbour, so that it does not spoil the order.
      const time = realtimeOf(offset) ?? latest;
      learnt[times.length + index] = time;
      if (time < latest) isInOrder = false;
      latest = time;
    }
    times = learnt;
  };

  const bisect = (from: number, to: number, window: Window, timeAt: (position: number) => number | undefined): Run => {
    const reaches = (moment: number) => (position: number) => {
      const time = timeAt(from + position);
      return time === undefined ? undefined : time >= moment;
    };
    const first = from + firstPosition(to - from, reaches(window.since));
    return { first, end: Math.max(first, from + firstPosition(to - from, reaches(window.until + 1))) };
  };

  const runOf = ({ first, end }: Run): Postings => between(wholeList(all()), first, end);

  const lookThrough = (window: Window): Postings => {
    learnTimes();
    if (isInOrder) return runOf(bisect(0, all().length, window, (position) => times[position]));
    const offsets = all().slice(0, all().length);
    const isInside = (time: number): boolean => time >= window.since && time <= window.until;
    return { kind: "offsets", offsets: offsets.filter((_, position) => isInside(times[position] ?? 0)) };
  };

  return (since: number, until: number): Postings => {
    const window = { since, until };
    const list = all();
    if (!isByJournald || list.length <= smallFile) return lookThrough(window);
    const timeAt = (position: number): number | undefined => realtimeOf(list.at(position));
    const starts = [0, ...firstOfBoots().map(list.lowerBound), list.length].sort((left, right) => left - right);
    const runs: Run[] = [];
    for (const [index, start] of starts.entries()) {
      const end = starts[index + 1];
      if (end === undefined || end === start) continue;
      const run = bisect(start, end, window, timeAt);
      const last = runs.at(-1);
      if (last?.end === run.first) runs[runs.length - 1] = { first: last.first, end: run.end };
      else if (run.end > run.first) runs.push(run);
    }
    return union(runs.map(runOf));
  };
}

interface Window {
  readonly since: number;
  readonly until: number;
}

/** Positions from the first up to the end. */
interface Run {
  readonly first: number;
  readonly end: number;
}
