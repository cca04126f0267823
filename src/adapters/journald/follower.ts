import type { LiveEntry } from "#domain/logs/ports.ts";
import type { Found, Run } from "./merge.ts";
import { merge } from "./merge.ts";
import type { Location } from "./order.ts";
import { compareLocations } from "./order.ts";
import { between, offsetAt, wholeList } from "./postings.ts";
import type { Registry } from "./registry.ts";
import { createLiveReader } from "./render.ts";
import type { Source } from "./source.ts";

/** What is read at once; the rest comes with the next pull. */
const maxEntries = 256;
const maxCharacters = 1024 * 1024;

/** A moment by both clocks of the kernel, in microseconds: since the epoch, and since this boot. */
export interface Moment {
  readonly realtime: number;
  readonly monotonic: number;
  readonly bootId: string;
}

/** Where the stream begins: after an entry, or with what this boot writes after a moment. */
export type Start = { readonly after: Location } | { readonly moment: Moment };

/** Reads what is new in the journal, each entry once. */
export interface Follower {
  /** The next entries; none when there is nothing new. */
  readonly next: () => readonly LiveEntry[];
  /** Before one of the files can no longer be read: passes in the others what was copied from it and has been given. */
  readonly passCopies: (sources: readonly Source[]) => void;
}

interface Place {
  /** Position in the file of the first entry that was not given yet. */
  position: number;
}

const noId = "0".repeat(32);

/**
 * Position of the very entry in a file, be it a copy under another sequence number. Many entries may be of one
 * microsecond, and stand there in the order of their sequence.
 */
function twinOf(source: Source, at: Location): number | undefined {
  const list = wholeList(source.all());
  const ofMoment = ({ xorHigh, xorLow }: Location): Location => ({ ...at, xorHigh, xorLow });
  const { seqnumId } = source.file.header;
  for (
    let position = source.firstWhere(list, (found) => compareLocations(found, ofMoment(found)) >= 0);
    position < source.all().length;
    position += 1
  ) {
    const head = source.head(offsetAt(list, position));
    if (head === undefined) continue;
    const found = { ...head, seqnumId };
    if (compareLocations(found, at) === 0) return position;
    if (compareLocations(found, ofMoment(found)) !== 0) return undefined;
  }
  return undefined;
}

/**
 * Follows the journal by a position in every file, so that nothing is given twice or left out whatever the order in which
 * files grow, and a client may pull as slowly as it likes.
 */
export function createFollower(registry: Pick<Registry, "refresh">, start: Start): Follower {
  const places = new Map<string, Place>();
  const read = createLiveReader();
  /** Entries of a file that comes later count as new beyond this one: it may hold copies of what was given already. */
  let last: Location =
    "after" in start ? start.after : { ...start.moment, seqnumId: noId, seqnum: 0, xorHigh: 0, xorLow: 0 };

  const placeOf = (source: Source): Place => {
    const known = places.get(source.id);
    if (known !== undefined) return known;
    const twin = twinOf(source, last);
    const list = wholeList(source.all());
    const place = {
      position: twin === undefined ? source.firstWhere(list, (found) => compareLocations(found, last) > 0) : twin + 1,
    };
    places.set(source.id, place);
    return place;
  };

  const tailOf = (source: Source): Location | undefined => {
    const list = source.all();
    for (let position = list.length - 1; position >= placeOf(source).position; position -= 1) {
      const head = source.head(list.at(position));
      if (head !== undefined) return { ...head, seqnumId: source.file.header.seqnumId };
    }
    return undefined;
  };

  /** What is there already is not new, whatever the wall clock was when it was written. */
  const skipPresent = ({ bootId, monotonic }: Moment): void => {
    for (const source of registry.refresh()) {
      const isNew = (found: Location): boolean => found.bootId === bootId && found.monotonic > monotonic;
      places.set(source.id, { position: source.firstWhere(wholeList(source.all()), isNew) });
    }
  };
  if ("moment" in start) skipPresent(start.moment);

  const forgetGone = (sources: readonly Source[]): void => {
    const present = new Set(sources.map(({ id }) => id));
    for (const id of [...places.keys()]) if (!present.has(id)) places.delete(id);
  };

  /**
   * Files are looked at one after the other, and meanwhile journald writes: the last one may show an entry while the first
   * one did not yet show the entry before it. So they are looked at twice, and what the second look adds waits unless it
   * comes before something that the first has seen.
   */
  const fresh = (): { readonly runs: readonly Run[]; readonly isDue: (found: Found) => boolean } | undefined => {
    const seen = new Map<string, number>();
    let latest: Location | undefined;
    for (const source of registry.refresh()) {
      seen.set(source.id, source.all().length);
      if (source.all().length <= placeOf(source).position) continue;
      const tail = tailOf(source);
      // None of them can be read.
      if (tail === undefined) placeOf(source).position = source.all().length;
      else if (latest === undefined || compareLocations(latest, tail) < 0) latest = tail;
    }
    if (latest === undefined) return undefined;
    const upTo = latest;
    const sources = registry.refresh();
    forgetGone(sources);
    const runs = sources.map((source) => {
      const list = wholeList(source.all());
      return { source, postings: between(list, placeOf(source).position, source.all().length) };
    });
    return {
      runs,
      isDue: ({ source, head }) =>
        placeOf(source).position < (seen.get(source.id) ?? 0) ||
        compareLocations({ ...head, seqnumId: source.file.header.seqnumId }, upTo) <= 0,
    };
  };

  const holdsAsGiven = (other: Source, at: Location): boolean => {
    const twin = twinOf(other, at);
    return twin !== undefined && twin < placeOf(other).position;
  };

  /** Where the last copies were copied from: mostly all are from one file. */
  let original: Source | undefined;

  /** Whether another file holds the entry and has given it, or held it when the stream began. */
  const isCopyOfGiven = ({ source, head }: Found, runs: readonly Run[]): boolean => {
    const at = { ...head, seqnumId: source.file.header.seqnumId };
    // What is of a later moment than the last entry cannot have been given.
    const { xorHigh, xorLow } = at;
    if (compareLocations(at, { ...last, xorHigh, xorLow }) > 0) return false;
    const others = runs.flatMap((run) => (run.source === source ? [] : [run.source]));
    const isKnown = original !== undefined && others.includes(original) && holdsAsGiven(original, at);
    if (!isKnown) original = others.find((other) => holdsAsGiven(other, at));
    return original !== undefined;
  };

  const pass = ({ source, offset }: Found): void => {
    const place = placeOf(source);
    const list = source.all();
    // What cannot be read was left out between the last one and this.
    while (place.position < list.length && list.at(place.position) !== offset) place.position += 1;
    place.position += 1;
  };

  return {
    passCopies(sources) {
      const runs = sources.map((source) => ({ source, postings: wholeList(source.all()) }));
      for (const source of sources) {
        const place = placeOf(source);
        const list = source.all();
        for (; place.position < list.length; place.position += 1) {
          const offset = list.at(place.position);
          const head = source.head(offset);
          if (head !== undefined && !isCopyOfGiven({ source, offset, head }, runs)) break;
        }
      }
    },
    next() {
      const news = fresh();
      if (news === undefined) return [];
      const entries: LiveEntry[] = [];
      let characters = 0;
      for (const found of merge(news.runs, "forwards", pass)) {
        if (!news.isDue(found)) break;
        if (isCopyOfGiven(found, news.runs)) {
          pass(found);
          continue;
        }
        const entry = read(found);
        pass(found);
        last = { ...found.head, seqnumId: found.source.file.header.seqnumId };
        entries.push(entry);
        characters += entry.entry.message.length;
        if (entries.length >= maxEntries || characters >= maxCharacters) break;
      }
      return entries;
    },
  };
}
