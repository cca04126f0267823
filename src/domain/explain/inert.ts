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

/**
 * The beginning of a text in no more than so many bytes of UTF-8, what was cut off told at its end.
 * @param beyond bytes that were cut off before.
 */
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
