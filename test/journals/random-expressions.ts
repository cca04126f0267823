import fc from "fast-check";

/** Characters that expressions distinguish: case, words, lines, blanks. */
const letters = ["a", "A", "b", "B", "k", "1", "_", " ", "-", "\n", "\r", "\t", "{", "]", "\\", "^", "E"];
/** Characters beyond ASCII, which are one character here and several bytes to `journalctl -g`. */
const wide = ["ä", "Ä", "ß", "ſ", "\u212a", "\u2028", "😀"];

const textsOf = (characters: readonly string[]): fc.Arbitrary<string> =>
  fc.array(fc.constantFrom(...characters), { maxLength: 9 }).map((parts) => parts.join(""));
export const asciiTexts = textsOf(letters);
export const texts = textsOf([...letters, ...wide]);

const sound = fc.constantFrom(
  ..."a b k A 1 - . \\w \\W \\d \\D \\s \\S \\h \\H \\v \\V \\N \\R \\- \\_ \\x61 \\x{41} \\o{101} \\0 \\011 \\12 \\n \\r \\t \\e \\cJ \\cj".split(
    " ",
  ),
  ..."[ab] [^ab] [a-k] [A-B] [^\\w] [\\]a] []a] [^]a] [a-] [-a] [\\w-] [\\b] [\\x41-\\x{42}] [\\12a] [a\\Q]-^\\Eb]".split(
    " ",
  ),
  ..."[[:digit:]] [[:^digit:]] [[:alpha:]_] [[:upper:]] [[:lower:]] [^[:space:]] [[:punct:]] [[:word:]] [:alpha:] [a[:x]".split(
    " ",
  ),
  ..."\\Qa.b\\E \\Q*\\E \\Q\\E \\E \\pL \\p{Lu} \\P{L} \\p{^Ll} \\pN { } ] {a".split(" "),
  " ",
);
const refused = fc.constantFrom(
  ..."[\\d-b] [a-\\d] [\\w-.] [[:digit:]-z] [[.a.]] {,1} \\1 \\8 \\k \\g1 \\y \\c \\X \\C \\u{61} \\u0061 [\\u0061] \\".split(
    " ",
  ),
  ..."(?>a) (?=a) (?!a) (?<=a) (?x) (?#a) (?|a) (*UTF)".split(" "),
);
const characters = fc.oneof({ weight: 30, arbitrary: sound }, { weight: 1, arbitrary: refused });
const assertions = fc.constantFrom("^", "$", "\\b", "\\B", "\\A", "\\z", "\\Z", "\\G", "\\K");
const repeats = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom("", "", "*", "+", "?", "{2}", "{0,2}", "{1,}", "{0}", "*?", "{1,3}?", "{") },
  { weight: 1, arbitrary: fc.constantFrom("{,2}", "*+", "{2}{2}") },
);
const openings = fc.constantFrom(..."( (?: (?<n> (?P<m> (?'q' (?i: (?-i: (?s: (?i) (?i)( (?s-i)(".split(" "));

/** Expressions in the syntax of PCRE2, and some that are in none. */
export const expressions = fc.letrec<{ atom: string; term: string; sequence: string; choice: string }>((tie) => ({
  atom: fc.oneof(
    { maxDepth: 4, depthIdentifier: "expression" },
    { arbitrary: characters, weight: 5 },
    { arbitrary: fc.tuple(openings, tie("choice")).map(([open, body]) => `${open}${body})`), weight: 1 },
    { arbitrary: tie("choice").map((body) => `(${body})`), weight: 2 },
  ),
  term: fc.oneof(
    { weight: 6, arbitrary: fc.tuple(tie("atom"), repeats).map((parts) => parts.join("")) },
    { weight: 1, arbitrary: assertions },
  ),
  sequence: fc.array(tie("term"), { maxLength: 3 }).map((parts) => parts.join("")),
  choice: fc.array(tie("sequence"), { minLength: 1, maxLength: 3 }).map((parts) => parts.join("|")),
})).choice;
