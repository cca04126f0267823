import fc from "fast-check";
import { expect, it } from "vitest";
import { maxSeriesId } from "#domain/ports/check-history.ts";
import { decodeHour, decodeMinute, encodeHour, encodeMinute } from "./points.ts";

const id = fc.integer({ min: 1, max: maxSeriesId });
const value = fc.oneof(
  fc.double({ noNaN: true, min: -1e38, max: 1e38 }).map((each) => each + 0),
  fc.integer(),
  fc.integer({ min: -9999, max: 9999 }).map((each) => each / 10),
);

it("stored points of a minute keep every value, most of them in 6 bytes", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(id, value)), (entries) => {
      const points = new Map(entries);
      expect(decodeMinute(encodeMinute(points))).toEqual(points);
    }),
  );
  expect(
    encodeMinute(
      new Map([
        [1, 17.2],
        [2, 0],
        [3, 105.1],
      ]),
    ),
  ).toHaveLength(18);
  expect(encodeMinute(new Map([[1, 123_456_789.125]]))).toHaveLength(10);
});

it("stored points of an hour keep seven digits, and are decoded for the wanted series alone", () => {
  const points = new Map([
    [1, { count: 60, mean: 17.23, min: -0.1, max: 1e9 }],
    [maxSeriesId, { count: 65_535, mean: 1_234_567.89, min: 0, max: 0.1 }],
  ]);
  expect(Object.fromEntries(decodeHour(encodeHour(points)))).toEqual({
    1: { count: 60, mean: 17.23, min: -0.1, max: 1e9 },
    [maxSeriesId]: { count: 65_535, mean: 1_234_568, min: 0, max: 0.1 },
  });
  expect([...decodeHour(encodeHour(points), new Set([1])).keys()]).toEqual([1]);
});

it("stored points are decoded from any bytes without an error", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
      decodeMinute(bytes);
      decodeHour(bytes);
    }),
  );
});
