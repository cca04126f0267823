import { isoTime } from "#adapters/journal-format/text.ts";

/** Characters that take two columns of a terminal (Unicode TR 11, wide and full-width). */
const wide =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1b000}-\u{1b2ff}\u{20000}-\u{3fffd}]|^\p{Emoji_Presentation}/u;
const weightless = /^[\p{Mn}\p{Me}\p{Cf}]/u;
const plain = /^[ -~]*$/;

let segmenter: Intl.Segmenter | undefined;

function charactersOf(text: string): readonly string[] {
  if (plain.test(text)) return text.split("");
  segmenter ??= new Intl.Segmenter("en", { granularity: "grapheme" });
  return [...segmenter.segment(text)].map(({ segment }) => segment);
}

function widthOfCharacter(character: string): number {
  if (wide.test(character)) return 2;
  return weightless.test(character) ? 0 : 1;
}

export const textWidth = (text: string): number =>
  plain.test(text)
    ? text.length
    : charactersOf(text).reduce((width, character) => width + widthOfCharacter(character), 0);

/** Text cut to so many columns; cut text ends with an ellipsis. */
export function fitText(text: string, columns: number): string {
  if (textWidth(text) <= columns) return text;
  let width = 0;
  let fitting = "";
  for (const character of charactersOf(text)) {
    width += widthOfCharacter(character);
    if (width > columns - 1) break;
    fitting += character;
  }
  return columns < 1 ? "" : `${fitting}…`;
}

/** Text over several lines of so many columns, broken between words; what is left of too much is cut. */
export function wrapText(text: string, columns: number, mostLines: number): readonly string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    const longer = line === "" ? word : `${line} ${word}`;
    if (line === "" || lines.length === mostLines - 1 || textWidth(longer) <= columns) {
      line = longer;
      continue;
    }
    lines.push(fitText(line, columns));
    line = word;
  }
  return [...lines, fitText(line, columns)];
}

const steps = [
  ["d", 86_400],
  ["h", 3600],
  ["min", 60],
  ["s", 1],
] as const;

/** A time span in its two largest units. */
export function formatSpan(seconds: number): string {
  let rest = Math.max(0, Math.round(seconds));
  const parts: string[] = [];
  for (const [unit, size] of steps) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    // What follows a gap would be out of proportion.
    if (parts.length > 0 && count === 0) break;
    if (count > 0) parts.push(`${count} ${unit}`);
    if (parts.length === 2) break;
  }
  return parts.join(" ") || "0 s";
}

/** A time for people: local, with the offset of its zone, as `date --rfc-3339=seconds` prints it (`2026-01-31 14:00:00+01:00`). */
export const formatTime = (timestamp: string): string =>
  isoTime(new Date(timestamp)).replace("T", " ").replace(/\d\d$/, ":$&");

const utcTime = /\b\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z/g;

/** A text of the service with its times as {@link formatTime} has them. */
export const withLocalTimes = (text: string): string => text.replaceAll(utcTime, (time) => formatTime(time));

export const formatAge = (timestamp: string, now: number): string =>
  `${formatSpan((now - Date.parse(timestamp)) / 1000)} ago`;
