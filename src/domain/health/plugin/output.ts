interface Range {
  readonly text: string;
  readonly start: number | null;
  readonly end: number | null;
  /** Whether figures inside the range (ends included) are alerts, or those outside. */
  readonly inside: boolean;
}

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
function parseNumber(text: string): number | undefined {
  const point = decimalComma.test(text) ? text.replace(",", ".") : text;
  if (!decimal.test(point)) return undefined;
  const value = Number(point);
  // Avoids minus zero, which JSON does not have.
  return Number.isFinite(value) ? value + 0 : undefined;
}

export interface PerfValue {
  readonly label: string;
  /** Null where the plugin could not tell (`U`). */
  readonly value: number | null;
  /** As written: `s`, `%`, `B`, `c`; may be empty. */
  readonly unit: string;
  readonly warn: Range | null;
  readonly crit: Range | null;
  readonly min: number | null;
  readonly max: number | null;
}

export interface Perfdata {
  readonly values: readonly PerfValue[];
  /** Figures, thresholds and bounds that could not be parsed. */
  readonly malformed: number;
}

/** A bare or quoted label, in which two quotes stand for one; then everything up to the next blank, without a comma that some plugins put there. */
const item = /(?:'((?:[^']|'')+)'|([^\s'=]+))=(\S*?),?(?!\S)/uy;
const blanks = /\s*/uy;
const word = /\S+/uy;
/** A unit may contain digits (`m3`), but does not begin like the rest of a number. */
const figure = /^([-+\d.,]+(?:[eE][-+]?\d+)?)([^\d.,;+\-_'"=\s][^;'"=\s]*)?$/u;

function matchAt(pattern: RegExp, text: string, place: number): RegExpExecArray | null {
  pattern.lastIndex = place;
  return pattern.exec(text);
}

interface Figure {
  readonly value: number | null;
  readonly unit: string;
}

function parseFigure(text: string): Figure | undefined {
  if (text === "U") return { value: null, unit: "" };
  const [, digits = "", unit = ""] = figure.exec(text) ?? [];
  const value = parseNumber(digits);
  return value === undefined ? undefined : { value, unit };
}

/** Parses `value[UOM];[warn];[crit];[min];[max]`; undefined without a value. */
function parseFields(label: string, text: string): { value: PerfValue; malformed: number } | undefined {
  const [first = "", warn = "", crit = "", min = "", max = "", ...rest] = text.split(";");
  const parsed = parseFigure(first);
  if (parsed === undefined) return undefined;
  const { unit } = parsed;
  let malformed = rest.filter((field) => field !== "").length;
  const read = <T>(field: string, parse: (field: string) => T | undefined): T | null => {
    if (field === "") return null;
    // Some plugins repeat the unit in every field.
    const value = parse(unit !== "" && field.endsWith(unit) ? field.slice(0, -unit.length) : field);
    if (value === undefined) malformed += 1;
    return value ?? null;
  };
  const readRange = (field: string): Range | null => {
    const range = read(field, parseRange);
    return range === null ? null : { ...range, text: field };
  };
  const value: PerfValue = {
    label,
    ...parsed,
    warn: readRange(warn),
    crit: readRange(crit),
    min: read(min, parseNumber),
    max: read(max, parseNumber),
  };
  return { value, malformed };
}

export function parsePerfdata(text: string): Perfdata {
  const values: PerfValue[] = [];
  let malformed = 0;
  let place = matchAt(blanks, text, 0)?.[0].length ?? 0;
  while (place < text.length) {
    const match = matchAt(item, text, place);
    const [, quoted, bare, fields = ""] = match ?? [];
    const label = quoted?.replaceAll("''", "'") ?? bare;
    const parsed = label === undefined ? undefined : parseFields(label, fields);
    if (parsed === undefined) malformed += 1;
    else {
      values.push(parsed.value);
      malformed += parsed.malformed;
    }
    // The next word after a malformed one may be an item again.
    place += (match ?? matchAt(word, text, place))?.[0].length ?? 0;
    place += matchAt(blanks, text, place)?.[0].length ?? 0;
  }
  return { values, malformed };
}

export interface PluginOutput {
  /** The first line, without its performance data. */
  readonly text: string;
  readonly longText: string;
  readonly perfdata: Perfdata;
}

/** All control characters but newline and tab. */
const controlCharacters = /[^\P{Cc}\n\t]/gu;

const cutAtBar = (text: string): readonly [before: string, after: string] => {
  const bar = text.indexOf("|");
  return bar === -1 ? [text, ""] : [text.slice(0, bar), text.slice(bar + 1)];
};

const withoutLastWord = (text: string): string =>
  text.slice(0, Math.max(...[" ", "\t", "\n"].map((blank) => text.lastIndexOf(blank))) + 1);

export const printable = (text: string): string => text.replaceAll(controlCharacters, "");

/**
 * Parses the output of a plugin: `text | perfdata` in the first line, then long text, and after the next bar only perfdata.
 * @param isCut whether `stdout` is incomplete: a figure at its end may be wrong, and is left out.
 */
export function parseOutput(stdout: string, isCut = false): PluginOutput {
  const clean = printable(stdout);
  const newline = clean.indexOf("\n");
  const [firstLine, others] = newline === -1 ? [clean, ""] : [clean.slice(0, newline), clean.slice(newline + 1)];
  const [text, firstPerfdata] = cutAtBar(firstLine);
  const [longText, morePerfdata] = cutAtBar(others);
  // The last part of the output is what follows the first bar, or the second where there are more lines.
  const whole = (part: string, isLast: boolean): string => (isCut && isLast ? withoutLastWord(part) : part);
  const perfdata = [whole(firstPerfdata, newline === -1), whole(morePerfdata, true)].join(" ");
  return {
    text: text.trim(),
    longText: longText.trimEnd(),
    perfdata: parsePerfdata(perfdata.replaceAll("\n", " ")),
  };
}
