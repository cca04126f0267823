import { expect, it } from "vitest";
import { without, wordsOf } from "./group.ts";
import { createPlaceHash } from "./place-hash.ts";

const texts = ["session opened for alice now", "session opened for <*> now", "a b a b a", "now"];

it("has for a message with the wildcard in places the number of that text", () => {
  const hash = createPlaceHash(4711);
  for (const words of texts.map(wordsOf))
    for (const places of [[], [0], [words.length - 1], [0, words.length - 1]].map((all) => [...new Set(all)])) {
      const expected = hash.read(wordsOf(without(words, ...places)), 3);
      hash.read(words, 3);
      expect(hash.without(places)).toBe(expected);
    }
});

it("has other numbers for other words, for the same ones in another order, and for those of another program", () => {
  const hash = createPlaceHash(4711);
  const numbers = [...texts, "alice session opened for now", "a b a a b"].flatMap((text) => [
    hash.read(wordsOf(text)),
    hash.read(wordsOf(text), 1),
  ]);
  expect(new Set(numbers).size).toBe(numbers.length);
  expect(createPlaceHash(4712).read(["now"])).not.toBe(hash.read(["now"]));
});
