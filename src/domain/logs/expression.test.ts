import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { expressions, texts } from "../../../test/journals/random-expressions.ts";
import { createAutomaton } from "./automaton.ts";
import { compileExpression } from "./expression.ts";
import { ExpressionUnsupported, readExpression, toJavaScript } from "./expression-tree.ts";

/** V8 finds `\\B` between the halves of a pair, where by the standard nothing with the flag `v` can match. */
const isJudged = (source: string, sample: string): boolean => !(source.includes("\\B") && /[^\0-\uffff]/u.test(sample));

/** Undefined where the expression is refused. */
function treeOf(text: string): ReturnType<typeof readExpression> | undefined {
  try {
    return readExpression(text);
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof ExpressionUnsupported) return undefined;
    throw error;
  }
}

describe("a search expression", () => {
  it("matches the same by the automaton and by the engine of the language", () => {
    let compared = 0;
    fc.assert(
      fc.property(expressions, fc.array(texts, { minLength: 1 }), (text, samples) => {
        const tree = treeOf(text);
        if (tree === undefined) return;
        const source = toJavaScript(tree);
        const native = new RegExp(source, "v");
        const automaton = createAutomaton(tree);
        const compiled = compileExpression(text);
        for (const sample of samples.filter((each) => isJudged(source, each))) {
          const expected = [text, sample, native.test(sample)];
          expect([text, sample, automaton.test(sample)]).toEqual(expected);
          expect([text, sample, compiled.test(sample)]).toEqual(expected);
          compared += 1;
        }
      }),
      { numRuns: 2_000 },
    );
    expect(compared).toBeGreaterThan(1_000);
  });

  // What is in ASCII alone, journal-differential.test.ts compares with journalctl.
  it.each([
    ["a\\hb", ["a\u00a0b"], ["ahb"]],
    ["^a\\Rb$", ["a\u2028b"], ["aRb"]],
    ["\\pL\\pN", ["ä1", "x2"], ["pLpN", "11"]],
    ["\\p{Lu}", ["Ä"], ["ä"]],
    ["ä|ü", ["ä"], ["Ä"]],
    ["😀{2}", ["😀😀"], ["😀"]],
  ] as const)("means to characters beyond ASCII what it means to PCRE2: %s", (text, found, missed) => {
    const { test } = compileExpression(text);
    expect([found.filter((each) => !test(each)), missed.filter(test)]).toEqual([[], []]);
  });

  it.each([
    ["a{,3}", /versions of PCRE2 differ/],
    ["\\xe4", /write the character itself/],
    ["\\377", /write the character itself/],
    ["\\X", /not supported/],
    ["\\u0041", /not supported \(write the number of a character as \\x\{41\}\)/],
    ["[\\w-.]", /write \\- for a dash/],
    ["[a-\\d]", /write \\- for a dash/],
    ["(*UTF)a", /Verbs/],
    ["(?m)^a", /Modifiers other than/],
    ["a++", /Possessive/],
    ["(?>a)", /Groups other than/],
    ["\\y", /Invalid escape \\y/],
    ["[[:nope:]]", /Unknown class/],
    ["[[.a.]]", /Collating/],
    ["\\p{Nope}", /Unknown property/],
    ["[a", /Unterminated character class/],
    ["(a", /Unterminated group/],
    ["a)", /Unmatched/],
    ["*", /Nothing to repeat/],
    ["[b-a]", /out of order/],
    ["a\\", /at end of pattern/],
  ])("is refused with the reason: %s", (text, reason) => {
    expect(() => compileExpression(text)).toThrow(reason);
  });

  it.each(["(a)\\1", "\\1(a)", "(?<n>a)\\k<n>", "a(?=b)", "a(?!b)", "(?<=a)b", "(?<!a)b", "(x(?=y)z)*"])(
    "is refused where its time has no bound: %s",
    (text) => {
      expect(() => compileExpression(text)).toThrow(/not supported: their time has no bound \(leave them out\)/);
    },
  );

  it.each([
    "(a{1,1000}){1,1000}",
    "(?:(?:a{99}){99}){99}",
    "a{100000}",
    "(?:){1000000000}",
    "((){99}|){9999999}",
    "(?:(?:a{60}){60}){60}",
    "(a|b{5000})c*",
  ])("is refused where it is too large written out: %s", (text) => {
    expect(() => compileExpression(text)).toThrow(/too large/i);
  });

  it.each(["(?:a{62}){32}(?:a?){6}(?:a{62}){32}b", "(?:a?){6}(?:a{62}){60}b"])(
    "is not left to the engine of the language where that would go many long ways at each character: %s",
    (text) => {
      const { test } = compileExpression(text);
      expect(test("a".repeat(16_000))).toBe(false);
      expect(test(`${"a".repeat(4_000)}b`)).toBe(true);
    },
  );

  it("matches right with more states and classes of characters than are cached", () => {
    const { test } = compileExpression(
      `[ab]*a[ab]{200}c|${Array.from({ length: 60 }, (_, at) => `\\x{${(0x4e00 + at).toString(16)}}+x`).join("|")}`,
    );
    const random = (length: number, seed: number): string =>
      Array.from({ length }, (_, at) => (((at * 7919 + seed * 104729) % 97) % 2 ? "a" : "b")).join("");
    for (let seed = 0; seed < 60; seed += 1) {
      expect(test(`${random(400, seed)}${String.fromCodePoint(0x4e00 + seed)}`)).toBe(false);
    }
    expect(test(`${random(400, 1)}a${"b".repeat(200)}c`)).toBe(true);
    expect(test("zz\u4e3bx")).toBe(true);
  });
});
