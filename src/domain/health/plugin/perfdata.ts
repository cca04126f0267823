import type { Range } from "./range.ts";
import { parseNumber, parseRange } from "./range.ts";

/** A figure that a plugin gave for graphs. */
export interface PerfValue {
  readonly label: string;
  /** Null where the plugin could not tell (`U`). */
  readonly value: number | null;
  /** Unit of measurement as written: `s`, `%`, `B`, `c`; empty without one. */
  readonly unit: string;
  readonly warn: Range | null;
  readonly crit: Range | null;
  readonly min: number | null;
  readonly max: number | null;
}

export interface Perfdata {
  readonly values: readonly PerfValue[];
  /** Parts that could not be read and were left out: whole figures, or single thresholds and bounds. */
  readonly malformed: number;
}

/** A quoted label, in which two quotes stand for one, or a bare one; then everything up to the next blank. */
const item = /(?:'((?:[^']|'')+)'|([^\s'=]+))=(\S*)(?!\S)/uy;
const blanks = /\s*/uy;
const word = /\S+/uy;
/** A figure and its unit. A unit may hold digits (`m3`), but begins with something that no number goes on with. */
const figure = /^([-+\d.,]+(?:[eE][-+]?\d+)?)([^\d.,;+\-'"=\s][^;'"=\s]*)?$/u;

/** Takes what the pattern matches at this place. */
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

/** Reads `value[UOM];[warn];[crit];[min];[max]`; undefined where there is no figure. */
function parseFields(label: string, text: string): { value: PerfValue; malformed: number } | undefined {
  const [first = "", warn = "", crit = "", min = "", max = "", ...rest] = text.split(";");
  const parsed = parseFigure(first);
  if (parsed === undefined) return undefined;
  const { unit } = parsed;
  let malformed = rest.filter((field) => field !== "").length;
  const read = <T>(field: string, parse: (field: string) => T | undefined): T | null => {
    if (field === "") return null;
    // Some repeat the unit in every field.
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

/** Reads the performance data of a plugin. What is malformed is left out and counted; the rest is right. */
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
    // After something that is no item, the next word may be one again.
    place += (match ?? matchAt(word, text, place))?.[0].length ?? 0;
    place += matchAt(blanks, text, place)?.[0].length ?? 0;
  }
  return { values, malformed };
}
