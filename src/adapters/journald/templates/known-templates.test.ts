import { describe, expect, it } from "vitest";
import type { EntryList } from "../journal-file/entry-array.ts";
import type { Source } from "../source.ts";
import { positionsOf } from "./known-templates.ts";

function listOf(offsets: readonly number[]): EntryList {
  return {
    length: offsets.length,
    at: (position) => offsets[position] ?? 0,
    slice: (from, to) => Float64Array.from(offsets.slice(from, to)),
    // By halves, as in a file.
    lowerBound(offset) {
      let [low, high] = [0, offsets.length];
      while (low < high) {
        const middle = (low + high) >>> 1;
        if ((offsets[middle] ?? 0) < offset) low = middle + 1;
        else high = middle;
      }
      return low;
    },
  } as EntryList;
}

describe("positions of entries", () => {
  const damaged = Array.from({ length: 200 }, (_, at) => (at === 100 ? 2 ** 40 : (at + 1) * 64));
  const source = { all: () => listOf(damaged) } as unknown as Source;

  it.each([
    ["many", damaged.flatMap((_, at) => (at !== 100 && at % 3 === 0 ? [at] : []))],
    ["few", [7, 99, 101, 130, 199]],
  ])("are found in a list that damage has brought out of order: %s", (_, wanted) => {
    const offsets = Float64Array.from(wanted, (at) => damaged[at] ?? 0);
    const { at } = positionsOf(source, { kind: "offsets", offsets }, false);
    expect(wanted.map((__, index) => at(index))).toEqual(wanted);
    const missing = positionsOf(source, { kind: "offsets", offsets: Float64Array.of(65) }, false);
    expect(missing.at(0)).toBe(damaged.length);
  });
});
