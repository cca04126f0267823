import { dirname } from "node:path";
import type { EntryHead } from "./journal-file/entry.ts";
import { compare, isSameEntry, type Location } from "./order.ts";
import { countOf, intersection, lowerBound, offsetAt, type Postings, toOffsets } from "./postings.ts";
import type { Source, Span } from "./source.ts";

/** Whether one file continues in the sequence of the other, so that what they hold alike was written twice. */
function isContinued(left: Source, right: Source): boolean {
  const [a, b] = [left.file.header, right.file.header];
  if (a.seqnumId !== b.seqnumId) return false;
  const continues = (first: typeof a, next: typeof a): boolean =>
    first.headRealtime < first.tailRealtime && first.tailRealtime <= next.headRealtime;
  return continues(a, b) || continues(b, a);
}

/** Whether journald wrote both side by side, each entry into one of them. */
const areSideBySide = (left: Source, right: Source): boolean =>
  left.isByJournald &&
  right.isByJournald &&
  left.file.header.seqnumId === right.file.header.seqnumId &&
  dirname(left.path) === dirname(right.path);

/** Whether one may hold copies of entries of the other. */
export const mayCopy = (left: Source, right: Source): boolean =>
  left !== right && !areSideBySide(left, right) && !isContinued(left, right);

const isOfOneTime = (left: EntryHead, right: EntryHead): boolean =>
  left.realtime === right.realtime && left.monotonic === right.monotonic && left.bootId === right.bootId;

/**
 * How to tell that entries of two files are the same. journald changes the hash of some that it copies from memory to the
 * disk under new numbers of the same sequence; it copies them in their order, so that they count by their time there.
 */
export const samenessOf = (left: Source, right: Source): typeof isSameEntry =>
  left.file.header.seqnumId === right.file.header.seqnumId && dirname(left.path) !== dirname(right.path)
    ? isOfOneTime
    : isSameEntry;

export interface Held {
  readonly source: Source;
  readonly location: Location;
}

/** Which of two copies is shown: the lesser one. */
export const comparePrecedence = (left: Held, right: Held): number =>
  compare(left.location.seqnumId, right.location.seqnumId) ||
  compare(left.location.seqnum, right.location.seqnum) ||
  compare(left.source.id, right.source.id);

interface Window {
  readonly since: number;
  readonly until: number;
}

/** The times at which both files may hold the same. */
function sharedWindows(left: Source, right: Source): readonly Window[] {
  const [own, others] = [left.spans(), right.spans()];
  if (own === undefined || others === undefined) return [{ since: 0, until: Infinity }];
  const windowOf = (a: Span, b: Span): Window => ({
    since: Math.max(a.head.realtime, b.head.realtime),
    until: Math.min(a.tail.realtime, b.tail.realtime),
  });
  return own.flatMap((span) =>
    others
      .filter(({ head }) => head.bootId === span.head.bootId)
      .map((other) => windowOf(span, other))
      .filter(({ since, until }) => since <= until),
  );
}

type Heads = ReadonlyMap<number, readonly (readonly [offset: number, head: EntryHead])[]>;

/** Entries by their time; only those of given times, where they are given. */
function headsOf(source: Source, postings: Postings, among?: Heads): Heads {
  const found = new Map<number, (readonly [number, EntryHead])[]>();
  for (const offset of toOffsets(postings)) {
    const head = source.head(offset);
    if (head === undefined || (among !== undefined && !among.has(head.realtime))) continue;
    const ofTime = found.get(head.realtime);
    if (ofTime === undefined) found.set(head.realtime, [[offset, head]]);
    else ofTime.push([offset, head]);
  }
  return found;
}

/** How much longer a list must be than the other to be bisected and not read. */
const skewed = 32;

/** Offsets of what both hold, in pairs. Of several that are alike the first is the same as the first, and so on. */
function pairsIn(few: Source, many: Source, { since, until }: Window): readonly (readonly [number, number])[] {
  const isSame = samenessOf(few, many);
  const heads = headsOf(few, few.window(since, until));
  const listed = many.window(since, until);
  const isRead = heads.size * skewed > countOf(listed);
  const others = isRead ? headsOf(many, listed, heads) : undefined;
  return [...heads].flatMap(([realtime, ofTime]) => {
    const theirs = [...((others ?? headsOf(many, many.window(realtime, realtime))).get(realtime) ?? [])];
    return ofTime.flatMap(([offset, head]) => {
      const at = theirs.findIndex(([, other]) => isSame(other, head));
      const [twin] = at === -1 ? [] : theirs.splice(at, 1);
      return twin === undefined ? [] : [[offset, twin[0]] as const];
    });
  });
}

interface Known {
  /** Of which sizes and times it is known. */
  readonly state: string;
  /** Of each of both what is not shown because the other shows it. */
  readonly hidden: readonly [Float64Array, Float64Array];
}

const ascending = (offsets: Iterable<number>): Float64Array => Float64Array.from(new Set(offsets)).sort();
const none = new Float64Array(0);

function hiddenIn(left: Source, right: Source, windows: readonly Window[]): Known["hidden"] {
  const hidden: [number[], number[]] = [[], []];
  const isLeftFewer = left.all().length <= right.all().length;
  for (const window of windows) {
    for (const pair of isLeftFewer ? pairsIn(left, right, window) : pairsIn(right, left, window)) {
      const [a, b] = isLeftFewer ? pair : pair.toReversed();
      const [first, second] = [left.location(a ?? 0), right.location(b ?? 0)];
      if (first === undefined || second === undefined) continue;
      const isLeftShown = comparePrecedence({ source: left, location: first }, { source: right, location: second }) < 0;
      if (isLeftShown) hidden[1].push(b ?? 0);
      else hidden[0].push(a ?? 0);
    }
  }
  return [ascending(hidden[0]), ascending(hidden[1])];
}

/** Entries of each file that another one shows, as ascending offsets. */
export type Copies = ReadonlyMap<Source, Float64Array>;

/** Finds what several files hold, and keeps it as long as they stay as they are. */
export function createCopies(): (sources: readonly Source[]) => Copies {
  const known = new WeakMap<Source, WeakMap<Source, Known>>();
  const between = (left: Source, right: Source): Known["hidden"] => {
    if (!mayCopy(left, right)) return [none, none];
    const windows = sharedWindows(left, right);
    if (windows.length === 0) return [none, none];
    const state = JSON.stringify([left.all().length, right.all().length, windows]);
    const ofLeft = known.get(left) ?? new WeakMap<Source, Known>();
    known.set(left, ofLeft);
    const before = ofLeft.get(right);
    if (before?.state === state) return before.hidden;
    const hidden = hiddenIn(left, right, windows);
    ofLeft.set(right, { state, hidden });
    return hidden;
  };
  return (sources) => {
    const copies = new Map<Source, Float64Array>();
    const add = (source: Source, offsets: Float64Array): void => {
      if (offsets.length === 0) return;
      const others = copies.get(source);
      copies.set(source, others === undefined ? offsets : ascending([...others, ...offsets]));
    };
    for (const [position, left] of sources.entries()) {
      for (const right of sources.slice(position + 1)) {
        const [ofLeft, ofRight] = between(left, right);
        add(left, ofLeft);
        add(right, ofRight);
      }
    }
    return copies;
  };
}

/** How many of these entries other files show. */
export function countCopies(postings: Postings, hidden: Float64Array): number {
  return countOf(intersection([postings, { kind: "offsets", offsets: hidden }]));
}

export function isHidden(hidden: Float64Array | undefined, offset: number): boolean {
  if (hidden === undefined) return false;
  const offsets: Postings = { kind: "offsets", offsets: hidden };
  return offsetAt(offsets, lowerBound(offsets, offset)) === offset;
}
