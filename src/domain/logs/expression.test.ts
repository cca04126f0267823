import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createAutomaton } from "./automaton.ts";
import { compileExpression } from "./expression.ts";
import { readExpression } from "./expression-tree.ts";

/** Characters that expressions of all sorts tell apart: case, words, lines, other planes, halves of a pair. */
const letters = [
  "a",
  "A",
  "b",
  "k",
  "1",
  "_",
  " ",
  "-",
  "\n",
  "ä",
  "ß",
  "ſ",
  "\u212a",
  "😀",
  "\ud83d",
  "\ude00",
] as const;
const texts = fc.array(fc.constantFrom(...letters), { maxLength: 9 }).map((parts) => parts.join(""));

const characters = fc.constantFrom(
  ...["a", "b", "k", "A", "ä", "😀", ".", "\\w", "\\W", "\\d", "\\s", "\\S", "\\-", "\\x61", "\\u0061", "\\n", "\\cJ"],
  ...["[ab]", "[^ab]", "[a-k]", "[^\\w]", "[\\]a]", "[^]", "[😀a]", "\\u{61}", "\\ud83d\\ude00", "\\p{Lu}", "\\P{L}"],
  ...["{", "]", "}", "\\1", "\\12", "\\0", "\\k", "\\8", "\\c", "\\ude00"],
);
const assertions = fc.constantFrom("^", "$", "\\b", "\\B");
const repeats = fc.constantFrom("", "*", "+", "?", "{2}", "{0,2}", "{1,}", "{0}", "*?", "{1,3}?", "{,2}", "{");
const expressions = fc.letrec<{ atom: string; term: string; sequence: string; choice: string }>((tie) => ({
  atom: fc.oneof(
    { maxDepth: 4, depthIdentifier: "expression" },
    { arbitrary: characters, weight: 3 },
    {
      arbitrary: fc.tuple(fc.constantFrom("(", "(?:", "(?<n>"), tie("choice")).map(([open, body]) => `${open}${body})`),
      weight: 2,
    },
  ),
  term: fc.oneof(
    { weight: 6, arbitrary: fc.tuple(tie("atom"), repeats).map((parts) => parts.join("")) },
    { weight: 1, arbitrary: assertions },
  ),
  sequence: fc.array(tie("term"), { maxLength: 4 }).map((parts) => parts.join("")),
  choice: fc.array(tie("sequence"), { minLength: 1, maxLength: 3 }).map((parts) => parts.join("|")),
})).choice;

/** V8 finds `\\B` between the halves of a pair, where by the standard nothing with the flag `u` can match. */
const isJudged = (text: string, flags: string, sample: string): boolean =>
  !(flags.includes("u") && text.includes("\\B") && /[^\0-\uffff]/u.test(sample));

const isBackReference = (error: unknown): boolean => error instanceof Error && error.name === "ExpressionUnsupported";

describe("an expression", () => {
  it("matches what the engine of the language matches, case or not, with and without Unicode", () => {
    let compared = 0;
    fc.assert(
      fc.property(
        expressions,
        fc.constantFrom("", "i", "u", "iu"),
        fc.array(texts, { minLength: 1 }),
        (text, flags, samples) => {
          let native: RegExp;
          try {
            native = new RegExp(text, flags);
          } catch {
            return;
          }
          try {
            const automaton = createAutomaton(readExpression(text, flags), flags);
            for (const sample of samples.filter((each) => isJudged(text, flags, each))) {
              expect([text, flags, sample, automaton.test(sample)]).toEqual([text, flags, sample, native.test(sample)]);
            }
            compared += samples.length;
          } catch (error) {
            if (!isBackReference(error)) throw error;
          }
        },
      ),
      { numRuns: 2_000 },
    );
    expect(compared).toBeGreaterThan(1_000);
  });

  it("matches the same by whichever way it is searched for", () => {
    fc.assert(
      fc.property(expressions, fc.constantFrom("" as const, "i" as const), fc.array(texts), (text, flag, samples) => {
        let native: RegExp;
        try {
          native = new RegExp(text, `${flag}u`);
        } catch {
          return;
        }
        try {
          const { test } = compileExpression(text, flag);
          for (const sample of samples.filter((each) => isJudged(text, "u", each)))
            expect([text, sample, test(sample)]).toEqual([text, sample, native.test(sample)]);
        } catch (error) {
          if (!isBackReference(error)) throw error;
        }
      }),
      { numRuns: 1_000 },
    );
  });

  it.each(["(a)\\1", "\\1(a)", "(?<n>a)\\k<n>", "a(?=b)", "a(?!b)", "(?<=a)b", "(?<!a)b", "(x(?=y)z)*"])(
    "is refused where its time has no bound: %s",
    (text) => {
      expect(() => compileExpression(text)).toThrow(/not supported: their time has no bound \(leave them out\)/);
    },
  );

  it.each(["(?i:a)", "(?-i:a)b*", "(a(?ms-i:b))*"])("is refused where V8 itself does not read it right: %s", (text) => {
    expect(() => compileExpression(text)).toThrow(/^Modifiers are not supported/);
  });

  it.each([
    "(a{1,1000}){1,1000}",
    "(?:(?:a{99}){99}){99}",
    "a{100000}",
    "(?:){1000000000}",
    "((){99}|){9999999}",
    "(?:(?:a{60}){60}){60}",
    "(a|b{5000})c*",
    // V8 takes both for endless: the lesser need not come first.
    "a{9000000000,2147483648}",
    "(?:a{9000000000,2147483648}b)+",
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

  it("is remembered within bounds, however many states and classes of characters there are", () => {
    const { test } = compileExpression(
      `[ab]*a[ab]{200}c|${Array.from({ length: 60 }, (_, at) => `\\u{${(0x4e00 + at).toString(16)}}+x`).join("|")}`,
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
