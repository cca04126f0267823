import { parseNumber, parseRange, type Range } from "./range.ts";

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

/** A bare or quoted label, in which two quotes stand for one; then everything up to the next blank. */
const item = /(?:'((?:[^']|'')+)'|([^\s'=]+))=(\S*)(?!\S)/uy;
const blanks = /\s*/uy;
const word = /\S+/uy;
/** A unit may contain digits (`m3`), but does not begin like the rest of a number. */
const figure = /^([-+\d.,]+(?:[eE][-+]?\d+)?)([^\d.,;+\-'"=\s][^;'"=\s]*)?$/u;

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

/** Parses performance data; malformed parts are left out and counted. */
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
