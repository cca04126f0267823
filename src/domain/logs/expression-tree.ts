/** How often something is repeated; `most` may be Infinity. */
interface Repeats {
  readonly least: number;
  readonly most: number;
}

/**
 * An expression by its structure. What a single character may be is left as the text that says so (`a`, `.`, `\w`, `[^a-z]`):
 * the engine of the language itself judges characters.
 */
export type ExpressionTree =
  | { readonly kind: "character"; readonly source: string }
  /** Where exactly one of the neighbours is of a word; as `inside` where both or neither are. */
  | { readonly kind: "boundary"; readonly inside: boolean }
  /** The start or end of the text. */
  | { readonly kind: "edge"; readonly edge: "start" | "end" }
  | { readonly kind: "sequence"; readonly parts: readonly ExpressionTree[] }
  | { readonly kind: "choice"; readonly branches: readonly ExpressionTree[] }
  | ({ readonly kind: "repeat"; readonly body: ExpressionTree } & Repeats);

/** An expression that cannot be matched in time linear in the length of the text, or that is too large. */
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

/** How many groups are captured, and whether any has a name. */
function groupsOf(text: string): { readonly count: number; readonly hasNames: boolean } {
  const openings = text.replaceAll(/\\.|\[(?:\\.|[^\]\\])*\]/gs, "").match(/\((?!\?)|\(\?<(?![=!])/g) ?? [];
  return { count: openings.length, hasNames: openings.some((each) => each !== "(") };
}

/**
 * Reads the structure of an expression that `new RegExp(text, flags)` has accepted (ECMA-262, Patterns and Annex B.1.2).
 * @throws ExpressionUnsupported for look-around, back references and modifiers.
 */
export function readExpression(text: string, flags: string): ExpressionTree {
  const isUnicode = flags.includes("u");
  const { count: groupCount, hasNames } = groupsOf(text);
  let at = 0;

  const rest = (): string => text.slice(at);
  /** Goes on behind a part of the text. */
  const take = (length: number): string => {
    at += length;
    return text.slice(at - length, at);
  };
  const character = (source: string): ExpressionTree => ({ kind: "character", source });

  const readEscape = (): ExpressionTree => {
    const next = text.charAt(at + 1);
    if (next === "b" || next === "B") {
      take(2);
      return { kind: "boundary", inside: next === "B" };
    }
    if (/[1-9]/.test(next)) {
      const number = /^\\(\d+)/.exec(rest())?.[1];
      if (isUnicode || Number(number) <= groupCount) throw unbounded("Back references");
    }
    if (next === "k" && (isUnicode || hasNames)) throw unbounded("Back references");
    if (isUnicode) return character(take((surrogatePair.exec(rest()) ?? unicodeEscape.exec(rest()))?.[0].length ?? 2));
    // Without a letter after `\c` the backslash is itself.
    if (next === "c" && !/^\\c[A-Za-z]/.test(rest())) {
      take(1);
      return character("\\\\");
    }
    return character(take((octal.exec(rest()) ?? plainEscape.exec(rest()))?.[0].length ?? 2));
  };

  const readClass = (): ExpressionTree => {
    let end = at + 1;
    while (text.charAt(end) !== "]") end += text.charAt(end) === "\\" ? 2 : 1;
    return character(take(end + 1 - at));
  };

  const readGroup = (): ExpressionTree => {
    if (/^\(\?<?[=!]/.test(rest())) throw unbounded("Look-ahead and look-behind");
    // V8 takes some of them for more than their group (24.21: `/a+(?i:(){,2}^|)?/` finds "KA").
    if (modifiers.test(rest())) {
      throw new ExpressionUnsupported("Modifiers are not supported (a capital letter makes case matter)");
    }
    take((opening.exec(rest())?.[0] ?? "(").length);
    const body = readChoice();
    take(1);
    return body;
  };

  const readAtom = (): ExpressionTree => {
    const next = text.charAt(at);
    switch (next) {
      case "^":
      case "$":
        take(1);
        return { kind: "edge", edge: next === "^" ? "start" : "end" };
      case "(":
        return readGroup();
      case "[":
        return readClass();
      case "\\":
        return readEscape();
      default:
        return character(take(isUnicode ? String.fromCodePoint(text.codePointAt(at) ?? 0).length : 1));
    }
  };

  const readRepeats = (): Repeats | undefined => {
    const next = text.charAt(at);
    const [whole, least, comma, most] = counted.exec(rest()) ?? [];
    if (whole !== undefined) {
      take(whole.length);
      const times = Number(least);
      // The engine takes counts from 2^31 on for endless, whichever is the larger.
      return { least: times, most: comma === undefined ? times : most ? Math.max(times, Number(most)) : Infinity };
    }
    if (next !== "*" && next !== "+" && next !== "?") return undefined;
    take(1);
    return { least: next === "+" ? 1 : 0, most: next === "?" ? 1 : Infinity };
  };

  const readSequence = (): ExpressionTree => {
    const parts: ExpressionTree[] = [];
    while (at < text.length && text.charAt(at) !== "|" && text.charAt(at) !== ")") {
      const body = readAtom();
      const repeats = readRepeats();
      parts.push(repeats === undefined ? body : { kind: "repeat", body, ...repeats });
      // Lazy or not, the same texts match.
      if (repeats !== undefined && text.charAt(at) === "?") take(1);
    }
    return { kind: "sequence", parts };
  };

  function readChoice(): ExpressionTree {
    const branches = [readSequence()];
    while (text.charAt(at) === "|") {
      take(1);
      branches.push(readSequence());
    }
    const [only] = branches;
    return branches.length === 1 && only !== undefined ? only : { kind: "choice", branches };
  }

  return readChoice();
}
