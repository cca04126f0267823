import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeRings, encodeRings } from "./index.ts";

const ring = fc
  .record({
    stepMs: fc.integer({ min: 1, max: 1_000_000 }),
    length: fc.integer({ min: 0, max: 400 }),
    newest: fc.integer({ min: 0, max: 2 ** 40 }),
    values: fc.float32Array({ maxLength: 40 }),
  })
  .map((each) => ({ ...each, values: Float32Array.from(each.values) }));

describe("kept rings", () => {
  it("are read as they were written", () => {
    fc.assert(
      fc.property(fc.array(ring, { maxLength: 3 }), (rings) => {
        expect(decodeRings(Buffer.from(encodeRings(rings)))).toEqual(rings);
      }),
    );
  });

  it("are refused where a byte differs or the end is missing", () => {
    const bytes = Buffer.from(encodeRings([{ stepMs: 10, length: 2, newest: 3, values: Float32Array.of(1, 2) }]));
    for (const at of bytes.keys()) {
      const other = Buffer.from(bytes);
      other[at] = (other[at] ?? 0) ^ 1;
      expect(() => decodeRings(other)).toThrow(/^it is /);
      expect(() => decodeRings(bytes.subarray(0, at))).toThrow(/^it is /);
    }
  });

  it("are refused, by a reason, where the file is anything else", () => {
    const head = (given: object) => Buffer.from(`${JSON.stringify({ format: "steward-rings", ...given })}\n`);
    expect(() => decodeRings(Buffer.from("SQLite format 3"))).toThrow("it is not a file of metrics");
    expect(() => decodeRings(head({ version: 2 }))).toThrow("it is of another version of Steward");
    expect(() => decodeRings(head({ version: 1, crc32: 0 }))).not.toThrow();
    expect(() => decodeRings(head({ version: 1, crc32: 1 }))).toThrow("it is damaged");
    const values = Float32Array.of(1);
    for (const wrong of [{ newest: -1 }, { length: 0.5 }, { stepMs: Number.NaN }])
      expect(() =>
        decodeRings(Buffer.from(encodeRings([{ stepMs: 1, length: 1, newest: 1, values, ...wrong }]))),
      ).toThrow("it is damaged");
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(() => decodeRings(Buffer.from(bytes))).toThrow(/^it is /);
      }),
    );
  });
});
