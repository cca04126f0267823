/** What stands where a secret was. */
export const mark = "[redacted]";

/** A part of a line, its end not included. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Where a match stands. */
export const spanOf = ({ index, 0: text }: RegExpMatchArray): Span => ({
  start: index ?? 0,
  end: (index ?? 0) + text.length,
});
