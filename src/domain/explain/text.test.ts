import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { utf8Length } from "#kernel/text.ts";
import { beginningOf, cutTo, inert, inertLines } from "./text.ts";

describe("escaped text", () => {
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
  ])("escapes %j", (text, shown) => {
    expect(inert(text)).toBe(shown);
  });

  it("leaves no control, format or separator characters", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(inert(text)).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u);
        expect(inertLines(text).replaceAll(/[\n\t]/g, "")).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u);
      }),
      { numRuns: 2000 },
    );
  });
});

describe("a text that is cut", () => {
  it("says how much it cut off, within its bound", () => {
    expect(cutTo("short", 100)).toBe("short");
    expect(cutTo(`${"ä".repeat(40)}`, 50)).toBe(`${"ä".repeat(14)}…[52 bytes cut off]`);
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.integer({ min: 40, max: 80 }), (text, most) => {
        const cut = cutTo(text, most);
        expect(utf8Length(cut)).toBeLessThanOrEqual(most);
        expect(cut === text).toBe(utf8Length(text) <= most);
      }),
    );
  });
});

describe("the start of a text", () => {
  it.each([
    ["a short text", "one\ntwo\n", ["one", "two", ""]],
    ["nothing", "", [""]],
    ["a word too long", "x".repeat(3000), ["…[3000 characters cut off]"]],
    [
      "the middle of a word",
      `${"a ".repeat(1000)}${"k".repeat(100)}`,
      [`${"a ".repeat(1000)}…[100 characters cut off]`],
    ],
    ["JSON without a space", `{"a":"${"b".repeat(3000)}"}`, ['{"a":"…[3002 characters cut off]']],
    ["the word at the very end", `${"k".repeat(2047)} x`, [`${"k".repeat(2047)} …[1 characters cut off]`]],
  ])("takes %s up to a word", (_, text, lines) => {
    expect(beginningOf(text)).toEqual(lines);
  });

  it("takes at most 250 lines", () => {
    const lines = beginningOf("\n".repeat(2000));
    expect(lines).toEqual([...Array.from({ length: 249 }, () => ""), "…[1751 characters cut off]"]);
  });

  it("never takes more than its bound, and all of a shorter text", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom("a", " ", "\n", '"', "é"), maxLength: 900 }), (text) => {
        const lines = beginningOf(text, 300);
        const [, cut = "0"] = /…\[(\d+) characters cut off\]$/.exec(lines.at(-1) ?? "") ?? [];
        const kept = lines.join("\n").replace(/…\[\d+ characters cut off\]$/, "");
        expect(kept.length).toBeLessThanOrEqual(300);
        expect(text.startsWith(kept)).toBe(true);
        expect(kept.length + Number(cut)).toBe(text.length);
      }),
    );
  });
});
