import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createLineSplitter } from "./line-splitter.ts";

const split = (chunks: readonly Buffer[], maxLineBytes: number) => {
  const splitter = createLineSplitter(maxLineBytes);
  return [...chunks.flatMap((chunk) => splitter.push(chunk)), ...splitter.end()].map(({ bytes, isCut }) => ({
    text: bytes.toString("latin1"),
    isCut,
  }));
};

describe("line splitter", () => {
  it("yields the same lines however the bytes are chunked", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "b", "\n"), maxLength: 60 });
    fc.assert(
      fc.property(text, fc.array(fc.nat(60)), fc.integer({ min: 1, max: 8 }), (whole, cuts, maxLineBytes) => {
        const places = [0, ...cuts.filter((cut) => cut <= whole.length).sort((a, b) => a - b), whole.length];
        const chunks = places.slice(1).map((to, index) => Buffer.from(whole.slice(places[index], to)));
        const lines = whole.split("\n");
        if (lines.at(-1) === "") lines.pop();
        expect(split(chunks, maxLineBytes)).toEqual(
          lines.map((line) => ({ text: line.slice(0, maxLineBytes), isCut: line.length > maxLineBytes })),
        );
      }),
    );
  });

  it("keeps no more of a line than its bound", () => {
    const chunks = Array.from({ length: 1000 }, () => Buffer.from("x".repeat(100)));
    expect(split([...chunks, Buffer.from("\nshort\n")], 250)).toEqual([
      { text: "x".repeat(250), isCut: true },
      { text: "short", isCut: false },
    ]);
  });
});
