import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { citedLines } from "./text.ts";

describe("citedLines", () => {
  it.each([
    ["It failed [L3].", [3]],
    ["[L7] came before [L3], as [L7] says", [7, 3]],
    ["see [L1, L4] and [L2; L6][l5]", [1, 4, 2, 6, 5]],
    ["from [L2-L4] on, or [L2–4]", [2, 3, 4]],
    ["[L0] [L10] [L11] [L9999]", [10]],
    ["[L8-L400]", [8, 9, 10]],
    ["L3 (L4) [3] [LL] [L] [link](L5) [L5a]", []],
    ["", []],
  ])("reads %j", (text, lines) => {
    expect(citedLines(text, 10)).toEqual(lines);
  });

  it("names nothing that was not sent, and nothing twice, whatever the text", () => {
    const piece = fc.oneof(
      fc.constantFrom("[L", "]", "-", ",", "L", "[", " "),
      fc.nat(99_999).map(String),
      fc.string(),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), fc.nat(100), (pieces, count) => {
        const lines = citedLines(pieces.join(""), count);
        expect(new Set(lines).size).toBe(lines.length);
        for (const line of lines) expect(line >= 1 && line <= count).toBe(true);
      }),
      { numRuns: 2000, seed: 6 },
    );
  });
});
