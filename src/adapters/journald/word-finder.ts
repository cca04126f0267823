import type { Word, Words } from "#domain/logs/expression.ts";
import type { Finder, Search } from "./journal-file/walk.ts";

/** The bytes that a place of a word may be: two where case does not matter. */
interface Needle {
  readonly lower: Uint8Array;
  readonly upper: Uint8Array;
}

function needleOf(word: Word): Needle {
  const bytes = (inCase: (text: string) => string) =>
    Buffer.from(word.map(({ character, isFolded }) => (isFolded ? inCase(character) : character)).join(""), "latin1");
  return { lower: bytes((text) => text.toLowerCase()), upper: bytes((text) => text.toUpperCase()) };
}

function standsAt({ lower, upper }: Needle, bytes: Uint8Array, from: number, to: number): boolean {
  const { length } = lower;
  if (from + length > to) return false;
  for (let index = length - 1; index >= 0; index -= 1) {
    const byte = bytes[from + index];
    if (byte !== lower[index] && byte !== upper[index]) return false;
  }
  return true;
}

/**
 * Horspool's way for several words at once: the byte at the end of the shortest one says how far it is to the next place
 * where a word can be. Only messages are inspected, where native searches would have to be called for each, or stop at what
 * is around them.
 */
function createWordFinder(words: readonly Word[]): Finder {
  const needles = words.map(needleOf);
  const length = Math.min(...words.map((word) => word.length));
  /** How far it is from a byte to the next place that a word may end at, and where one does end at it, to the one after. */
  const [steps, further] = [new Uint32Array(256).fill(length), new Uint32Array(256).fill(length)];
  for (const { lower, upper } of needles) {
    for (let index = 0; index < length; index += 1) {
      for (const byte of [lower[index] ?? 0, upper[index] ?? 0]) {
        const step = length - 1 - index;
        steps[byte] = Math.min(steps[byte] ?? 0, step);
        if (step > 0) further[byte] = Math.min(further[byte] ?? 0, step);
      }
    }
  }
  const [only] = needles.length === 1 ? needles : [];
  return (bytes, from, to) => {
    let last = from + length - 1;
    while (last < to) {
      const end = bytes[last] ?? 0;
      const step = steps[end] ?? 0;
      if (step > 0) {
        last += step;
        continue;
      }
      const start = last - length + 1;
      const isFound =
        only === undefined
          ? needles.some((needle) => standsAt(needle, bytes, start, to))
          : standsAt(only, bytes, start, to);
      if (isFound) return true;
      last += further[end] ?? 1;
    }
    return false;
  };
}

/** What finds texts of an expression among bytes, and whether it alone decides. */
export function createFinder(words: Words | undefined): Pick<Search, "finder" | "isDecided"> {
  if (words === undefined) return { finder: undefined, isDecided: false };
  return { finder: createWordFinder(words.anyOf), isDecided: words.suffice };
}
