import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  between,
  countOf,
  intersection,
  lowerBound,
  offsetAt,
  type Postings,
  toOffsets,
  union,
  unionOfParts,
  within,
} from "./postings.ts";

const postings = (offsets: readonly number[]): Postings => ({
  kind: "offsets",
  offsets: Float64Array.from(new Set(offsets)).sort(),
});
const offset = fc.integer({ min: 1, max: 6000 }).map((number) => number * 8);
const lists = fc.array(fc.array(offset, { maxLength: 2000, size: "max" }), { maxLength: 4 });
/** Lists that have nothing in common. */
const apart = lists.map((all) => all.map((list, at) => list.map((each) => each * all.length + at * 8)));

describe("postings", () => {
  it.each([
    ["that may overlap", lists],
    ["apart", apart],
  ])("of parts answer as merged ones do, of lists %s", (_, arbitrary) => {
    fc.assert(
      fc.property(arbitrary, offset, offset, fc.array(offset), fc.nat(), fc.nat(), (all, a, b, other, x, y) => {
        const [merged, parts] = [union(all.map(postings)), unionOfParts(all.map(postings))];
        const plain = [...toOffsets(merged)];
        const count = plain.length;
        expect(countOf(parts)).toBe(count);
        expect([...toOffsets(parts)]).toEqual(plain);
        const [from, to] = [Math.min(a, b), Math.max(a, b)];
        expect(lowerBound(parts, a)).toBe(lowerBound(merged, a));
        expect([...toOffsets(within(parts, from, to))]).toEqual(plain.filter((each) => each >= from && each < to));
        const others = postings([...other, ...plain.filter((_each, at) => at % 50 === 0)]);
        expect([...toOffsets(intersection([parts, others]))]).toEqual([...toOffsets(intersection([merged, others]))]);
        if (count === 0) return;
        const [first, end] = [x % count, y % (count + 1)];
        expect([...toOffsets(between(parts, first, end))]).toEqual(plain.slice(first, Math.max(first, end)));
        expect(offsetAt(parts, first)).toBe(plain[first]);
        expect(plain.map((_each, at) => offsetAt(parts, count - 1 - at))).toEqual(plain.toReversed());
      }),
      { numRuns: 60 },
    );
  });

  it.each([
    ["beside one another", 8],
    ["far apart", 80_000],
  ])("are not merged where they are disjoint or one has all: entries %s", (_, gap) => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 4 }), { minLength: 2, maxLength: 3000, size: "max" }), (owners) => {
        const listOf = (owner?: number): Postings =>
          postings(owners.flatMap((each, at) => (owner === undefined || each === owner ? [(at + 1) * gap] : [])));
        const apart = [0, 1, 2, 3, 4].map(listOf).filter((list) => countOf(list) > 0);
        const all = listOf();
        expect(unionOfParts(apart).kind).toBe(apart.length > 1 ? "parts" : "offsets");
        expect(countOf(unionOfParts(apart))).toBe(owners.length);
        if (apart.length > 1) expect(unionOfParts([...apart.slice(0, 2), all])).toBe(all);
      }),
      { numRuns: 60 },
    );
  });
});
