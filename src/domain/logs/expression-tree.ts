interface Repeats {
  readonly least: number;
  readonly most: number;
}

/** The structure of an expression. What a single character may be stays text (`a`, `.`, `\w`, `[^a-z]`), which V8 evaluates. */
export type ExpressionTree =
  | { readonly kind: "character"; readonly source: string }
  /** Where exactly one neighbour is a word character; as `inside` where both or neither are. */
  | { readonly kind: "boundary"; readonly inside: boolean }
  | { readonly kind: "edge"; readonly edge: "start" | "end" }
  | { readonly kind: "sequence"; readonly parts: readonly ExpressionTree[] }
  | { readonly kind: "choice"; readonly branches: readonly ExpressionTree[] }
  | ({ readonly kind: "repeat"; readonly body: ExpressionTree } & Repeats);

/** The expression cannot be matched in time linear in the length of the text, or is too large. */
export class ExpressionUnsupported extends Error {
  override readonly name = "ExpressionUnsupported";
}

const unbounded = (what: string): ExpressionUnsupported =>
  new ExpressionUnsupported(`${what} are not supported: their time has no bound (leave them out)`);

const counted = /^\{(\d+)(?:(,)(\d*))?\}/;
const modifiers = /^\(\?[ims-]+:/;
const opening = /^\((?:\?:|\?<[^>]*>)?/;
const octal = /^\\(?:[0-3][0-7]{0,2}|[4-7][0-7]?)/;
const surrogatePair = /^\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}/;
const unicodeEscape = /^\\(?:u\{[0-9a-fA-F]+\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[pP]\{[^}]*\}|c[A-Za-z]|.)/su;
const plainEscape = /^\\(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[A-Za-z]|.)/s;

function groupsOf(text: string): { readonly count: number; readonly hasNames: boolean } {
  const openings = text.replaceAll(/\\.|\[(?:\\.|[^\]\\])*\]/gs, "").match(/\((?!\?)|\(\?<(?![=!])/g) ?? [];
  return { count: openings.length, hasNames: openings.some((each) => each !== "(") };
}

/** A position in an expression. */
interface Reader {
  readonly text: string;
  readonly isUnicode: boolean;
  readonly groups: ReturnType<typeof groupsOf>;
  at: number;
}

const rest = ({ text, at }: Reader): string => text.slice(at);
const next = ({ text, at }: Reader): string => text.charAt(at);

function readPart(reader: Reader, length: number): string {
  const { text, at } = reader;
  reader.at += length;
  return text.slice(at, reader.at);
}

const character = (source: string): ExpressionTree => ({ kind: "character", source });

function readEscape(reader: Reader): ExpressionTree {
  const { text, at, isUnicode, groups } = reader;
  const letter = text.charAt(at + 1);
  const left = rest(reader);
  if (letter === "b" || letter === "B") {
    readPart(reader, 2);
    return { kind: "boundary", inside: letter === "B" };
  }
  if (/[1-9]/.test(letter)) {
    const number = /^\\(\d+)/.exec(left)?.[1];
    if (isUnicode || Number(number) <= groups.count) throw unbounded("Back references");
  }
  if (letter === "k" && (isUnicode || groups.hasNames)) throw unbounded("Back references");
  if (isUnicode)
    return character(readPart(reader, (surrogatePair.exec(left) ?? unicodeEscape.exec(left))?.[0].length ?? 2));
  // `\c` without a letter is a literal backslash.
  if (letter === "c" && !/^\\c[A-Za-z]/.test(left)) {
    readPart(reader, 1);
    return character("\\\\");
  }
  return character(readPart(reader, (octal.exec(left) ?? plainEscape.exec(left))?.[0].length ?? 2));
}

function readClass(reader: Reader): ExpressionTree {
  const { text, at } = reader;
  let end = at + 1;
  while (text.charAt(end) !== "]") end += text.charAt(end) === "\\" ? 2 : 1;
  return character(readPart(reader, end + 1 - at));
}

function readGroup(reader: Reader): ExpressionTree {
  if (/^\(\?<?[=!]/.test(rest(reader))) throw unbounded("Look-ahead and look-behind");
  // V8 applies some of them beyond their group (24.21: `/a+(?i:(){,2}^|)?/` finds "KA").
  if (modifiers.test(rest(reader))) {
    throw new ExpressionUnsupported("Modifiers are not supported (a capital letter makes case matter)");
  }
  readPart(reader, (opening.exec(rest(reader))?.[0] ?? "(").length);
  const body = readChoice(reader);
  readPart(reader, 1);
  return body;
}

function readAtom(reader: Reader): ExpressionTree {
  const { text, at, isUnicode } = reader;
  const first = next(reader);
  switch (first) {
    case "^":
    case "$":
      readPart(reader, 1);
      return { kind: "edge", edge: first === "^" ? "start" : "end" };
    case "(":
      return readGroup(reader);
    case "[":
      return readClass(reader);
    case "\\":
      return readEscape(reader);
    default:
      return character(readPart(reader, isUnicode ? String.fromCodePoint(text.codePointAt(at) ?? 0).length : 1));
  }
}

function readRepeats(reader: Reader): Repeats | undefined {
  const mark = next(reader);
  const [whole, least, comma, most] = counted.exec(rest(reader)) ?? [];
  if (whole !== undefined) {
    readPart(reader, whole.length);
    const times = Number(least);
    // V8 treats counts from 2^31 on as infinite.
    return { least: times, most: comma === undefined ? times : most ? Math.max(times, Number(most)) : Infinity };
  }
  if (mark !== "*" && mark !== "+" && mark !== "?") return undefined;
  readPart(reader, 1);
  return { least: mark === "+" ? 1 : 0, most: mark === "?" ? 1 : Infinity };
}

function readSequence(reader: Reader): ExpressionTree {
  const parts: ExpressionTree[] = [];
  while (reader.at < reader.text.length && next(reader) !== "|" && next(reader) !== ")") {
    const body = readAtom(reader);
    const repeats = readRepeats(reader);
    parts.push(repeats === undefined ? body : { kind: "repeat", body, ...repeats });
    // Lazy or not, the same texts match.
    if (repeats !== undefined && next(reader) === "?") readPart(reader, 1);
  }
  return { kind: "sequence", parts };
}

function readChoice(reader: Reader): ExpressionTree {
  const branches = [readSequence(reader)];
  while (next(reader) === "|") {
    readPart(reader, 1);
    branches.push(readSequence(reader));
  }
  const [only] = branches;
  return branches.length === 1 && only !== undefined ? only : { kind: "choice", branches };
}

/**
 * Parses an expression that `new RegExp(text, flags)` has accepted (ECMA-262, Patterns and Annex B.1.2).
 * @throws ExpressionUnsupported for look-around, back references and modifiers.
 */
export const readExpression = (text: string, flags: string): ExpressionTree =>
  readChoice({ text, isUnicode: flags.includes("u"), groups: groupsOf(text), at: 0 });
