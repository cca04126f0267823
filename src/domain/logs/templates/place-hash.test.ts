import { expect, it } from "vitest";
import { without, wordsOf } from "./group.ts";
import { createPlaceHash } from "./place-hash.ts";

const texts = ["session opened for alice now", "session opened for <*> now", "a b a b a", "now"];

it("the hash of a message with wildcards is that of the text with them", () => {
  const hash = createPlaceHash(4711);
  for (const words of texts.map(wordsOf))
    for (const places of [[], [0], [words.length - 1], [0, words.length - 1]].map((all) => [...new Set(all)])) {
      const expected = hash.read(wordsOf(without(words, ...places)), 3);
      hash.read(words, 3);
      expect(hash.without(places)).toBe(expected);
    }
});

it("the hash of words depends on the words, their order and their program", () => {
  const hash = createPlaceHash(4711);
  const numbers = [...texts, "alice session opened for now", "a b a a b"].flatMap((text) => [
    hash.read(wordsOf(text)),
    hash.read(wordsOf(text), 1),
  ]);
  expect(new Set(numbers).size).toBe(numbers.length);
  expect(createPlaceHash(4712).read(["now"])).not.toBe(hash.read(["now"]));
});
