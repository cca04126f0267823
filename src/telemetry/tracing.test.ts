import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatTraceparent, parseTraceparent } from "./tracing.ts";

const traceId = "0af7651916cd43dd8448eb211c80319c";
const spanId = "b7ad6b7169203331";

const digits = (length: number) =>
  fc
    .string({ unit: fc.constantFrom(..."0123456789abcdef".split("")), minLength: length, maxLength: length })
    .filter((text) => !/^0+$/.test(text));
const parents = fc.record({ traceId: digits(32), spanId: digits(16), isSampled: fc.boolean() });

describe("a traceparent", () => {
  it("is read as it was written", () => {
    fc.assert(
      fc.property(parents, (parent) => {
        expect(parseTraceparent(formatTraceparent(parent))).toEqual(parent);
      }),
    );
  });

  it("has the form of the specification, with further flags and later versions", () => {
    expect(formatTraceparent({ traceId, spanId, isSampled: true })).toBe(`00-${traceId}-${spanId}-01`);
    expect(formatTraceparent({ traceId, spanId, isSampled: false })).toBe(`00-${traceId}-${spanId}-00`);
    expect(parseTraceparent(`00-${traceId}-${spanId}-fe`)).toEqual({ traceId, spanId, isSampled: false });
    expect(parseTraceparent(`00-${traceId}-${spanId}-ff`)).toEqual({ traceId, spanId, isSampled: true });
    expect(parseTraceparent(`cc-${traceId}-${spanId}-01-what-comes`)).toEqual({ traceId, spanId, isSampled: true });
  });

  it.each([
    "",
    "00",
    `00-${traceId}-${spanId}`,
    `00-${traceId}-${spanId}-1`,
    `00-${traceId}-${spanId}-01-`,
    `00-${traceId}-${spanId}-01-more`,
    `cc-${traceId}-${spanId}-01.more`,
    `ff-${traceId}-${spanId}-01`,
    `00-${traceId.toUpperCase()}-${spanId}-01`,
    `00-${"0".repeat(32)}-${spanId}-01`,
    `00-${traceId}-${"0".repeat(16)}-01`,
    `00-${traceId}-${spanId}-01, 00-${traceId}-${spanId}-01`,
    ` 00-${traceId}-${spanId}-01`,
    `00-${traceId}-${spanId}-01\n`,
    `00_${traceId}_${spanId}_01`,
  ])("is not %j", (text) => {
    expect(parseTraceparent(text)).toBeUndefined();
  });

  it("is whole or nothing: with any one character changed it is another one, or none", () => {
    const text = formatTraceparent({ traceId, spanId, isSampled: true });
    const at = fc.integer({ min: 0, max: text.length - 1 });
    fc.assert(
      fc.property(at, fc.string({ minLength: 1, maxLength: 1 }), (index, character) => {
        const changed = `${text.slice(0, index)}${character}${text.slice(index + 1)}`;
        const parsed = parseTraceparent(changed);
        if (parsed === undefined) return;
        expect(changed).toMatch(/^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/);
        expect(changed.slice(3, 52)).toBe(`${parsed.traceId}-${parsed.spanId}`);
      }),
    );
  });
});
