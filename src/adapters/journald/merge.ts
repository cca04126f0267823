import type { Refilled } from "./journal-file/entry.ts";
import { comparePlaces, type Place, unknownPlace } from "./order.ts";
import type { Ordering } from "./ordering.ts";
import { countOf, offsetAt, type Postings, someOffsets } from "./postings.ts";
import type { Source } from "./source.ts";

export interface Run {
  readonly source: Source;
  readonly postings: Postings;
  /** Finds all of them where only those at one end are here. */
  readonly again?: (() => Postings) | undefined;
}

/** An entry on its way. It becomes the next one of its file: who needs it longer copies it. */
export interface Found {
  readonly source: Source;
  readonly offset: number;
  readonly place: Place;
}

interface Lane extends Found {
  run: Run;
  position: number;
  offset: number;
  readonly place: Refilled<Place>;
  /** Entries that were read ahead, this one among them. */
  ahead: number;
  /** How many are read ahead the next time. */
  next: number;
  /** The offsets of those that were read ahead, and the position of the first. */
  offsets: Float64Array;
  first: number;
}

/** So many entries are read ahead at first, since most files have few in a page, and at last. */
const [leastAhead, mostAhead] = [16, 512];
/** Entries that are further apart are read one by one. */
const maxGap = 12 * 1024;
const maxBytesAhead = 1024 * 1024;
/** What belongs to an entry: its own fields before it, its items behind its offset. */
const [bytesBefore, bytesAfter] = [1024, 512];

/** Reads together what a lane gives next, from this position on. */
function readAhead(lane: Lane, position: number, step: Step): void {
  const { source, postings } = lane.run;
  const left = step > 0 ? countOf(postings) - position : position + 1;
  const low = (count: number): number => (step > 0 ? position : position - count + 1);
  let ahead = Math.min(lane.next, left);
  lane.next = Math.min(2 * lane.next, mostAhead);
  for (; ahead >= leastAhead; ahead = Math.floor(ahead / 2)) {
    const [from, to] = [offsetAt(postings, low(ahead)), offsetAt(postings, low(ahead) + ahead - 1)];
    const bytes = Math.abs(to - from);
    if (bytes > maxBytesAhead) continue;
    if (bytes <= ahead * maxGap)
      source.file.blocks.readAhead(Math.min(from, to) - bytesBefore, Math.max(from, to) + bytesAfter);
    break;
  }
  lane.ahead = ahead;
  lane.first = low(ahead);
  lane.offsets = someOffsets(postings, lane.first, lane.first + ahead);
}

type Step = 1 | -1;
const noOffsets = new Float64Array(0);

/** Goes on to the next entry that can be read, this position included. @returns whether there is one. */
function enter(lane: Lane, from: number, step: Step, ordering: Ordering): boolean {
  const { source, run } = lane;
  const count = countOf(run.postings);
  for (let position = from; position >= 0 && position < count; position += step) {
    lane.ahead -= 1;
    if (lane.ahead <= 0) readAhead(lane, position, step);
    const offset = lane.offsets[position - lane.first] ?? offsetAt(run.postings, position);
    if (!ordering.readPlace(source, offset, lane.place)) continue;
    lane.position = position;
    lane.offset = offset;
    return true;
  }
  if (run.again === undefined) return false;
  lane.run = { source, postings: run.again() };
  lane.offsets = noOffsets;
  return enter(lane, step > 0 ? count : countOf(lane.run.postings) - count - 1, step, ordering);
}

function openLane(run: Run, step: Step, ordering: Ordering): Lane | undefined {
  const { source, postings } = run;
  // Of most files nothing but this entry is wanted: nothing is read ahead.
  const lane: Lane = {
    source,
    run,
    position: 0,
    offset: 0,
    place: unknownPlace(),
    ahead: Infinity,
    next: leastAhead,
    offsets: noOffsets,
    first: 0,
  };
  if (!enter(lane, step > 0 ? 0 : countOf(postings) - 1, step, ordering)) return undefined;
  lane.ahead = 1;
  return lane;
}

/**
 * Merges files in the order of the journal, forwards or backwards, until all are given or one was enough. What cannot be
 * read is left out.
 * @param give returns whether it wants more.
 */
export function merge(
  runs: readonly Run[],
  direction: "forwards" | "backwards",
  ordering: Ordering,
  give: (found: Found) => boolean,
): void {
  const step = direction === "forwards" ? 1 : -1;
  const isBefore = (left: Lane, right: Lane): boolean => comparePlaces(left.place, right.place) * step < 0;
  let lanes = runs.flatMap((run) => openLane(run, step, ordering) ?? []);
  while (lanes.length > 0) {
    const [first, ...others] = lanes;
    if (first === undefined) return;
    let best = first;
    for (const lane of others) if (isBefore(lane, best)) best = lane;
    let second: Lane | undefined;
    for (const lane of lanes) if (lane !== best && (second === undefined || isBefore(lane, second))) second = lane;
    // Files mostly follow one another, so one of them gives many entries in a row.
    let hasMore = true;
    while (hasMore && (second === undefined || !isBefore(second, best))) {
      if (!give(best)) return;
      hasMore = enter(best, best.position + step, step, ordering);
    }
    if (!hasMore) lanes = lanes.filter((lane) => lane !== best);
  }
}
