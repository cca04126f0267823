import type { EntryList } from "./journal-file/entry-array.ts";

/** So many entries of parts are merged at a time. */
const pieceLength = 1024;

type Simple =
  | { readonly kind: "run"; readonly list: EntryList; readonly from: number; readonly to: number }
  | { readonly kind: "offsets"; readonly offsets: Float64Array };

/** What has no entry in common, and is merged only where it is inspected. */
interface Parts {
  readonly kind: "parts";
  readonly parts: readonly Simple[];
  readonly count: number;
  readonly memory: { ends?: readonly [first: number, last: number]; start: number; piece: Float64Array };
}

/**
 * Entries of one file that fit, as ascending offsets: either a run of a list that stays in the file, of which only what is
 * needed is read, or offsets in memory, or several of those.
 */
export type Postings = Simple | Parts;

export const noPostings: Simple = { kind: "offsets", offsets: new Float64Array(0) };

export const wholeList = (list: EntryList): Postings => ({ kind: "run", list, from: 0, to: list.length });

/** How many entries, or lists of them, are held in memory. */
export function sizeInMemory(postings: Postings): number {
  if (postings.kind === "parts") return postings.parts.reduce((sum, part) => sum + sizeInMemory(part), pieceLength);
  return postings.kind === "offsets" ? postings.offsets.length : 64;
}

const none = new Float64Array(0);
function partsOf(all: readonly Simple[]): Postings {
  const parts = all.filter((part) => countOf(part) > 0);
  const [only = noPostings, ...others] = parts;
  if (others.length === 0) return only;
  const count = parts.reduce((sum, part) => sum + countOf(part), 0);
  return { kind: "parts", parts, count, memory: { start: 0, piece: none } };
}

export function countOf(postings: Postings): number {
  switch (postings.kind) {
    case "run":
      return postings.to - postings.from;
    case "offsets":
      return postings.offsets.length;
    case "parts":
      return postings.count;
  }
}

export function offsetAt(postings: Postings, position: number): number {
  switch (postings.kind) {
    case "run":
      return postings.list.at(postings.from + position);
    case "offsets":
      return postings.offsets[position] ?? 0;
    case "parts":
      return offsetAmong(postings, position);
  }
}

/** Some of them, read together as far as they can be. */
export function someOffsets(postings: Postings, from: number, to: number): Float64Array {
  if (postings.kind === "parts")
    return Float64Array.from({ length: to - from }, (_, at) => offsetAt(postings, from + at));
  return toOffsets(betweenSimple(postings, from, to));
}

function endsOf({ parts, memory }: Parts): readonly [first: number, last: number] {
  memory.ends ??= [
    Math.min(...parts.map((part) => offsetAt(part, 0))),
    Math.max(...parts.map((part) => offsetAt(part, countOf(part) - 1))),
  ];
  return memory.ends;
}

function offsetAmong(postings: Parts, position: number): number {
  const { parts, memory } = postings;
  const [first, last] = endsOf(postings);
  if (position === 0) return first;
  if (position < memory.start || position >= memory.start + memory.piece.length) {
    if (position === countOf(postings) - 1) return last;
    memory.start = position - (position % pieceLength);
    // The greatest offset that so many entries precede.
    let [from, to] = [first / 8, last / 8];
    while (from < to) {
      const middle = Math.ceil((from + to) / 2);
      if (lowerBound(postings, middle * 8) <= memory.start) from = middle;
      else to = middle - 1;
    }
    const pieces = parts.map((part) => {
      const at = lowerBound(part, from * 8);
      return between(part, at, Math.min(at + pieceLength, countOf(part)));
    });
    memory.piece = toOffsets(union(pieces)).subarray(0, pieceLength);
  }
  return memory.piece[position - memory.start] ?? 0;
}

export function toOffsets(postings: Postings): Float64Array {
  switch (postings.kind) {
    case "run":
      return postings.list.slice(postings.from, postings.to);
    case "offsets":
      return postings.offsets;
    case "parts":
      return toOffsets(union(postings.parts));
  }
}

function lowerBoundOf(offsets: Float64Array, offset: number): number {
  let from = 0;
  let to = offsets.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if ((offsets[middle] ?? 0) < offset) from = middle + 1;
    else to = middle;
  }
  return from;
}

export function lowerBound(postings: Postings, offset: number): number {
  switch (postings.kind) {
    case "run":
      return Math.min(Math.max(postings.list.lowerBound(offset), postings.from), postings.to) - postings.from;
    case "offsets":
      return lowerBoundOf(postings.offsets, offset);
    case "parts": {
      const [first, last] = endsOf(postings);
      if (offset <= first) return 0;
      if (offset > last) return postings.count;
      return postings.parts.reduce((sum, part) => sum + lowerBound(part, offset), 0);
    }
  }
}

export function betweenSimple(postings: Simple, from: number, to: number): Simple {
  return postings.kind === "run"
    ? { ...postings, from: postings.from + from, to: postings.from + Math.max(from, to) }
    : { kind: "offsets", offsets: postings.offsets.subarray(from, Math.max(from, to)) };
}

export function between(postings: Postings, from: number, to: number): Postings {
  if (postings.kind !== "parts") return betweenSimple(postings, from, to);
  const count = countOf(postings);
  if (to <= from) return noPostings;
  if (from === 0 && to === count) return postings;
  return within(postings, offsetAt(postings, from), to === count ? Infinity : offsetAt(postings, to));
}

export function within(postings: Postings, from: number, to: number): Postings {
  return mapParts(postings, (part) => betweenSimple(part, lowerBound(part, from), lowerBound(part, to)));
}

/** Takes a run of each part. */
export const mapParts = (postings: Postings, cut: (part: Simple) => Simple): Postings =>
  postings.kind === "parts" ? partsOf(postings.parts.map(cut)) : cut(postings);

function mergeTwo(left: Float64Array, right: Float64Array): Float64Array {
  const merged = new Float64Array(left.length + right.length);
  let [l, r, filled] = [0, 0, 0];
  while (l < left.length && r < right.length) {
    const a = left[l] ?? 0;
    const b = right[r] ?? 0;
    merged[filled] = Math.min(a, b);
    filled += 1;
    if (a <= b) l += 1;
    if (b <= a) r += 1;
  }
  if (l < left.length) {
    merged.set(left.subarray(l), filled);
    filled += left.length - l;
  }
  if (r < right.length) {
    merged.set(right.subarray(r), filled);
    filled += right.length - r;
  }
  return merged.subarray(0, filled);
}

export function union(all: readonly Postings[]): Postings {
  const lists = all.filter((each) => countOf(each) > 0);
  const [only] = lists;
  if (only === undefined) return noPostings;
  if (lists.length === 1) return only;
  let round = lists.map(toOffsets);
  while (round.length > 1) {
    // The short ones first, and in pairs, so that no entry is moved often.
    round.sort((left, right) => left.length - right.length);
    const next: Float64Array[] = [];
    for (let index = 0; index < round.length; index += 2) {
      const [left, right] = [round[index], round[index + 1]];
      if (left !== undefined) next.push(right === undefined ? left : mergeTwo(left, right));
    }
    round = next;
  }
  return { kind: "offsets", offsets: round[0] ?? new Float64Array(0) };
}

/** Entries of the longest list up to which the others are compared with it at a time: little is in memory then. */
const countedAtOnce = 16_384;

/** Of how many bytes of a file there is a mark for each place at which an entry can begin: 8 MiB of marks. */
const maxMarkedBytes = 512 * 1024 * 1024;
/** Entries that are further apart than so many bytes are too few to be marked. */
const maxMarkedGap = 4096;

/** Marks the entries one list after another, so that nothing needs to be sorted. */
function countMarked(lists: readonly Postings[], first: number, last: number): number {
  const marks = new Int32Array(((last - first) >>> 8) + 1);
  let count = 0;
  const markAll = (offsets: Float64Array): void => {
    for (const offset of offsets) {
      const place = (offset - first) >>> 3;
      const before = marks[place >>> 5] ?? 0;
      const after = before | (1 << (place & 31));
      if (after === before) continue;
      marks[place >>> 5] = after;
      count += 1;
    }
  };
  for (const list of lists) {
    for (const part of simpleOf(list)) {
      for (let from = 0; from < countOf(part); from += comparedAtOnce) markAll(piece(part, from));
    }
  }
  return count;
}

function countMerged(lists: readonly Postings[]): number {
  const longest = longestOf(lists);
  let count = 0;
  for (let at = 0; at < countOf(longest); at += countedAtOnce) {
    const from = at === 0 ? 0 : offsetAt(longest, at);
    const to = at + countedAtOnce < countOf(longest) ? offsetAt(longest, at + countedAtOnce) : Infinity;
    count += countOf(union(lists.map((each) => within(each, from, to))));
  }
  return count;
}

/** How many entries the lists have, of which there are so many, each counted once. */
function countDistinct(lists: readonly Postings[], sum: number): number {
  const first = Math.min(...lists.map((each) => offsetAt(each, 0)));
  const last = Math.max(...lists.map((each) => offsetAt(each, countOf(each) - 1)));
  const isDense = last - first < Math.min(maxMarkedBytes, sum * maxMarkedGap);
  return isDense ? countMarked(lists, first, last) : countMerged(lists);
}

const simpleOf = (postings: Postings): readonly Simple[] => (postings.kind === "parts" ? postings.parts : [postings]);
const longestOf = (lists: readonly Postings[]): Postings =>
  lists.reduce((long, each) => (countOf(each) > countOf(long) ? each : long), lists[0] ?? noPostings);

/** The same as `union`, but takes the lists as they are as far as they have nothing in common. */
export function unionOfParts(all: readonly Postings[]): Postings {
  const lists = all.filter((each) => countOf(each) > 0);
  if (lists.length < 2) return lists[0] ?? noPostings;
  const sum = lists.reduce((count, each) => count + countOf(each), 0);
  const longest = longestOf(lists);
  const count = countDistinct(lists, sum);
  if (count === sum) return partsOf(lists.flatMap(simpleOf));
  return count === countOf(longest) ? longest : union(lists);
}

/** How much longer than the other a list must be to be asked by bisection and not read. */
const skewed = 32;

function intersectTwo(short: Float64Array, long: Postings): Float64Array {
  if (long.kind === "parts") {
    return toOffsets(union(long.parts.map((part) => ({ kind: "offsets", offsets: intersectTwo(short, part) }))));
  }
  const found = new Float64Array(short.length);
  let filled = 0;
  if (short.length * skewed < countOf(long)) {
    const length = countOf(long);
    for (const offset of short) {
      const at = lowerBound(long, offset);
      if (at < length && offsetAt(long, at) === offset) {
        found[filled] = offset;
        filled += 1;
      }
    }
    return found.subarray(0, filled);
  }
  const length = countOf(long);
  let s = 0;
  for (let from = 0; from < length && s < short.length; from += comparedAtOnce) {
    const other = piece(long, from);
    let o = 0;
    while (s < short.length && o < other.length) {
      const a = short[s] ?? 0;
      const b = other[o] ?? 0;
      if (a === b) {
        found[filled] = a;
        filled += 1;
      }
      if (a <= b) s += 1;
      if (b <= a) o += 1;
    }
  }
  return found.subarray(0, filled);
}

const comparedAtOnce = 8192;
const compared = new Float64Array(comparedAtOnce);

/** Entries from a position on, as many as are compared at once, until the next call. */
function piece(postings: Simple, from: number): Float64Array {
  const to = Math.min(from + comparedAtOnce, countOf(postings));
  if (postings.kind === "offsets") return postings.offsets.subarray(from, to);
  const count = postings.list.read(postings.from + from, compared.subarray(0, to - from));
  return compared.subarray(0, count);
}

export function intersection(all: readonly Postings[]): Postings {
  const [first, ...others] = [...all].sort((left, right) => countOf(left) - countOf(right));
  if (first === undefined || countOf(first) === 0) return noPostings;
  if (others.length === 0) return first;
  let offsets = toOffsets(first);
  for (const other of others) {
    if (offsets.length === 0) break;
    offsets = intersectTwo(offsets, other);
  }
  return { kind: "offsets", offsets };
}
