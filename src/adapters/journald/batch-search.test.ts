import fc from "fast-check";
import { expect, it } from "vitest";
import { compileExpression } from "#domain/logs/expression.ts";
import { searchMessages } from "./batch-search.ts";

const piece = fc.constantFrom(
  "line",
  "LINE",
  "Error",
  "err",
  "ab",
  "İ",
  "\u212a",
  "kb",
  "7",
  " ",
  "aaaaaaaaaaaaaaaaaaaaaab",
  "ß",
);
const text = fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join(""));
const pattern = fc
  .array(fc.oneof(piece, fc.constantFrom("\\d+", "(?:error|LINE)", "(?:kb|err)+", "a*", "^", "$")), {
    minLength: 1,
    maxLength: 5,
  })
  .map((pieces) => pieces.join(""));

it("a batch of searches finds for each expression what it finds alone", () => {
  fc.assert(
    fc.property(fc.array(pattern, { maxLength: 20 }), fc.array(text, { maxLength: 20 }), (patterns, messages) => {
      const expressions = patterns.map((each) => compileExpression(each));
      const alone = expressions.map(({ test }) => [...messages.keys()].filter((at) => test(messages[at] ?? "")));
      expect(searchMessages(expressions, messages, () => undefined)).toEqual(alone);
    }),
    { numRuns: 2_000 },
  );
});

it("a batch of searches tries an expression with a word only on messages that have it", () => {
  const tried: string[] = [];
  const expressions = Array.from({ length: 200 }, (_, number) => {
    const { words, test } = compileExpression(`client ${number} .*\\d+`);
    return { words, test: (message: string) => tried.push(message) > 0 && test(message) };
  });
  const messages = Array.from({ length: 50 }, (_, number) => `Client ${number} took ${number} ms`);
  expect(searchMessages(expressions, messages, () => undefined)).toEqual(
    expressions.map((_, number) => (number < 50 ? [number] : [])),
  );
  expect(tried).toHaveLength(50);
});

it("a batch of searches ends on request", () => {
  const stop = (): never => {
    throw new Error("stop");
  };
  const expressions = [compileExpression("abc"), compileExpression("a+")];
  expect(() => searchMessages(expressions.slice(0, 1), ["abc"], stop)).toThrow("stop");
  expect(() => searchMessages(expressions.slice(1), ["abc"], stop)).toThrow("stop");
});
