import fc from "fast-check";
import { expect, it } from "vitest";
import { unpackLz4 } from "./lz4.ts";

const limit = 1 << 20;

const sized = (size: number, block: readonly number[]): Buffer => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(size));
  return Buffer.concat([bytes, Buffer.from(block)]);
};

const lengthBytes = (length: number): readonly number[] =>
  length < 15 ? [] : [...Array.from({ length: Math.floor((length - 15) / 255) }, () => 255), (length - 15) % 255];

interface Sequence {
  readonly literals: readonly number[];
  readonly match: { readonly distance: number; readonly length: number } | undefined;
}

const token = (literals: number, match: number): number => Math.min(literals, 15) * 16 + Math.min(match, 15);

/** Writes sequences as the format says, and what they stand for. */
function written(sequences: readonly Sequence[]): { readonly block: readonly number[]; readonly content: Buffer } {
  const content: number[] = [];
  const block = sequences.flatMap(({ literals, match }) => {
    content.push(...literals);
    const start = [token(literals.length, match === undefined ? 0 : match.length - 4), ...lengthBytes(literals.length)];
    if (match === undefined) return [...start, ...literals];
    const distance = 1 + (match.distance % Math.min(content.length, 65_535));
    for (let count = 0; count < match.length; count += 1) content.push(content[content.length - distance] ?? 0);
    return [...start, ...literals, distance % 256, Math.floor(distance / 256), ...lengthBytes(match.length - 4)];
  });
  return { block, content: Buffer.from(content) };
}

const byte = fc.nat({ max: 255 });
const sequences = fc
  .tuple(
    fc.array(
      fc.record({
        literals: fc.array(byte, { minLength: 1, maxLength: 600 }),
        match: fc.record({ distance: fc.nat(), length: fc.integer({ min: 4, max: 1200 }) }),
      }),
      { maxLength: 8 },
    ),
    fc.array(byte, { minLength: 1, maxLength: 40 }),
  )
  .map(([some, last]): readonly Sequence[] => [...some, { literals: last, match: undefined }]);

it("LZ4: unpacks literals and matches of any length and distance", () => {
  fc.assert(
    fc.property(sequences, (all) => {
      const { block, content } = written(all);
      expect(unpackLz4(sized(content.length, block), limit)).toEqual(content);
    }),
    { numRuns: 200 },
  );
});

it("LZ4: refuses a size that is not that of the content", () => {
  fc.assert(
    fc.property(sequences, fc.integer({ min: -3, max: 3 }), (all, more) => {
      fc.pre(more !== 0);
      const { block, content } = written(all);
      fc.pre(content.length + more >= 0);
      expect(() => unpackLz4(sized(content.length + more, block), limit)).toThrow(RangeError);
    }),
    { numRuns: 100 },
  );
});

it("LZ4: reserves no memory for a size that no block of that length can hold", () => {
  const before = process.memoryUsage().arrayBuffers;
  for (const size of [2 ** 28, 2 ** 31, 2 ** 52]) {
    expect(() => unpackLz4(sized(size, [0x10, 0x41]), 2 ** 53)).toThrow(RangeError);
  }
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(2 ** 20);
});

it("LZ4: refuses content over the bound", () => {
  const { block, content } = written([
    { literals: [65], match: { distance: 0, length: 5_000 } },
    { literals: [66], match: undefined },
  ]);
  expect(unpackLz4(sized(content.length, block), content.length)).toEqual(content);
  expect(() => unpackLz4(sized(content.length, block), content.length - 1)).toThrow(RangeError);
});

it.each([
  ["nothing", Buffer.alloc(0)],
  ["a size alone", sized(4, [])],
  ["literals that are not there", sized(4, [0x40, 1, 2])],
  ["a length that continues at the end", sized(300, [0xf0, 255, 255])],
  ["a match before the start", sized(9, [0x10, 65, 2, 0, 0x40, 1, 2, 3, 4])],
  ["a match at distance 0", sized(9, [0x10, 65, 0, 0, 0x40, 1, 2, 3, 4])],
  ["half a distance", sized(9, [0x10, 65, 1])],
  ["no last literals", sized(5, [0x10, 65, 1, 0])],
])("LZ4: refuses %s", (_, packed) => {
  expect(() => unpackLz4(packed, limit)).toThrow(RangeError);
});

it("LZ4: throws nothing but RangeError for any bytes", () => {
  fc.assert(
    fc.property(fc.nat({ max: 5000 }), fc.array(byte, { maxLength: 200 }), (size, block) => {
      try {
        expect(unpackLz4(sized(size, block), limit)).toHaveLength(size);
      } catch (error) {
        expect(error).toBeInstanceOf(RangeError);
      }
    }),
    { numRuns: 2000 },
  );
});
