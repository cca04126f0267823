import type { EntryList } from "./journal-file/entry-array.ts";

/**
 * Entries of one file that fit, as ascending offsets: either a run of a list that stays in the file, of which only what is
 * needed is read, or offsets in memory.
 */
export type Postings =
  | { readonly kind: "run"; readonly list: EntryList; readonly from: number; readonly to: number }
  | { readonly kind: "offsets"; readonly offsets: Float64Array };

export const noPostings: Postings = { kind: "offsets", offsets: new Float64Array(0) };

export const wholeList = (list: EntryList): Postings => ({ kind: "run", list, from: 0, to: list.length });

export const countOf = (postings: Postings): number =>
  postings.kind === "run" ? postings.to - postings.from : postings.offsets.length;

export const offsetAt = (postings: Postings, position: number): number =>
  postings.kind === "run" ? postings.list.at(postings.from + position) : (postings.offsets[position] ?? 0);

export const toOffsets = (postings: Postings): Float64Array =>
  postings.kind === "run" ? postings.list.slice(postings.from, postings.to) : postings.offsets;

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

export const lowerBound = (postings: Postings, offset: number): number =>
  postings.kind === "run"
    ? Math.min(Math.max(postings.list.lowerBound(offset), postings.from), postings.to) - postings.from
    : lowerBoundOf(postings.offsets, offset);

export const between = (postings: Postings, from: number, to: number): Postings =>
  postings.kind === "run"
    ? { ...postings, from: postings.from + from, to: postings.from + Math.max(from, to) }
    : { kind: "offsets", offsets: postings.offsets.subarray(from, Math.max(from, to)) };

export const within = (postings: Postings, from: number, to: number): Postings =>
  between(postings, lowerBound(postings, from), lowerBound(postings, to));

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

/** How much longer than the other a list must be to be asked by bisection and not read. */
const skewed = 32;

function intersectTwo(short: Float64Array, long: Postings): Float64Array {
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
  const other = toOffsets(long);
  let [s, o] = [0, 0];
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
  return found.subarray(0, filled);
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
