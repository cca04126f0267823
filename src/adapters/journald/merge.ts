import { comparePlaces, type Place } from "./order.ts";
import type { Ordering } from "./ordering.ts";
import { countOf, offsetAt, type Postings } from "./postings.ts";
import type { Source } from "./source.ts";

export interface Run {
  readonly source: Source;
  readonly postings: Postings;
  /** Finds all of them where only those at one end are here. */
  readonly again?: (() => Postings) | undefined;
}

export interface Found {
  readonly source: Source;
  readonly offset: number;
  readonly place: Place;
}

interface Lane {
  run: Run;
  position: number;
  offset: number;
  at: Place;
  /** Entries that were read ahead, this one among them. */
  ahead: number;
  /** How many are read ahead the next time. */
  next: number;
}

/** So many entries are read ahead at first, since most files have few in a page, and at last. */
const [leastAhead, mostAhead] = [16, 512];
/** Entries that are further apart are read one by one. */
const maxGap = 12 * 1024;
const maxBytesAhead = 1024 * 1024;
/** What belongs to an entry: its own fields before it, its items behind its offset. */
const [bytesBefore, bytesAfter] = [1024, 512];

/** Reads together what a lane gives next, from this position on. */
function readAhead(lane: Lane, position: number, step: 1 | -1): void {
  const { source, postings } = lane.run;
  const near = offsetAt(postings, position);
  const left = step > 0 ? countOf(postings) - position : position + 1;
  let ahead = Math.min(lane.next, left);
  lane.next = Math.min(2 * lane.next, mostAhead);
  for (; ahead >= leastAhead; ahead = Math.floor(ahead / 2)) {
    const far = offsetAt(postings, position + step * (ahead - 1));
    const bytes = Math.abs(far - near);
    if (bytes > maxBytesAhead) continue;
    if (bytes <= ahead * maxGap) {
      source.file.blocks.readAhead(Math.min(near, far) - bytesBefore, Math.max(near, far) + bytesAfter);
    }
    break;
  }
  lane.ahead = ahead;
}

/**
 * Merges files in the order of the journal, forwards or backwards, and stops being asked when it has given enough. What
 * cannot be read is left out.
 */
export function* merge(
  runs: readonly Run[],
  direction: "forwards" | "backwards",
  ordering: Ordering,
): Generator<Found> {
  const step = direction === "forwards" ? 1 : -1;
  const isBefore = (left: Lane, right: Lane): boolean => comparePlaces(left.at, right.at) * step < 0;

  const enter = (run: Run, from: number, lane?: Lane): Lane | undefined => {
    const count = countOf(run.postings);
    for (let position = from; position >= 0 && position < count; position += step) {
      if (lane !== undefined) {
        lane.run = run;
        lane.ahead -= 1;
        if (lane.ahead <= 0) readAhead(lane, position, step);
      }
      const offset = offsetAt(run.postings, position);
      const at = ordering.place(run.source, offset);
      if (at === undefined) continue;
      if (lane === undefined) return { run, position, offset, at, ahead: 1, next: leastAhead };
      lane.position = position;
      lane.offset = offset;
      lane.at = at;
      return lane;
    }
    if (run.again === undefined) return undefined;
    const all = { source: run.source, postings: run.again() };
    return enter(all, step > 0 ? count : countOf(all.postings) - count - 1, lane);
  };

  let lanes = runs.flatMap((run) => enter(run, step > 0 ? 0 : countOf(run.postings) - 1) ?? []);
  while (lanes.length > 0) {
    const [first, ...others] = lanes;
    if (first === undefined) return;
    let best = first;
    for (const lane of others) if (isBefore(lane, best)) best = lane;
    let second: Lane | undefined;
    for (const lane of lanes) if (lane !== best && (second === undefined || isBefore(lane, second))) second = lane;
    // Files mostly follow one another, so one of them gives many entries in a row.
    let current: Lane | undefined = best;
    while (current !== undefined && (second === undefined || !isBefore(second, current))) {
      const { at, run, offset } = current;
      yield { source: run.source, offset, place: at };
      current = enter(current.run, current.position + step, current);
    }
    if (current === undefined) lanes = lanes.filter((lane) => lane !== best);
  }
}
