import fc from "fast-check";
import { expect, it } from "vitest";
import { createOffsetTable } from "./offset-table.ts";

const offsets = fc.nat({ max: 4000 }).map((number) => (number + 1) * 8);

it("a table of offsets holds what a map holds, as long as it has room", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(offsets, fc.nat()), { maxLength: 3000 }), (pairs) => {
      const table = createOffsetTable(14);
      const map = new Map<number, number>();
      for (const [offset, value] of pairs) {
        expect(table.set(offset, value)).toBe(true);
        map.set(offset, value);
      }
      for (let offset = 8; offset <= 4001 * 8; offset += 8) expect(table.get(offset)).toBe(map.get(offset) ?? -1);
    }),
    { numRuns: 30 },
  );
});

it("a full table of offsets starts again, and reports it", () => {
  const table = createOffsetTable(4);
  const kept = Array.from({ length: 9 }, (_, index) => table.set((index + 1) * 8, index));
  expect(kept).toEqual([true, true, true, true, true, true, true, true, false]);
  expect(table.get(8)).toBe(-1);
  expect(table.get(72)).toBe(8);
});

it("a table of offsets ignores offsets that it cannot hold", () => {
  const table = createOffsetTable(4);
  table.set(2 ** 35, 1);
  expect([table.get(2 ** 35), table.get(2 ** 35 + 8), table.get(8)]).toEqual([-1, -1, -1]);
});
