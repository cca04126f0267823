import type { EntryHead } from "./journal-file/entry.ts";
import type { Location } from "./order.ts";
import { compareLocations } from "./order.ts";
import type { Postings } from "./postings.ts";
import { countOf, offsetAt } from "./postings.ts";
import type { Source } from "./source.ts";

const isOfMoment = (left: Location, right: Location): boolean =>
  left.monotonic === right.monotonic && left.realtime === right.realtime && left.bootId === right.bootId;

/** Entries of one file that are to be merged with those of others. */
export interface Run {
  readonly source: Source;
  readonly postings: Postings;
}

/** An entry in its file. */
export interface Found {
  readonly source: Source;
  readonly offset: number;
  readonly head: EntryHead;
}

interface Lane {
  readonly run: Run;
  /** Position of the present entry. */
  position: number;
  offset: number;
  at: Location;
}

/**
 * Merges files in the order of the journal, forwards or backwards, and stops being asked when it has given enough. What
 * two files both hold comes once, as journalctl has it, be it that journald copied it from /run to /var under another
 * sequence number; what cannot be read is left out.
 * @param onCopy is told of an entry that is left out because another file has given it.
 */
export function* merge(
  runs: readonly Run[],
  direction: "forwards" | "backwards",
  onCopy: (found: Found) => void = () => {},
): Generator<Found> {
  const step = direction === "forwards" ? 1 : -1;
  const isBefore = (left: Lane, right: Lane): boolean => compareLocations(left.at, right.at) * step < 0;

  /** The nearest readable entry from a position on. */
  const enter = (run: Run, from: number, lane?: Lane): Lane | undefined => {
    const count = countOf(run.postings);
    for (let position = from; position >= 0 && position < count; position += step) {
      const offset = offsetAt(run.postings, position);
      const head = run.source.head(offset);
      if (head === undefined) continue;
      const at = { ...head, seqnumId: run.source.file.header.seqnumId };
      if (lane === undefined) return { run, position, offset, at };
      lane.position = position;
      lane.offset = offset;
      lane.at = at;
      return lane;
    }
    return undefined;
  };

  let lanes = runs.flatMap((run) => enter(run, step > 0 ? 0 : countOf(run.postings) - 1) ?? []);
  /** What was given of the present microsecond: within it the files have an order that others do not. */
  const sameMoment: Location[] = [];
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
      const found = { source: run.source, offset, head: at };
      if (sameMoment[0] !== undefined && !isOfMoment(sameMoment[0], at)) sameMoment.length = 0;
      if (sameMoment.some((given) => compareLocations(given, at) === 0)) onCopy(found);
      else {
        sameMoment.push(at);
        yield found;
      }
      current = enter(current.run, current.position + step, current);
    }
    if (current === undefined) lanes = lanes.filter((lane) => lane !== best);
  }
}
