import type { EntryList } from "./journal-file/entry-array.ts";
import { between, type Postings, union, wholeList } from "./postings.ts";

export interface TimedFile {
  readonly all: () => EntryList;
  /** Wall clock time of the entry at an offset, in microseconds since the epoch; undefined when it cannot be read. */
  readonly realtimeOf: (offset: number) => number | undefined;
  readonly firstOfBoots: () => readonly number[];
  /** Written by journald, which begins a new file when the clock goes backwards. */
  readonly isByJournald: boolean;
}

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

type TimeAt = (position: number) => number | undefined;
type IsThere = (time: number) => boolean;

/** Position in a run of the first entry whose time passes the test. */
function firstTime({ first, end }: Run, isThere: IsThere, timeAt: TimeAt): number {
  const test = (position: number): boolean | undefined => {
    const time = timeAt(first + position);
    return time === undefined ? undefined : isThere(time);
  };
  return first + firstPosition(end - first, test);
}

function bisect(run: Run, { since, until }: Window, timeAt: TimeAt): Run {
  const first = firstTime(run, (time) => time >= since, timeAt);
  const end = firstTime(run, (time) => time > until, timeAt);
  return { first, end: Math.max(first, end) };
}

const [leastStep, stepGrowth] = [32, 8];

/**
 * The part of a run in which the first entry is whose time passes the test: around where it would be if all were written at one
 * pace, as far as is needed. Mostly that is a few entries, whose places in the file are read together.
 */
function near(run: Run, guess: number, isThere: IsThere, timeAt: TimeAt): Run {
  let { first, end } = run;
  let probe = guess;
  for (let step = leastStep; end > first; step *= stepGrowth) {
    probe = Math.min(Math.max(probe, first), end - 1);
    const time = timeAt(probe);
    if (time === undefined) return { first, end };
    if (isThere(time)) {
      end = probe;
      if (first > run.first) break;
      probe -= step;
    } else {
      first = probe + 1;
      if (end < run.end) break;
      probe += step;
    }
  }
  return { first, end };
}

/** Cuts a run at the edges of a window. The times of its ends are kept: most windows hold a run wholly or not at all. */
function createCut(timeAt: TimeAt): (run: Run, window: Window) => Run {
  const ends = new WeakMap<Run, readonly [first: number | undefined, last: number | undefined]>();
  return (run, window) => {
    const [first, last] = ends.get(run) ?? [timeAt(run.first), timeAt(run.end - 1)];
    ends.set(run, [first, last]);
    const { since, until } = window;
    if (first === undefined || last === undefined) return bisect(run, window, timeAt);
    if (first >= since && last <= until) return run;
    if (last < since || first > until) return { first: run.first, end: run.first };
    const edge = (time: number, isThere: IsThere): number => {
      const guess = run.first + Math.floor(((run.end - run.first) * (time - first)) / Math.max(1, last - first));
      return firstTime(near(run, guess, isThere, timeAt), isThere, timeAt);
    };
    const from = first >= since ? run.first : edge(since, (time) => time >= since);
    const end = last <= until ? run.end : edge(until, (time) => time > until);
    return { first: from, end: Math.max(from, end) };
  };
}

export interface Timeline {
  readonly window: (since: number, until: number) => Postings;
  /**
   * The runs, one for each boot, in which time goes forwards.
   * @returns undefined where the file has none: then its order follows from {@link latest}.
   */
  readonly runs: () => readonly Run[] | undefined;
  readonly latest: (offset: number) => number;
}

/**
 * Finds the entries of a window of wall clock time, both times included. Time is bisected, which takes entries to be in
 * its order. Of journald's files that is so within one boot: where a clock starts in the past, the next boot begins before
 * the end of the last one. Files that others wrote, systemd-journal-remote for one, may be in any order: the times of all
 * their entries are read once, and kept where the order is not that of time.
 */
export function createTimeline({ all, realtimeOf, firstOfBoots, isByJournald }: TimedFile): Timeline {
  let times = new Float64Array(0);
  let latest = new Float64Array(0);
  let isInOrder = true;
  let divided: EntryList | undefined;
  let runs: readonly Run[] | undefined;

  const learnTimes = (): void => {
    const { length } = all();
    if (times.length >= length) return;
    const offsets = all().slice(times.length, length);
    const [learnt, latestLearnt] = [new Float64Array(length), new Float64Array(length)];
    learnt.set(times);
    latestLearnt.set(latest);
    let last = times.at(-1) ?? 0;
    let highest = latest.at(-1) ?? 0;
    for (const [index, offset] of offsets.entries()) {
      // One that cannot be read takes the time of its neighbour, so that it does not spoil the order.
      last = realtimeOf(offset) ?? last;
      highest = Math.max(highest, last);
      learnt[times.length + index] = last;
      latestLearnt[times.length + index] = highest;
      if (last < highest) isInOrder = false;
    }
    times = learnt;
    latest = latestLearnt;
  };

  const isLookedThrough = (): boolean => !isByJournald || all().length <= smallFile;

  const divide = (): readonly Run[] | undefined => {
    const list = all();
    const starts = [0, ...firstOfBoots().map(list.lowerBound), list.length].sort((left, right) => left - right);
    const found = starts.flatMap((first, index) => {
      const end = starts[index + 1] ?? first;
      return end > first ? [{ first, end }] : [];
    });
    if (!isLookedThrough()) return found;
    learnTimes();
    const goesForwards = ({ first, end }: Run): boolean =>
      times.subarray(first + 1, end).every((time, index) => time >= (times[first + index] ?? 0));
    return found.every(goesForwards) ? found : undefined;
  };

  const runsOf = (): readonly Run[] | undefined => {
    if (!isByJournald) return undefined;
    if (divided !== all()) {
      runs = divide();
      divided = all();
    }
    return runs;
  };

  const cut = createCut((position) => realtimeOf(all().at(position)));
  const postingsOf = ({ first, end }: Run): Postings => between(wholeList(all()), first, end);

  const lookThrough = (window: Window): Postings => {
    learnTimes();
    if (isInOrder) return postingsOf(bisect({ first: 0, end: all().length }, window, (position) => times[position]));
    const offsets = all().slice(0, all().length);
    const isInside = (time: number): boolean => time >= window.since && time <= window.until;
    return { kind: "offsets", offsets: offsets.filter((_, position) => isInside(times[position] ?? 0)) };
  };

  return {
    window(since, until) {
      const window = { since, until };
      if (isLookedThrough()) return lookThrough(window);
      const found: Run[] = [];
      for (const each of runsOf() ?? []) {
        const run = cut(each, window);
        const last = found.at(-1);
        if (last?.end === run.first) found[found.length - 1] = { first: last.first, end: run.end };
        else if (run.end > run.first) found.push(run);
      }
      return union(found.map(postingsOf));
    },
    runs: runsOf,
    latest(offset) {
      learnTimes();
      return latest[Math.min(all().lowerBound(offset), latest.length - 1)] ?? 0;
    },
  };
}

interface Window {
  readonly since: number;
  readonly until: number;
}

interface Run {
  readonly first: number;
  readonly end: number;
}
