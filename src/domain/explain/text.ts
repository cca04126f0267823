import { utf8Length } from "#kernel/text.ts";

/** What is not seen, moves the cursor, changes direction, ends a line or hides text in text. */
const active = /[\p{C}\p{Zl}\p{Zp}\p{Variation_Selector}]/gu;
const known: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

const escaped = (character: string): string =>
  known[character] ?? `\\u{${(character.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}}`;

/** A text on one line, in which everything that acts rather than shows is written out: `\n`, `\u{001b}`, `\u{202e}`. */
export const inert = (text: string): string => text.replaceAll(active, escaped);

/** The same for a text of several lines, which stay lines. */
export const inertLines = (text: string): string =>
  text.replaceAll(active, (character) => (character === "\n" || character === "\t" ? character : escaped(character)));

/** The start of a text in so many bytes of UTF-8, and how many are cut off. @param beyond bytes that were cut off before. */
export function cutTo(text: string, most: number, beyond = 0): string {
  const bytes = utf8Length(text) + beyond;
  if (bytes <= most) return text;
  const told = (left: number): string => `…[${left} bytes cut off]`;
  const room = most - utf8Length(told(bytes));
  let kept = "";
  let used = 0;
  for (const character of text) {
    const size = utf8Length(character);
    if (used + size > room) break;
    kept += character;
    used += size;
  }
  return kept + told(bytes - used);
}

const usualChars = 2 * 1024;
/** An escaped line end takes two bytes, so no more lines can be shown. */
const mostLines = 250;
/** Never part of a key, token or address. */
const boundaries = " \t\n\r\"'<>`";

/** Where to cut a long text: half a secret is not recognized. */
function cutPosition(text: string, most: number): number {
  if (text.length <= most) return text.length;
  let end = most;
  while (end > 0 && !boundaries.includes(text.charAt(end - 1))) end -= 1;
  return end;
}

/** The first lines of a text: writers of the log must not decide how long the search for secrets takes. */
export function beginningOf(text: string, most: number = usualChars): readonly string[] {
  const lines = text.slice(0, cutPosition(text, most)).split("\n", mostLines);
  const kept = lines.reduce((sum, line) => sum + line.length + 1, -1);
  if (kept === text.length) return lines;
  return [...lines.slice(0, -1), `${lines.at(-1) ?? ""}…[${text.length - kept} characters cut off]`];
}

/** Line numbers in square brackets: `[L3]`, `[L3, L7]`, `[L3-L5]`, `[L3][7]`. */
const group = /\[(L[L0-9 ,;\u2013-]{1,200})\]/gi;
const item = /L?([0-9]{1,4})(?:\s?[\u2013-]\s?L?([0-9]{1,4}))?/gi;

/** The lines that a text cites, first and last of each range. */
function* citations(text: string): Generator<readonly [first: number, last: number]> {
  for (const [, list = ""] of text.matchAll(group))
    for (const [, first = "", last = first] of list.matchAll(item)) yield [Number(first), Number(last)];
}

/** The lines from 1 to `count` that a text cites, in the order of their first mention. */
export function citedLines(text: string, count: number): readonly number[] {
  const cited = new Set<number>();
  for (const [first, last] of citations(text)) {
    const end = Math.min(last, count);
    for (let line = Math.max(1, first); line <= end; line += 1) cited.add(line);
  }
  return [...cited];
}

/** What a text cites beyond the lines from 1 to `count`: `L99`. */
export function strangeLines(text: string, count: number): readonly string[] {
  const isStrange = (line: number): boolean => line < 1 || line > count;
  return [...new Set([...citations(text)].flat().filter(isStrange))].map((line) => `L${line}`);
}
