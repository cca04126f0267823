import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { segmentsOf } from "./citations.ts";

const none = { cited: [], invalid_citations: [], unsupported: [] };
const linksOf = (answer: string, given: Record<string, string[]>) =>
  segmentsOf(answer, { ...none, ...given })
    .flat()
    .flatMap(({ text, to }) => (to === undefined ? [] : [[text, to]]));

describe("the citations of an answer", () => {
  it("lead to entries in the order of their first mention, to calls by their ids, and nowhere where nothing is", () => {
    const answer = "It failed [L7], since [L3, C1].\nThen [C2] [L7][L99] and [c1].";
    expect(linksOf(answer, { cited: ["s=a", "s=b", "C1", "C2"], invalid_citations: ["L99"] })).toEqual([
      ["L7", { entry: "s=a" }],
      ["L3", { entry: "s=b" }],
      ["C1", { call: "C1" }],
      ["C2", { call: "C2" }],
      ["L7", { entry: "s=a" }],
      ["L99", "nothing"],
      ["c1", { call: "C1" }],
    ]);
  });

  it("of a range lead to its first, and those behind it to the right ones", () => {
    expect(linksOf("[L2-L4], [L3], [L9]", { cited: ["s=2", "s=3", "s=4", "s=9"] })).toEqual([
      ["L2-L4", { entry: "s=2" }],
      ["L3", { entry: "s=3" }],
      ["L9", { entry: "s=9" }],
    ]);
  });

  it("lead nowhere behind a range that ends beyond what there is", () => {
    expect(linksOf("[L1] [L2-L40] [L5]", { cited: ["s=1", "s=2", "s=3"], invalid_citations: ["L40"] })).toEqual([
      ["L1", { entry: "s=1" }],
    ]);
  });
});

describe("sentences of an answer without evidence", () => {
  it("are marked, in items of lists too", () => {
    const answer = "1. It is full [L1]. It will stay so.\nSo be it.";
    const marked = segmentsOf(answer, { ...none, cited: ["s=1"], unsupported: ["It will stay so.", "So be it."] });
    expect(
      marked.map((line) => line.map(({ text, isUnsupported }) => (isUnsupported ? `<${text}>` : text)).join("")),
    ).toEqual(["1. It is full [L1]. <It will stay so.>", "<So be it.>"]);
  });

  it("take nothing away from the answer, whatever it is", () => {
    const piece = fc.constantFrom("[L1]", "[L2-L9]", "[C1, L3]", "A b. ", "\n", "[", "word ", "L4", "]");
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), fc.subarray(["A b.", "word"]), (pieces, unsupported) => {
        const answer = pieces.join("");
        const cited = ["s=1", "C1", "s=2"];
        const lines = segmentsOf(answer, { cited, invalid_citations: ["L9"], unsupported });
        expect(lines.map((line) => line.map(({ text }) => text).join("")).join("\n")).toBe(answer);
      }),
      { numRuns: 500 },
    );
  });
});
