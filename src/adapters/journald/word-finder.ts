import type { Word, Words } from "#domain/logs/expression.ts";
import type { Literal } from "#domain/logs/expression-tree.ts";
import type { Finder, Search } from "./journal-file/walk.ts";

/** A part of a word in which case does not matter, if it has so many characters, is found faster than the word in any case. */
const minExactPart = 4;

function sourceOf({ character, isFolded }: Literal): string {
  if (!isFolded) return `\\x${character.charCodeAt(0).toString(16)}`;
  return `[${character.toLowerCase()}${character.toUpperCase()}]`;
}

/** Finds bytes as they are. */
function createByteFinder(wanted: string): Finder {
  const bytes = Buffer.from(wanted, "latin1");
  let searched: Buffer = Buffer.alloc(0);
  return {
    load(piece) {
      searched = piece;
    },
    find(from) {
      const at = searched.indexOf(bytes, from);
      return at < 0 ? Infinity : at + bytes.length;
    },
    longest: bytes.length,
  };
}

/** Has V8's engine search a piece as if its bytes were characters. */
function createPatternFinder(words: readonly Word[]): Finder {
  const pattern = new RegExp(words.map((word) => word.map(sourceOf).join("")).join("|"), "g");
  let text = "";
  return {
    load(piece) {
      text = piece.toString("latin1");
    },
    find(from) {
      pattern.lastIndex = from;
      return pattern.test(text) ? pattern.lastIndex : Infinity;
    },
    longest: Math.max(...words.map(({ length }) => length)),
  };
}

/** The longest part of a word of which the case matters, or which has none. */
function exactPart(word: Word): string {
  const parts = word
    .map(({ character, isFolded }) => (isFolded ? "\n" : character))
    .join("")
    .split(/\n+/);
  return parts.reduce((longest, part) => (part.length > longest.length ? part : longest));
}

/** What finds texts of an expression in a piece of a file, and whether it alone decides. */
export function createFinder(words: Words | undefined): Pick<Search, "finder" | "isDecided"> {
  if (words === undefined) return { finder: undefined, isDecided: false };
  const { anyOf, suffice } = words;
  const [first, ...others] = anyOf;
  const part = first === undefined || others.length > 0 ? "" : exactPart(first);
  if (part.length === first?.length || part.length >= minExactPart) {
    return { finder: createByteFinder(part), isDecided: suffice && part.length === first?.length };
  }
  return { finder: createPatternFinder(anyOf), isDecided: suffice };
}
