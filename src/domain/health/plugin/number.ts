const decimal = /^[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?$/;
/** `1,5` or `0,125`; `1,234` may as well be more than a thousand. */
const decimalComma = /^[-+]?(?:\d+,(?:\d{1,2}|\d{4,})|0+,\d+)$/;

/** A number as plugins write it, also with a decimal comma where that is unambiguous; undefined for anything else. */
export function parseNumber(text: string): number | undefined {
  const point = decimalComma.test(text) ? text.replace(",", ".") : text;
  if (!decimal.test(point)) return undefined;
  const value = Number(point);
  // JSON has no minus zero, so there is none here either.
  return Number.isFinite(value) ? value + 0 : undefined;
}
