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
  const reported = (left: number): string => `…[${left} bytes cut off]`;
  const space = most - utf8Length(reported(bytes));
  let kept = "";
  let used = 0;
  for (const character of text) {
    const size = utf8Length(character);
    if (used + size > space) break;
    kept += character;
    used += size;
  }
  return kept + reported(bytes - used);
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

const mostAnswerBytes = 16 * 1024;

/** The text of a model as it is shown. Only the shown part is processed: the provider decides how long an answer is. */
export function shownAnswer(content: string): string {
  const head = content.slice(0, mostAnswerBytes);
  return cutTo(inertLines(head), mostAnswerBytes, utf8Length(content) - utf8Length(head));
}
