import { basename } from "node:path";
import { type Alikes, createAlikes } from "./alike.ts";
import type { Budget } from "./budget.ts";
import { createFields, type Fields } from "./fields.ts";
import { type BlockPool, DamagedJournal } from "./journal-file/blocks.ts";
import { dataOfField, entriesOf, findData, type Payload, readPayload } from "./journal-file/data.ts";
import { createEntryReader, type EntryHead, type EntryReader, type Refilled } from "./journal-file/entry.ts";
import { createEntryList, type EntryList, noEntries } from "./journal-file/entry-array.ts";
import { type JournalFile, openJournalFile } from "./journal-file/file.ts";
import { fileState } from "./journal-file/layout.ts";
import { type Location, unknownPlace } from "./order.ts";
import { countOf, noPostings, offsetAt, type Postings, sizeInMemory, wholeList } from "./postings.ts";
import { createTimeline, firstPosition, type Timeline } from "./time-window.ts";

export interface Span {
  readonly head: Location;
  readonly tail: Location;
}

/** Takes numbers of entries, and what they were counted by. */
export type AddCounts = (key: string, numbers: readonly number[]) => void;

export interface Source {
  /** Where it was found last: journald renames files. */
  path: string;
  /** Empty for the default one. */
  readonly namespace: string;
  readonly id: string;
  readonly file: JournalFile;
  /** By its name. */
  readonly isByJournald: boolean;
  readonly entries: EntryReader;
  readonly fields: Fields;
  readonly alikes: Alikes;
  readonly refresh: () => boolean;
  readonly all: () => EntryList;
  readonly entriesWith: (pair: string) => Postings;
  /** What was made for a term of an earlier query, until the file has grown. */
  readonly entriesOfTerm: (term: string, make: () => Postings) => Postings;
  /** Counts, or gives what was counted for an earlier query, until the file has grown. */
  readonly countsOfTerm: (term: string, count: (add: AddCounts) => void, add: AddCounts) => void;
  readonly valuesOf: (name: string) => Iterable<number>;
  /** The bytes of a data object, `NAME=value`, until the next read of the file; undefined when they cannot be read. */
  readonly payloadOf: (dataOffset: number) => Payload | undefined;
  readonly entriesOf: (dataOffset: number) => EntryList;
  /** Offsets of an entry's data objects, written into `items`. @returns how many; none where it cannot be read. */
  readonly readItems: (offset: number, items: number[]) => number;
  readonly window: (since: number, until: number) => Postings;
  /** The runs of entries in which time goes forwards, one for each boot; undefined where the file has none. */
  readonly spans: () => readonly Span[] | undefined;
  /** The time by which an entry is ordered in a file that has no spans: not before those of all entries that precede it. */
  readonly timestampOf: (offset: number, realtime: number) => number;
  /**
   * Among these: position of the first entry for which the test holds, given that it holds for all after it. The test says
   * nothing of one that cannot be read.
   */
  readonly firstWhere: (postings: Postings, test: (offset: number) => boolean | undefined) => number;
  readonly head: (offset: number) => EntryHead | undefined;
  readonly location: (offset: number) => Location | undefined;
  /** @returns false where it cannot be read. */
  readonly readLocation: (offset: number, into: Refilled<Location>) => boolean;
  readonly onDamage: (error: DamagedJournal) => void;
  readonly faults: () => number;
  /** What is wrong with it, as far as it was read; undefined: nothing. */
  readonly damage: () => string | undefined;
  /** Takes what another thread has found wrong with it. */
  readonly noteDamage: (what: string) => void;
  readonly close: () => void;
}

const writtenByJournald = /^(system|user-\d+)(@[0-9a-f]+-[0-9a-f]+-[0-9a-f]+)?\.journal$/;

/** Bytes of a kept list of entries, beside the characters of its pair: some lists have many segments. */
const pairBytes = 512;
/** Counts of a term are kept where they are not more, and what each takes. */
const [maxTermCounts, countBytes] = [4096, 256];
/** Of a term at most so many entries are kept. */
const maxTermEntries = 16_384;

function createDamageReport(file: JournalFile, report: (what: string) => void) {
  let faults = 0;
  let damage: string | undefined;
  const noteDamage = (what: string): void => {
    damage ??= what;
    report(what);
  };
  const onDamage = (error: DamagedJournal): void => {
    faults += 1;
    // journald empties files before it deletes them: nothing is wrong with those.
    if (file.isLinked()) noteDamage(error.message);
  };
  const isDamage = (error: unknown): error is DamagedJournal => {
    if (!(error instanceof DamagedJournal)) return false;
    onDamage(error);
    return true;
  };
  const readable = <T>(read: () => T, otherwise: T): T => {
    try {
      return read();
    } catch (error) {
      if (!isDamage(error)) throw error;
      return otherwise;
    }
  };
  return { faults: () => faults, damage: () => damage, noteDamage, onDamage, isDamage, readable };
}

function createSpans(
  { runs }: Pick<Timeline, "runs">,
  locationAt: (position: number) => Location | undefined,
): Source["spans"] {
  let spanned: ReturnType<typeof runs>;
  let spans: readonly Span[] | undefined;
  const readableFrom = (position: number, end: number, step: 1 | -1): Location | undefined => {
    for (let at = position; at !== end; at += step) {
      const found = locationAt(at);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  return () => {
    const current = runs();
    if (current === spanned) return spans;
    spans = current?.flatMap(({ first, end }) => {
      const [head, tail] = [readableFrom(first, end, 1), readableFrom(end - 1, first - 1, -1)];
      return head === undefined || tail === undefined ? [] : [{ head, tail }];
    });
    spanned = current;
    return spans;
  };
}

/** Entries by `NAME=value`, kept until the file has grown; where the value is, for good. */
function createPairs(file: JournalFile, budget: Budget, entriesAt: Source["entriesOf"]) {
  const offsets = new Map<string, number>();
  const lists = new Map<string, Postings>();
  const terms = new Map<string, Postings>();
  const counts = new Map<string, readonly Parameters<AddCounts>[]>();
  const share = budget.share(() => {
    offsets.clear();
    lists.clear();
    terms.clear();
    counts.clear();
  });
  return {
    find(pair: string): Postings {
      const known = lists.get(pair);
      if (known !== undefined) return known;
      const offset = offsets.get(pair) ?? findData(file, Buffer.from(pair));
      const found = offset === undefined ? noPostings : wholeList(entriesAt(offset));
      share.take(pairBytes + 2 * pair.length);
      lists.set(pair, found);
      if (offset !== undefined) offsets.set(pair, offset);
      return found;
    },
    ofTerm(term: string, make: () => Postings): Postings {
      const known = terms.get(term);
      if (known !== undefined) return known;
      const made = make();
      const size = sizeInMemory(made);
      if (size > maxTermEntries) return made;
      share.take(pairBytes + 2 * term.length + 8 * size);
      // Without the space that was left when it was made.
      const compact: Postings = made.kind === "offsets" ? { kind: "offsets", offsets: made.offsets.slice() } : made;
      terms.set(term, compact);
      return compact;
    },
    countsOfTerm(term: string, count: (add: AddCounts) => void, add: AddCounts): void {
      const known = counts.get(term);
      if (known !== undefined) {
        for (const row of known) add(...row);
        return;
      }
      // They continue one by one, since of some files there are very many.
      const made: Parameters<AddCounts>[] = [];
      count((...row) => {
        if (made.length <= maxTermCounts) made.push(row);
        add(...row);
      });
      if (made.length > maxTermCounts) return;
      const size = made.reduce((bytes, [key]) => bytes + countBytes + 2 * key.length, 0);
      share.take(pairBytes + 2 * term.length + size);
      counts.set(term, made);
    },
    refresh() {
      lists.clear();
      terms.clear();
      counts.clear();
    },
    close: share.end,
  };
}

/**
 * Whether the last entry is linked to the last of its fields. journald counts an entry first, then links it to its fields in
 * their order, and the header no longer changes: what was read before says nothing of the entry.
 */
function isLastLinked(list: EntryList, itemsOf: (offset: number) => readonly number[], entriesAt: Source["entriesOf"]) {
  if (list.length === 0) return true;
  const last = list.at(list.length - 1);
  const item = itemsOf(last).at(-1);
  const linked = item === undefined ? noEntries : entriesAt(item);
  return linked.length > 0 && linked.at(linked.length - 1) >= last;
}

function createLocations(file: JournalFile, entries: EntryReader, isDamage: (error: unknown) => boolean) {
  const readLocation = (offset: number, into: Refilled<Location>): boolean => {
    try {
      entries.readHead(offset, into);
    } catch (error) {
      if (!isDamage(error)) throw error;
      return false;
    }
    into.seqnumId = file.header.seqnumId;
    return true;
  };
  const location = (offset: number): Location | undefined => {
    const found = unknownPlace();
    return readLocation(offset, found) ? found : undefined;
  };
  return { location, readLocation };
}

/** @throws NotAJournal, or the system's error. */
export function openSource(
  { path, namespace }: Pick<Source, "path" | "namespace">,
  pool: BlockPool & { readonly nextFileKey: () => number },
  budget: Budget,
  damaged: (path: string, what: string) => void,
): Source {
  const file = openJournalFile(path, pool);
  const { onDamage, isDamage, readable, ...reported } = createDamageReport(file, (what) => damaged(source.path, what));
  const entries = createEntryReader(file);
  const fields = createFields(file, budget, isDamage);
  const alikes = createAlikes(budget);
  let list: EntryList | undefined;
  let isLinked = false;
  const pairs = createPairs(file, budget, (offset) => entriesOf(file, offset, onDamage));

  const all = (): EntryList => {
    if (list !== undefined) return list;
    const { entryArrayOffset, entries: length } = file.header;
    list = createEntryList(file, { leading: undefined, arrayOffset: entryArrayOffset, length, onDamage });
    return list;
  };

  const valuesOf = function* (name: string): Generator<number> {
    try {
      yield* dataOfField(file, name);
    } catch (error) {
      if (!isDamage(error)) throw error;
    }
  };

  const entriesAt = (offset: number): EntryList => readable(() => entriesOf(file, offset, onDamage), noEntries);

  const itemsOf = (offset: number): readonly number[] => {
    const items: number[] = [];
    return items.slice(
      0,
      readable(() => entries.items(offset, items), 0),
    );
  };

  const { location, readLocation } = createLocations(file, entries, isDamage);
  const isByJournald = writtenByJournald.test(basename(path));
  const timeline = createTimeline({
    all,
    realtimeOf: (offset) => readable(() => entries.realtime(offset), undefined),
    firstOfBoots: () => [...valuesOf("_BOOT_ID")].map((offset) => entriesAt(offset).at(0)),
    isByJournald,
  });
  const source: Source = {
    path,
    namespace,
    id: file.header.fileId.toString("hex"),
    file,
    isByJournald,
    entries,
    fields,
    alikes,
    onDamage,
    ...reported,
    refresh() {
      const isChanged = file.refresh();
      if (isChanged || !isLinked) {
        if (!isChanged) file.blocks.forget();
        list = undefined;
        pairs.refresh();
        isLinked = file.header.state === fileState.archived || isLastLinked(all(), itemsOf, entriesAt);
      }
      return isChanged;
    },
    all,
    entriesWith: (pair) => readable(() => pairs.find(pair), noPostings),
    entriesOfTerm: (term, make) => pairs.ofTerm(term, make),
    countsOfTerm: (...counting) => pairs.countsOfTerm(...counting),
    valuesOf,
    payloadOf: (offset) => readable(() => readPayload(file, offset), undefined),
    entriesOf: entriesAt,
    readItems: (offset, items) => readable(() => entries.items(offset, items), 0),
    window: timeline.window,
    spans: createSpans(timeline, (position) => location(all().at(position))),
    timestampOf(offset, realtime) {
      const latest = timeline.latest(offset);
      return latest > realtime ? latest + 0.5 : realtime;
    },
    firstWhere: (postings, test) => firstPosition(countOf(postings), (position) => test(offsetAt(postings, position))),
    head: location,
    location,
    readLocation,
    close() {
      fields.close();
      alikes.close();
      pairs.close();
      file.close();
    },
  };
  return source;
}
