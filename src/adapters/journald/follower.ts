import type { LiveEntry } from "#domain/ports/journal.ts";
import { type Found, merge, type Run } from "./merge.ts";
import { comparePlaces, type Location, type Place } from "./order.ts";
import { createOrdering, type Ordering } from "./ordering.ts";
import { between, lowerBound, wholeList } from "./postings.ts";
import type { Registry } from "./registry.ts";
import { createLiveReader } from "./render.ts";
import type { Source } from "./source.ts";

const maxEntries = 256;
const maxCharacters = 1024 * 1024;

export interface Timestamp {
  readonly realtime: number;
  readonly monotonic: number;
  readonly bootId: string;
}

export type Start = { readonly after: Location } | { readonly timestamp: Timestamp };

/** Reads what is new in the journal, each entry once. */
export interface Follower {
  readonly next: () => readonly LiveEntry[];
  /** Before one of the files can no longer be read: passes in the others what was copied from it and has been given. */
  readonly passCopies: (sources: readonly Source[]) => void;
}

interface Progress {
  position: number;
}

interface State {
  readonly registry: Pick<Registry, "refresh">;
  readonly progress: Map<string, Progress>;
  /** Entries of a file that comes later count as new beyond this one: it may hold copies of what was given already. */
  last: Location;
  /** Where the last copies were copied from: mostly all are from one file. */
  original: Source | undefined;
}

interface Added {
  readonly runs: readonly Run[];
  readonly ordering: Ordering;
  readonly isDue: (found: Found) => boolean;
}

const noId = "0".repeat(32);

function progressIn({ progress, last }: State, source: Source, ordering: Ordering): Progress {
  const known = progress.get(source.id);
  if (known !== undefined) return known;
  const list = wholeList(source.all());
  const same = ordering.find(source, last);
  const from = ordering.locate(last);
  const isNew = (offset: number): boolean | undefined => {
    const place = ordering.place(source, offset);
    return place && comparePlaces(place, from) > 0;
  };
  const started = { position: same === undefined ? source.firstWhere(list, isNew) : lowerBound(list, same) + 1 };
  progress.set(source.id, started);
  return started;
}

function tailOf(state: State, source: Source, ordering: Ordering): Place | undefined {
  const list = source.all();
  for (let position = list.length - 1; position >= progressIn(state, source, ordering).position; position -= 1) {
    const place = ordering.place(source, list.at(position));
    if (place !== undefined) return place;
  }
  return undefined;
}

/** What is there already is not new, whatever the wall clock was when it was written. */
function skipPresent({ registry, progress }: State, { bootId, monotonic }: Timestamp): void {
  for (const source of registry.refresh("*")) {
    const isNew = (offset: number): boolean | undefined => {
      const head = source.head(offset);
      return head && head.bootId === bootId && head.monotonic > monotonic;
    };
    progress.set(source.id, { position: source.firstWhere(wholeList(source.all()), isNew) });
  }
}

function look(
  state: State,
  sources: readonly Source[],
): { readonly seen: ReadonlyMap<string, number>; readonly upTo?: Place } {
  const seen = new Map(sources.map((source) => [source.id, source.all().length]));
  const grown = sources.filter(({ id }) => (seen.get(id) ?? 0) > (state.progress.get(id)?.position ?? -1));
  // Mostly nothing is new, and then no order is needed.
  if (grown.length === 0) return { seen };
  const ordering = createOrdering(sources);
  let upTo: Place | undefined;
  for (const source of grown) {
    const tail = tailOf(state, source, ordering);
    if (tail === undefined) progressIn(state, source, ordering).position = source.all().length;
    else if (upTo === undefined || comparePlaces(upTo, tail) < 0) upTo = tail;
  }
  return { seen, ...(upTo !== undefined && { upTo }) };
}

/**
 * Files are inspected one after the other, and meanwhile journald writes: the last one may show an entry while the first
 * one did not yet show the entry before it. So they are inspected twice, and what the second look adds waits unless it
 * comes before something that the first has seen.
 */
function fresh(state: State): Added | undefined {
  const { registry, progress } = state;
  const { seen, upTo } = look(state, registry.refresh("*"));
  if (upTo === undefined) return undefined;
  const sources = registry.refresh("*");
  const present = new Set(sources.map(({ id }) => id));
  for (const id of [...progress.keys()]) if (!present.has(id)) progress.delete(id);
  const ordering = createOrdering(sources);
  const runs = sources.map((source) => {
    const list = wholeList(source.all());
    return { source, postings: between(list, progressIn(state, source, ordering).position, source.all().length) };
  });
  return {
    runs,
    ordering,
    isDue: ({ source, place }) =>
      progressIn(state, source, ordering).position < (seen.get(source.id) ?? 0) || comparePlaces(place, upTo) <= 0,
  };
}

/** Whether another file holds the entry and has given it, or held it when the stream began. */
function isCopyOfGiven(
  state: State,
  { source, offset }: Pick<Found, "source" | "offset">,
  sources: readonly Source[],
  ordering: Ordering,
): boolean {
  const holdsAsGiven = (other: Source): boolean => {
    const same = ordering.twin(source, offset, other);
    return same !== undefined && lowerBound(wholeList(other.all()), same) < progressIn(state, other, ordering).position;
  };
  const { original } = state;
  if (original === undefined || !sources.includes(original) || !holdsAsGiven(original)) {
    state.original = sources.find(holdsAsGiven);
  }
  return state.original !== undefined;
}

function pass(state: State, { source, offset }: Found, ordering: Ordering): void {
  const reached = progressIn(state, source, ordering);
  const list = source.all();
  // What cannot be read was left out between the last one and this.
  while (reached.position < list.length && list.at(reached.position) !== offset) reached.position += 1;
  reached.position += 1;
}

function passCopies(state: State, sources: readonly Source[]): void {
  const ordering = createOrdering(sources);
  for (const source of sources) {
    const reached = progressIn(state, source, ordering);
    const list = source.all();
    for (; reached.position < list.length; reached.position += 1) {
      const offset = list.at(reached.position);
      if (source.head(offset) !== undefined && !isCopyOfGiven(state, { source, offset }, sources, ordering)) break;
    }
  }
}

function next(state: State, read: ReturnType<typeof createLiveReader>): readonly LiveEntry[] {
  const added = fresh(state);
  if (added === undefined) return [];
  const { runs, ordering, isDue } = added;
  const sources = runs.map(({ source }) => source);
  let reached = ordering.locate(state.last);
  const entries: LiveEntry[] = [];
  let characters = 0;
  merge(runs, "forwards", ordering, (found) => {
    if (!isDue(found)) return false;
    // What is of a later time than the last entry cannot have been given.
    if (found.place.timestamp <= reached.timestamp && isCopyOfGiven(state, found, sources, ordering)) {
      pass(state, found, ordering);
      return true;
    }
    const entry = read(found);
    pass(state, found, ordering);
    // One that comes late does not take the stream back: what is before the last entry may have been given.
    if (comparePlaces(reached, found.place) < 0) {
      reached = { ...found.place };
      state.last = reached;
    }
    entries.push(entry);
    characters += entry.entry.message.length;
    return entries.length < maxEntries && characters < maxCharacters;
  });
  return entries;
}

/**
 * Follows the journal by a position in every file, so that nothing is given twice or left out whatever the order in which
 * files grow, and a client may pull as slowly as it likes.
 */
export function createFollower(registry: Pick<Registry, "refresh">, start: Start): Follower {
  const last: Location =
    "after" in start
      ? start.after
      : { ...start.timestamp, realtimeRest: 0, seqnumId: noId, seqnum: 0, xorHigh: 0, xorLow: 0 };
  const state: State = { registry, progress: new Map(), last, original: undefined };
  if ("timestamp" in start) skipPresent(state, start.timestamp);
  const read = createLiveReader();
  return { passCopies: (sources) => passCopies(state, sources), next: () => next(state, read) };
}
