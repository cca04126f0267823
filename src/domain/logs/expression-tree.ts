import {
  type CharacterSet,
  characterSet,
  oneCharacter,
  posixSet,
  propertySet,
  shorthandSet,
} from "./expression-sets.ts";

interface Repeats {
  readonly least: number;
  readonly most: number;
}

/** Positions that take no character: `finish` is the end, or before a newline at the end; `unpaired` is not before a newline. */
export type Edge = "start" | "end" | "finish" | "unpaired";

/** The one character that is meant; `isFolded` where its other case in ASCII is meant too. */
export interface Literal {
  readonly character: string;
  readonly isFolded: boolean;
}

/** The structure of an expression. What a single character may be is text in JavaScript's syntax with the flag `v`. */
export type ExpressionTree =
  | { readonly kind: "character"; readonly source: string; readonly literal?: Literal }
  /** Where exactly one neighbour is a word character; as `inside` where both or neither are. */
  | { readonly kind: "boundary"; readonly inside: boolean }
  | { readonly kind: "edge"; readonly edge: Edge }
  | { readonly kind: "sequence"; readonly parts: readonly ExpressionTree[] }
  | { readonly kind: "choice"; readonly branches: readonly ExpressionTree[] }
  | ({ readonly kind: "repeat"; readonly body: ExpressionTree } & Repeats);

/** The expression cannot be matched in time linear in the length of the text, is too large, or means something else elsewhere. */
export class ExpressionUnsupported extends Error {
  override readonly name = "ExpressionUnsupported";
}

const malformed = (what: string): SyntaxError => new SyntaxError(what);
const unbounded = (what: string): ExpressionUnsupported =>
  new ExpressionUnsupported(`${what} are not supported: their time has no bound (leave them out)`);

/** A character, or a backslash with what follows it. What stands between `\Q` and `\E` is `quoted`. */
interface Token {
  readonly text: string;
  readonly kind: "plain" | "escape" | "quoted";
}

function tokensOf(text: string): readonly Token[] {
  const tokens: Token[] = [];
  let isQuoted = false;
  const characters = Array.from(text);
  for (let at = 0; at < characters.length; at += 1) {
    const first = characters[at] ?? "";
    const second = characters[at + 1];
    if (first === "\\" && second === "E") {
      isQuoted = false;
      at += 1;
    } else if (isQuoted) tokens.push({ text: first, kind: "quoted" });
    else if (first !== "\\") tokens.push({ text: first, kind: "plain" });
    else if (second === undefined) throw malformed("\\ at end of pattern");
    else {
      at += 1;
      if (second === "Q") isQuoted = true;
      else tokens.push({ text: second, kind: "escape" });
    }
  }
  return tokens;
}

/** A position in an expression. */
interface Reader {
  readonly tokens: readonly Token[];
  at: number;
  groups: number;
  ignoresCase: boolean;
  dotIsAll: boolean;
}

/** The next character, where it is a plain one. */
function next({ tokens, at }: Reader): string | undefined {
  const token = tokens[at];
  return token?.kind === "plain" ? token.text : undefined;
}

const isNext = (reader: Reader, text: string): boolean => next(reader) === text;

/** Plain characters from here on. */
function ahead({ tokens, at }: Reader): string {
  const end = tokens.findIndex(({ kind }, position) => position >= at && kind !== "plain");
  const plain = tokens.slice(at, end === -1 ? tokens.length : end);
  return plain.map(({ text }) => text).join("");
}

/** Reads past what a form matches in the plain characters from here on. */
function take(reader: Reader, form: RegExp): RegExpExecArray | undefined {
  const found = form.exec(ahead(reader));
  if (found === null) return undefined;
  reader.at += Array.from(found[0]).length;
  return found;
}

const set = ({ source }: CharacterSet): ExpressionTree => ({ kind: "character", source });
const one = (code: number, { ignoresCase }: Reader): ExpressionTree => {
  const character = String.fromCodePoint(code);
  return {
    kind: "character",
    source: oneCharacter(code, ignoresCase).source,
    literal: { character, isFolded: ignoresCase && /[A-Za-z]/.test(character) },
  };
};
const sequence = (...parts: readonly ExpressionTree[]): ExpressionTree => ({ kind: "sequence", parts });
const edge = (which: Edge): ExpressionTree => ({ kind: "edge", edge: which });

const newline = 0x0a;
const controls: Readonly<Record<string, number>> = { a: 0x07, e: 0x1b, f: 0x0c, n: newline, r: 0x0d, t: 0x09 };

/** A number that stands for a character. */
function numbered(code: number): number {
  if (code >= 0x80 && code < 0x100) {
    throw new ExpressionUnsupported("Single bytes beyond \\x7f are not supported: write the character itself");
  }
  if (code > 0x10_ffff || (code >= 0xd800 && code < 0xe000)) throw malformed("Invalid character number");
  return code;
}

/** The character that an escape stands for; undefined where it stands for something else. */
function readCharacterEscape(reader: Reader, letter: string): number | undefined {
  const control = controls[letter];
  if (control !== undefined) return control;
  switch (letter) {
    case "x": {
      const digits = take(reader, /^\{([0-9a-fA-F]+)\}/)?.[1] ?? take(reader, /^[0-9a-fA-F]{1,2}/)?.[0];
      if (digits === undefined) throw malformed("Invalid escape \\x");
      return numbered(Number.parseInt(digits, 16));
    }
    case "o": {
      const digits = take(reader, /^\{([0-7]+)\}/)?.[1];
      if (digits === undefined) throw malformed("Invalid escape \\o");
      return numbered(Number.parseInt(digits, 8));
    }
    case "0":
      return numbered(Number.parseInt(`0${take(reader, /^[0-7]{1,2}/)?.[0] ?? ""}`, 8));
    case "u":
      throw new ExpressionUnsupported("\\u is not supported (write the number of a character as \\x{41})");
    case "c": {
      const name = take(reader, /^[ -~]/)?.[0].toUpperCase();
      if (name === undefined) throw malformed("Invalid escape \\c");
      return numbered((name.codePointAt(0) ?? 0) ^ 0x40);
    }
    default:
      return /[0-9A-Za-z]/.test(letter) ? undefined : letter.codePointAt(0);
  }
}

function readSetEscape(reader: Reader, letter: string): CharacterSet | undefined {
  if (letter !== "p" && letter !== "P") return shorthandSet(letter);
  const [whole = "", braced, short] = take(reader, /^(?:\{([^}]*)\}|([A-Za-z]))/) ?? [];
  const found = whole === "" ? undefined : propertySet(braced ?? short ?? "", letter === "P");
  if (found === undefined) throw malformed(`Unknown property \\${letter}${whole}`);
  return found;
}

/** A digit that is no 0: the number of a group, or of a character in octal. */
function readNumber(reader: Reader, digit: string, isInClass: boolean): number {
  const more = take(reader, isInClass ? /^[0-7]{0,2}/ : /^\d*/)?.[0] ?? "";
  const isGroup = digit >= "8" || more === "" || Number(digit + more) <= reader.groups;
  if (!isInClass && isGroup) throw unbounded("Back references");
  const octal = /^[0-7]{1,3}/.exec(digit + more)?.[0];
  if (octal === undefined) {
    reader.at -= more.length;
    return digit.codePointAt(0) ?? 0;
  }
  reader.at -= (digit + more).length - octal.length;
  return numbered(Number.parseInt(octal, 8));
}

function readEscape(reader: Reader, letter: string): ExpressionTree {
  switch (letter) {
    case "b":
    case "B":
      return { kind: "boundary", inside: letter === "B" };
    case "A":
    case "G":
      return edge("start");
    case "z":
      return edge("end");
    case "Z":
      return edge("finish");
    case "K":
      return sequence();
    case "N":
      if (isNext(reader, "{") && take(reader, /^(?=\{\d+(?:,\d*)?\})/) === undefined) {
        throw malformed("Invalid escape \\N");
      }
      return set(characterSet([[newline, newline]], { isNegated: true }));
    // It takes both characters of a line end, and never only the first.
    case "R":
      return {
        kind: "choice",
        branches: [
          sequence(one(0x0d, reader), one(newline, reader)),
          set(
            characterSet([
              [0x0a, 0x0c],
              [0x85, 0x85],
              [0x2028, 0x2029],
            ]),
          ),
          sequence(one(0x0d, reader), edge("unpaired")),
        ],
      };
    case "g":
    case "k":
      throw unbounded("Back references");
    case "C":
    case "X":
      throw new ExpressionUnsupported(`\\${letter} is not supported (use . for a character)`);
    default: {
      if (/[1-9]/.test(letter)) return one(readNumber(reader, letter, false), reader);
      const code = readCharacterEscape(reader, letter);
      if (code !== undefined) return one(code, reader);
      const found = readSetEscape(reader, letter);
      if (found === undefined) throw malformed(`Invalid escape \\${letter}`);
      return set(found);
    }
  }
}

/** One character of a class as its number, or several as a set. */
function readMember(reader: Reader): number | CharacterSet {
  const token = reader.tokens[reader.at];
  if (token === undefined) throw malformed("Unterminated character class");
  if (token.kind === "plain" && token.text === "[") {
    const [whole, not, name = ""] = take(reader, /^\[:(\^?)([a-z<>]*):\]/) ?? [];
    if (whole !== undefined) {
      const found = posixSet(name, reader.ignoresCase, not === "^");
      if (found === undefined) throw malformed(`Unknown class ${whole}`);
      return found;
    }
    if (take(reader, /^\[([.=])[^\]]*\1\]/) !== undefined) throw malformed("Collating elements are not supported");
  }
  reader.at += 1;
  if (token.kind !== "escape") return token.text.codePointAt(0) ?? 0;
  if (token.text === "b") return 0x08;
  if (/[1-9]/.test(token.text)) return readNumber(reader, token.text, true);
  const member = readCharacterEscape(reader, token.text) ?? readSetEscape(reader, token.text);
  if (member === undefined) throw malformed(`Invalid escape \\${token.text} in a character class`);
  return member;
}

function readClass(reader: Reader): ExpressionTree {
  if (/^([:.=])[^\]]*\1\]/.test(ahead(reader))) throw malformed("[:name:] is for the inside of a class: [[:name:]]");
  const isNegated = isNext(reader, "^");
  if (isNegated) reader.at += 1;
  const ranges: (readonly [from: number, to: number])[] = [];
  const sets: CharacterSet[] = [];
  // A leading closing bracket is literal.
  for (let isFirst = true; isFirst || !isNext(reader, "]"); isFirst = false) {
    const from = readMember(reader);
    const { at } = reader;
    if (isNext(reader, "-")) reader.at += 1;
    // The dash is literal beside the bracket.
    const to = reader.at === at || isNext(reader, "]") ? undefined : readMember(reader);
    if (to === undefined) {
      reader.at = at;
      if (typeof from === "number") ranges.push([from, from]);
      else sets.push(from);
    } else if (typeof from === "number" && typeof to === "number") {
      if (to < from) throw malformed("Range out of order in character class");
      ranges.push([from, to]);
    } else throw malformed("Invalid range in character class (write \\- for a dash)");
  }
  reader.at += 1;
  return set(characterSet(ranges, { sets, isNegated, ignoresCase: reader.ignoresCase }));
}

/** @returns undefined for `(?i)`, which changes what follows. */
function readGroup(reader: Reader): ExpressionTree | undefined {
  if (/^(?:\?<?[=!*]|\*)/.test(ahead(reader))) {
    if (isNext(reader, "*")) throw new ExpressionUnsupported("Verbs such as (*UTF) are not supported");
    throw unbounded("Look-ahead and look-behind");
  }
  const { ignoresCase, dotIsAll } = reader;
  const name = take(reader, /^\?(?:P?<([A-Za-z_]\w{0,31})>|'([A-Za-z_]\w{0,31})')/);
  const options = name === undefined ? take(reader, /^\?([is]*)(?:-([is]*))?([:)])/) : undefined;
  if (name === undefined && options === undefined) {
    if (/^\?[a-zA-Z^-]*[:)]/.test(ahead(reader))) {
      throw new ExpressionUnsupported("Modifiers other than i and s are not supported");
    }
    if (isNext(reader, "?")) {
      throw new ExpressionUnsupported("Groups other than (…), (?:…), (?<name>…) and (?i:…) are not supported");
    }
  }
  if (options === undefined) reader.groups += 1;
  else {
    const [, on = "", off = "", close] = options;
    if (/[is]/.test(on))
      Object.assign(reader, { ignoresCase: on.includes("i") || ignoresCase, dotIsAll: on.includes("s") || dotIsAll });
    if (off.includes("i")) reader.ignoresCase = false;
    if (off.includes("s")) reader.dotIsAll = false;
    if (close === ")") return undefined;
  }
  const body = readChoice(reader);
  if (!isNext(reader, ")")) throw malformed("Unterminated group");
  reader.at += 1;
  Object.assign(reader, { ignoresCase, dotIsAll });
  return body;
}

const counted = /^\{(\d+)(?:(,)(\d*))?\}/;
/** What version 10.43 of PCRE2 takes for a count, and earlier ones for text. */
const looselyCounted = /^\{ *(?:\d+ *(?:, *\d* *)?|, *\d+ *)\}/;
const maxCount = 65_535;

function readAtom(reader: Reader): ExpressionTree | undefined {
  const token = reader.tokens[reader.at];
  reader.at += 1;
  if (token === undefined) throw malformed("Nothing to repeat");
  if (token.kind === "escape") return readEscape(reader, token.text);
  if (token.kind === "plain") {
    switch (token.text) {
      case "^":
        return edge("start");
      case "$":
        return edge("finish");
      case "(":
        return readGroup(reader);
      case "[":
        return readClass(reader);
      case ".":
        return set(characterSet(reader.dotIsAll ? [] : [[newline, newline]], { isNegated: true }));
      case "*":
      case "+":
      case "?":
        throw malformed("Nothing to repeat");
      default:
    }
  }
  return one(token.text.codePointAt(0) ?? 0, reader);
}

function readRepeats(reader: Reader): Repeats | undefined {
  const mark = next(reader);
  if (mark !== "{") {
    if (mark !== "*" && mark !== "+" && mark !== "?") return undefined;
    reader.at += 1;
    return { least: mark === "+" ? 1 : 0, most: mark === "?" ? 1 : Infinity };
  }
  const [whole, least, comma, most] = take(reader, counted) ?? [];
  if (whole !== undefined) {
    const times = Number(least);
    const limit = comma === undefined ? times : most ? Number(most) : Infinity;
    if (limit < times) throw malformed("numbers out of order in {} quantifier");
    if (times > maxCount || (limit > maxCount && limit !== Infinity)) {
      throw new ExpressionUnsupported("Too large: counts end at 65535");
    }
    return { least: times, most: limit };
  }
  if (looselyCounted.test(ahead(reader))) {
    throw new ExpressionUnsupported(
      "Counts such as {,3} are not supported: versions of PCRE2 differ (write {0,3}, or \\{)",
    );
  }
  return undefined;
}

function readSequence(reader: Reader): ExpressionTree {
  const parts: ExpressionTree[] = [];
  while (reader.at < reader.tokens.length && !isNext(reader, "|") && !isNext(reader, ")")) {
    if (isNext(reader, "{") && looselyCounted.test(ahead(reader))) throw malformed("Nothing to repeat");
    const body = readAtom(reader);
    const repeats = readRepeats(reader);
    if (repeats === undefined) {
      if (body !== undefined) parts.push(body);
      continue;
    }
    if (body === undefined || body.kind === "edge" || body.kind === "boundary") throw malformed("Nothing to repeat");
    parts.push({ kind: "repeat", body, ...repeats });
    // Lazy or not, the same texts match.
    if (isNext(reader, "?")) reader.at += 1;
    else if (isNext(reader, "+")) throw new ExpressionUnsupported("Possessive quantifiers are not supported");
    if (readRepeats(reader) !== undefined) throw malformed("Nothing to repeat");
  }
  return { kind: "sequence", parts };
}

function readChoice(reader: Reader): ExpressionTree {
  const branches = [readSequence(reader)];
  while (isNext(reader, "|")) {
    reader.at += 1;
    branches.push(readSequence(reader));
  }
  const [only] = branches;
  return branches.length === 1 && only !== undefined ? only : { kind: "choice", branches };
}

/**
 * Parses an expression in the syntax of PCRE2 (pcre2pattern(3)), with which `journalctl -g` searches. As there, case matters only
 * where the expression has one of the letters A to Z, in an escape too.
 * @throws SyntaxError when it is malformed, ExpressionUnsupported for what has no bound or is not supported.
 */
export function readExpression(text: string): ExpressionTree {
  const reader = { tokens: tokensOf(text), at: 0, groups: 0, ignoresCase: !/[A-Z]/.test(text), dotIsAll: false };
  const tree = readChoice(reader);
  if (reader.at < reader.tokens.length) throw malformed("Unmatched ')'");
  return tree;
}

/** The expression in JavaScript's syntax, with the flag `v`. */
export function toJavaScript(tree: ExpressionTree): string {
  switch (tree.kind) {
    case "character":
      return tree.source;
    case "boundary":
      return tree.inside ? "\\B" : "\\b";
    case "edge":
      return { start: "^", end: "$", finish: "(?=\\n?$)", unpaired: "(?!\\n)" }[tree.edge];
    case "sequence":
      return tree.parts.map(toJavaScript).join("");
    case "choice":
      return `(?:${tree.branches.map(toJavaScript).join("|")})`;
    case "repeat":
      return `(?:${toJavaScript(tree.body)}){${tree.least},${tree.most === Infinity ? "" : tree.most}}`;
  }
}
