import { comparePrecedence, mayCopy, samenessOf } from "./copies.ts";
import type { Refilled } from "./journal-file/entry.ts";
import { isSameEntry, type Location, type Place, unknownPlace } from "./order.ts";
import { countOf, offsetAt } from "./postings.ts";
import type { Source, Span } from "./source.ts";

export interface Ordering {
  readonly place: (source: Source, offset: number) => Place | undefined;
  /** @returns false where the entry cannot be read. */
  readonly readPlace: (source: Source, offset: number, into: Refilled<Place>) => boolean;
  /** The place of an entry that a cursor names: where it is shown, or where it would be. */
  readonly locate: (location: Location) => Place;
  readonly twin: (source: Source, offset: number, other: Source) => number | undefined;
  readonly find: (source: Source, location: Location) => number | undefined;
}

/** What comes after a time to which the clock was set back lies between that microsecond and the next. */
const justAfter = (timestamp: number): number => Math.floor(timestamp) + 0.5;

/** Ends of spans that are followed, by this number, by something that has an earlier time. */
function overtaken(spans: readonly Span[], number: "monotonic" | "seqnum"): readonly Location[] {
  const byHead = spans.toSorted((left, right) => left.head[number] - right.head[number]);
  const byTail = spans.toSorted((left, right) => right.tail[number] - left.tail[number]);
  let position = byHead.length;
  let earliest = Number.POSITIVE_INFINITY;
  return byTail.flatMap(({ tail }) => {
    for (let last = byHead[position - 1]; last && last.head[number] > tail[number]; last = byHead[position - 1]) {
      earliest = Math.min(earliest, last.head.realtime);
      position -= 1;
    }
    return earliest < tail.realtime ? [tail] : [];
  });
}

/**
 * By which time an entry is ordered: its own, unless the clock was set back before it was written. How entries follow each
 * other then the time since boot decides within a boot, and the sequence number from boot to boot.
 */
function timestampsOf(spans: readonly Span[]): (location: Location) => number {
  const jumps = new Map<string, readonly Location[]>();
  for (const [boot, ofBoot] of Map.groupBy(spans, ({ head }) => head.bootId)) {
    const found = ofBoot.length > 1 ? overtaken(ofBoot, "monotonic") : [];
    if (found.length > 0) jumps.set(boot, found);
  }
  /** Times before which nothing of a boot can have been written. */
  const starts = new Map<string, number>();

  const timestampOf = (location: Location): number => {
    let timestamp = Math.max(location.realtime, starts.get(location.bootId) ?? 0);
    for (const { monotonic, realtime } of jumps.get(location.bootId) ?? []) {
      if (monotonic < location.monotonic && realtime >= timestamp) timestamp = justAfter(realtime);
    }
    return timestamp;
  };

  const sequences = [...Map.groupBy(spans, ({ head }) => head.seqnumId).values()].flatMap((ofSequence) => {
    const tails = ofSequence.length > 1 ? overtaken(ofSequence, "seqnum") : [];
    return tails.length > 0 || jumps.size > 0 ? [{ ofSequence, tails: new Set(tails) }] : [];
  });
  // A boot that begins later makes others begin later that follow it, until there are no more.
  for (let isChanged = sequences.some(({ tails }) => tails.size > 0); isChanged; ) {
    isChanged = false;
    for (const { ofSequence, tails } of sequences) {
      for (const { tail } of ofSequence) {
        if (!tails.has(tail) && !starts.has(tail.bootId)) continue;
        for (const { head } of ofSequence) {
          if (head.bootId === tail.bootId || head.seqnum <= tail.seqnum) continue;
          const start = justAfter(timestampOf(tail));
          if (start <= timestampOf(head)) continue;
          starts.set(head.bootId, start);
          isChanged = true;
        }
      }
    }
  }
  return jumps.size === 0 && starts.size === 0 ? ({ realtime }) => realtime : timestampOf;
}

export function createOrdering(sources: readonly Source[]): Ordering {
  const timestampOf = timestampsOf(sources.flatMap((source) => source.spans() ?? []));

  const readPlace = (source: Source, offset: number, into: Refilled<Place>): boolean => {
    if (!source.readLocation(offset, into)) return false;
    into.timestamp = source.spans() === undefined ? source.timestampOf(offset, into.realtime) : timestampOf(into);
    return true;
  };

  const place = (source: Source, offset: number): Place | undefined => {
    const found = unknownPlace();
    return readPlace(source, offset, found) ? found : undefined;
  };

  const sameIn = function* (source: Source, location: Location, isSame = isSameEntry): Generator<number> {
    const { realtime, bootId } = location;
    const spans = source.spans();
    const mayHold = ({ head, tail }: Span): boolean =>
      head.bootId === bootId && head.realtime <= realtime && realtime <= tail.realtime;
    if (spans !== undefined && !spans.some(mayHold)) return;
    const found = source.window(realtime, realtime);
    for (let position = 0; position < countOf(found); position += 1) {
      const offset = offsetAt(found, position);
      const head = source.head(offset);
      if (head !== undefined && isSame(head, location)) yield offset;
    }
  };

  const twin = (source: Source, offset: number, other: Source): number | undefined => {
    const location = source.location(offset);
    if (location === undefined || !mayCopy(source, other)) return undefined;
    const isSame = samenessOf(source, other);
    const twins = sameIn(other, location, isSame);
    let { value, done } = twins.next();
    if (done === true) return undefined;
    // The second of two that are alike is the same as the second there.
    for (const alike of sameIn(source, location, isSame)) {
      if (alike >= offset || done === true) break;
      ({ value, done } = twins.next());
    }
    return done === true ? undefined : value;
  };

  const exact = (source: Source, location: Location): number | undefined => {
    if (source.file.header.seqnumId !== location.seqnumId) return undefined;
    for (const offset of sameIn(source, location)) if (source.head(offset)?.seqnum === location.seqnum) return offset;
    return undefined;
  };

  const holderOf = (location: Location): { readonly source: Source; readonly offset: number } | undefined => {
    for (const source of sources) {
      const offset = exact(source, location);
      if (offset !== undefined) return { source, offset };
    }
    return undefined;
  };

  const find = (source: Source, location: Location): number | undefined => {
    const own = exact(source, location);
    if (own !== undefined) return own;
    const holder = holderOf(location);
    return holder === undefined ? sameIn(source, location).next().value : twin(holder.source, holder.offset, source);
  };

  return {
    place,
    readPlace,
    find,
    twin,
    locate(location) {
      const holder = holderOf(location);
      const places = sources.flatMap((source) => {
        const offset =
          holder === undefined
            ? sameIn(source, location).next().value
            : source === holder.source
              ? holder.offset
              : twin(holder.source, holder.offset, source);
        const at = offset === undefined ? undefined : place(source, offset);
        return at === undefined ? [] : [{ source, location: at }];
      });
      return places.toSorted(comparePrecedence)[0]?.location ?? { ...location, timestamp: timestampOf(location) };
    },
  };
}
