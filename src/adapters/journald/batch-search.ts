import type { Expression, Words } from "#domain/logs/expression.ts";

/** Characters of a word that are compared: an expression that has them is tried. */
const maxCompared = 16;
/** Characters of a word by which it is looked for. */
const gramLength = 3;
const gramBits = 5;
const gramMask = 2 ** (gramLength * gramBits) - 1;

/** Of the last characters alone: earlier ones are shifted out. */
const nextGram = (gram: number, code: number): number => ((gram << gramBits) ^ code) & gramMask;

function gramAt(word: string, at: number): number {
  let gram = 0;
  for (let index = at; index < at + gramLength; index += 1) gram = nextGram(gram, word.charCodeAt(index));
  return gram;
}

interface Sought {
  readonly word: string;
  /** Where in the word its gram ends. */
  readonly end: number;
  readonly number: number;
}

/** Small, as a word of ASCII in any case is found in a text in small letters. */
const smallWords = ({ anyOf }: Words): readonly string[] =>
  anyOf.map((word) =>
    word
      .slice(0, maxCompared)
      .map(({ character }) => character.toLowerCase())
      .join(""),
  );

/** Finds in one pass over a text which of many expressions have one of their words in it. */
function createWordIndex(count: number) {
  /** By number of the expression: the last text in which a word of it was. */
  const foundIn = new Float64Array(count);
  let texts = 0;
  const byGram = new Map<number, Sought[]>();
  /** By gram, to look there in the few cases in which there is something. */
  const isSought = new Uint8Array(gramMask + 1);
  const add = (word: string, number: number): void => {
    let best: { readonly gram: number; readonly end: number; readonly others: Sought[] } | undefined;
    for (let at = 0; at + gramLength <= word.length; at += 1) {
      const gram = gramAt(word, at);
      const others = byGram.get(gram) ?? [];
      if (best === undefined || others.length < best.others.length) best = { gram, end: at + gramLength, others };
    }
    if (best === undefined) return;
    best.others.push({ word, end: best.end, number });
    byGram.set(best.gram, best.others);
    isSought[best.gram] = 1;
  };
  return {
    /** @returns whether it can be found by its words. */
    add(words: Words | undefined, number: number): boolean {
      const small = words === undefined ? [] : smallWords(words);
      if (small.length === 0 || small.some(({ length }) => length < gramLength)) return false;
      for (const word of small) add(word, number);
      return true;
    },
    scan(text: string): readonly number[] {
      const small = text.toLowerCase();
      const found: number[] = [];
      texts += 1;
      let gram = 0;
      for (let at = 0; at < small.length; at += 1) {
        gram = nextGram(gram, small.charCodeAt(at));
        if (isSought[gram] !== 1) continue;
        for (const { word, end, number } of byGram.get(gram) ?? []) {
          if (foundIn[number] === texts || !small.startsWith(word, at + 1 - end)) continue;
          foundIn[number] = texts;
          found.push(number);
        }
      }
      return found;
    },
  };
}

/**
 * Searches the same messages for many expressions. Those of which every match has a word see only the messages with it.
 * @param beforeEach is called time and again, and ends the search with what it throws.
 * @returns for each expression the positions of its messages.
 */
export function searchMessages(
  expressions: readonly Pick<Expression, "test" | "words">[],
  messages: readonly string[],
  beforeEach: () => void,
): readonly (readonly number[])[] {
  const index = createWordIndex(expressions.length);
  const found = expressions.map((): number[] => []);
  const others = expressions.flatMap((expression, number) => (index.add(expression.words, number) ? [] : [number]));
  const tryAt = (number: number, position: number): void => {
    if (expressions[number]?.test(messages[position] ?? "") === true) found[number]?.push(position);
  };
  for (const number of others) {
    beforeEach();
    for (let position = 0; position < messages.length; position += 1) tryAt(number, position);
  }
  if (others.length === expressions.length) return found;
  for (const [position, message] of messages.entries()) {
    beforeEach();
    for (const number of index.scan(message)) tryAt(number, position);
  }
  return found;
}
