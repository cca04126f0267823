import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { citedIn, strangeIn, unsupportedIn } from "./citations.ts";

const citable = { lines: 10, calls: 3 };

describe("citations", () => {
  it.each([
    ["It failed [L3].", ["L3"], []],
    ["[L7] came before [L3], as [L7] says", ["L7", "L3"], []],
    ["see [L1, L4] and [L2; L6][l5]", ["L1", "L4", "L2", "L6", "L5"], []],
    ["from [L2-L4] on, or [L2\u20134]", ["L2", "L3", "L4"], []],
    ["[L0] [L10] [L11] [L9999]", ["L10"], ["L0", "L11", "L9999"]],
    ["[L8-L400]", ["L8", "L9", "L10"], ["L400"]],
    ["[L12345] [L100001] [L999999999999, C00013]", [], ["L12345", "L100001", "L999999999999", "C13"]],
    ["from [C1-L3] on", ["C1", "L3"], []],
    ["the call [C2] says so, and [C1, L4, 5] too [C4]", ["C2", "C1", "L4", "L5"], ["C4"]],
    ["L3 (L4) [3] [LL] [L] [link](L5) [L5a] [C] [CC]", [], []],
    ["", [], []],
  ])("are read in %j", (text, cited, strange) => {
    expect(citedIn(text, citable)).toEqual(cited);
    expect(strangeIn(text, citable)).toEqual(strange);
  });

  it("are of nothing that does not exist, and of nothing twice", () => {
    const piece = fc.oneof(
      fc.constantFrom("[L", "[C", "]", "-", ",", "L", "[", " "),
      fc.nat(99_999).map(String),
      fc.string(),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), fc.nat(100), fc.nat(20), (pieces, lines, calls) => {
        const cited = citedIn(pieces.join(""), { lines, calls });
        expect(new Set(cited).size).toBe(cited.length);
        for (const each of cited) {
          const at = Number(each.slice(1));
          expect(at >= 1 && at <= (each.startsWith("L") ? lines : calls)).toBe(true);
        }
      }),
      { numRuns: 2000 },
    );
  });
});

describe("sentences without evidence", () => {
  it.each([
    ["A port is taken [L1]. Apache has it.", ["Apache has it."]],
    ["A port is taken. [L1] Apache has it. [C2]", []],
    ["A port is taken. [L1] Apache has it.", ["Apache has it."]],
    ["It was updated [L99].", ["It was updated [L99]."]],
    ["# What is wrong\n\nNext steps:\n- Look at the log [L1]\n- Stop apache2", ["Stop apache2"]],
    ["1. Restart it.\n2) Look at e.g. the unit [C1].", ["Restart it."]],
    ["Run this:\n```\nsystemctl stop apache2 now\n```\nIs the port free?", []],
    ["Yes. No.", []],
    ["The version is 1.2.3 of nginx. It fails [L2]!", ["The version is 1.2.3 of nginx."]],
    [
      "\u7aef\u53e3\u88ab\u5360\u7528\u3002\u670d\u52a1\u5931\u8d25\u4e86[L1]\u3002",
      ["\u7aef\u53e3\u88ab\u5360\u7528\u3002"],
    ],
  ])("are found in %j", (text, sentences) => {
    expect(unsupportedIn(text, citable)).toEqual(sentences);
  });

  it("are found in any text in a time that its length bounds", () => {
    const hostile = fc.array(fc.constantFrom("[L1]", "[L", ". ", " ", "A", "```", "\n", "- ", "!"), {
      maxLength: 3000,
    });
    fc.assert(
      fc.property(hostile, (pieces) => {
        const text = pieces.join("");
        for (const sentence of unsupportedIn(text, citable)) expect(text).toContain(sentence);
      }),
      { numRuns: 50 },
    );
    expect(unsupportedIn("a".repeat(1_000_000), citable)).toEqual([]);
    expect(unsupportedIn(`So it is.${" [L1]".repeat(50_000)}`, citable)).toEqual([]);
  });
});
