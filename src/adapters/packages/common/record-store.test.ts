import fc from "fast-check";
import { expect, it } from "vitest";
import { createRecordStore } from "./record-store.ts";

it("a record store finds the records that have all words, and returns each as it was added", () => {
  const text = fc.stringMatching(/^[abÄ ]{0,8}$/);
  fc.assert(
    fc.property(
      fc.array(text, { maxLength: 20 }),
      fc.array(fc.stringMatching(/^[abÄ]{1,3}$/), { maxLength: 3 }),
      (texts, words) => {
        const store = createRecordStore();
        for (const [at, each] of texts.entries()) store.add(String(at), `shown ${each}`, each);
        store.trim();
        const has = (each: string): boolean => words.every((word) => each.toLowerCase().includes(word.toLowerCase()));
        expect(store.search(words)).toEqual(texts.flatMap((each, at) => (has(each) ? [at] : [])));
        expect(texts.map((_, at) => store.at(at))).toEqual(texts.map((each) => `shown ${each}`));
        store.drop(0);
        expect(store.search(words)).toEqual(texts.flatMap((each, at) => (at > 0 && has(each) ? [at] : [])));
      },
    ),
  );
});
