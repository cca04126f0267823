import * as fc from "fast-check";
import { expect, it } from "vitest";
import { parseTimestamp } from "./clock.ts";

it.each([
  ["2026-01-31T12:00:00Z", "2026-01-31T12:00:00.000Z"],
  ["2026-01-31t12:00:00.123456z", "2026-01-31T12:00:00.123Z"],
  ["2026-01-31T12:00:00+02:00", "2026-01-31T10:00:00.000Z"],
  ["2024-02-29T00:00:00-23:59", "2024-02-29T23:59:00.000Z"],
  ["2016-12-31T23:59:60Z", "2017-01-01T00:00:00.000Z"],
])("the timestamp %s is parsed", (text, expected) => {
  expect(new Date(parseTimestamp(text) ?? Number.NaN).toISOString()).toBe(expected);
});

it.each([
  ...["", "now", "2026-01-31", "2026-01-31 12:00:00Z", "2026-01-31T12:00:00", "2026-02-29T00:00:00Z"],
  ...["2026-13-01T00:00:00Z", "2026-00-10T00:00:00Z", "2026-01-00T00:00:00Z", "2026-01-01T24:00:00Z"],
  ...["2026-01-01T00:60:00Z", "2026-01-01T00:00:61Z", "2026-01-01T00:00:00+24:00", "2026-01-01T00:00:00+0100"],
  ...["2026-01-01T00:00:00.Z", "１026-01-01T00:00:00Z", " 2026-01-01T00:00:00Z"],
])("the timestamp %j is refused", (text) => {
  expect(parseTimestamp(text)).toBeUndefined();
});

it("every ISO timestamp is parsed", () => {
  fc.assert(
    fc.property(
      fc.date({ min: new Date("0001-01-01T00:00:00Z"), max: new Date("9999-12-31T23:59:59Z"), noInvalidDate: true }),
      (date) => {
        expect(parseTimestamp(date.toISOString())).toBe(date.getTime());
      },
    ),
  );
});
