import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { utf8Length } from "#kernel/text.ts";
import { cutTo, inert, inertLines } from "./text.ts";

describe("inert", () => {
  it.each([
    ["two\nlines\r\tmore", "two\\nlines\\r\\tmore"],
    ["\u001b[31mred\u001b[0m", "\\u{001b}[31mred\\u{001b}[0m"],
    ["a\u0000b\u0007\u009b", "a\\u{0000}b\\u{0007}\\u{009b}"],
    ["\u202eexe.txt\u2066\u200f", "\\u{202e}exe.txt\\u{2066}\\u{200f}"],
    ["a\u2028b\u2029\u0085", "a\\u{2028}b\\u{2029}\\u{0085}"],
    ["zero\u200bwidth\ufeff", "zero\\u{200b}width\\u{feff}"],
    ["tags \u{e0041}\u{e0042}", "tags \\u{e0041}\\u{e0042}"],
    ["half \ud83d!", "half \\u{d83d}!"],
    ["kept: äöü 漢字 😀 \ufffd \\n", "kept: äöü 漢字 😀 \ufffd \\n"],
  ])("writes %j out", (text, shown) => {
    expect(inert(text)).toBe(shown);
  });

  it("leaves nothing that acts", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(inert(text)).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u);
        expect(inertLines(text).replaceAll(/[\n\t]/g, "")).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u);
      }),
      { numRuns: 2000, seed: 6 },
    );
  });
});

describe("cutTo", () => {
  it("says how much it cut off, and stays within its bounds", () => {
    expect(cutTo("short", 100)).toBe("short");
    expect(cutTo(`${"ä".repeat(40)}`, 50)).toBe(`${"ä".repeat(14)}…[52 bytes cut off]`);
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.integer({ min: 40, max: 80 }), (text, most) => {
        const cut = cutTo(text, most);
        expect(utf8Length(cut)).toBeLessThanOrEqual(most);
        expect(cut === text).toBe(utf8Length(text) <= most);
      }),
      { numRuns: 1000, seed: 6 },
    );
  });
});
