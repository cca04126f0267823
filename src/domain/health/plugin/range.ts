/** A threshold of the plugin interface. */
export interface Range {
  readonly text: string;
  /** Null: from minus infinity. */
  readonly start: number | null;
  /** Null: to infinity. */
  readonly end: number | null;
  /** Whether figures inside the range (ends included) are alerts, or those outside. */
  readonly inside: boolean;
}

/** Parses `10`, `10:`, `~:10`, `10:20` and `@10:20`; undefined for anything else. */
export function parseRange(text: string): Range | undefined {
  const inside = text.startsWith("@");
  const [first = "", second, ...rest] = text.slice(inside ? 1 : 0).split(":");
  if (rest.length > 0) return undefined;
  // A single number is the end of a range from 0.
  const [startText, endText] = second === undefined ? ["", first] : [first, second];
  if (second === undefined && endText === "") return undefined;
  const start = startText === "~" ? null : startText === "" ? 0 : parseNumber(startText);
  const end = endText === "" ? null : parseNumber(endText);
  if (start === undefined || end === undefined) return undefined;
  if (start !== null && end !== null && start > end) return undefined;
  return { text, start, end, inside };
}

const decimal = /^[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?$/;
/** `1,5` or `0,125`; `1,234` may as well be more than a thousand. */
const decimalComma = /^[-+]?(?:\d+,(?:\d{1,2}|\d{4,})|0+,\d+)$/;

/** A number as plugins write it, also with an unambiguous decimal comma; undefined for anything else. */
export function parseNumber(text: string): number | undefined {
  const point = decimalComma.test(text) ? text.replace(",", ".") : text;
  if (!decimal.test(point)) return undefined;
  const value = Number(point);
  // Avoids minus zero, which JSON does not have.
  return Number.isFinite(value) ? value + 0 : undefined;
}
