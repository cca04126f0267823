type Range = readonly [from: number, to: number];

/** What one character may be, in JavaScript's syntax with the flag `v`. */
export interface CharacterSet {
  readonly source: string;
}

const lower: Range = [0x61, 0x7a];
const upper: Range = [0x41, 0x5a];
const digits: Range = [0x30, 0x39];
const caseDistance = 0x20;

const written = (code: number): string =>
  code < 0x80 && /[0-9A-Za-z]/.test(String.fromCharCode(code))
    ? String.fromCharCode(code)
    : `\\u{${code.toString(16)}}`;
const writeRange = ([from, to]: Range): string => (from === to ? written(from) : `${written(from)}-${written(to)}`);

/** The part of a range that is in another one, so many numbers on. */
function overlap([from, to]: Range, [first, last]: Range, distance: number): readonly Range[] {
  const [start, end] = [Math.max(from, first), Math.min(to, last)];
  return start <= end ? [[start + distance, end + distance]] : [];
}

/** The range with its letters of A to Z in the other case: those are the only ones that have a case for `journalctl -g`. */
const bothCases = (range: Range): readonly Range[] => [
  range,
  ...overlap(range, lower, -caseDistance),
  ...overlap(range, upper, caseDistance),
];

export function characterSet(
  ranges: readonly Range[],
  {
    sets = [],
    isNegated = false,
    ignoresCase = false,
  }: { readonly sets?: readonly CharacterSet[]; readonly isNegated?: boolean; readonly ignoresCase?: boolean } = {},
): CharacterSet {
  const all = ignoresCase ? ranges.flatMap(bothCases) : ranges;
  const parts = [...all.map(writeRange), ...sets.map(({ source }) => source)];
  return { source: `[${isNegated ? "^" : ""}${parts.join("")}]` };
}

export function oneCharacter(code: number, ignoresCase: boolean): CharacterSet {
  const both = ignoresCase ? bothCases([code, code]) : [];
  return both.length > 1 ? characterSet(both) : { source: written(code) };
}

const word = [lower, upper, digits, [0x5f, 0x5f]] as const;
/** The sets of `\d` and its like. Letters, digits and words are those of ASCII, as for `journalctl -g`. */
const shorthands: Readonly<Record<string, readonly Range[]>> = {
  d: [digits],
  w: word,
  s: [
    [0x09, 0x0d],
    [0x20, 0x20],
  ],
  h: [0x09, 0x20, 0xa0, 0x1680, 0x180e, 0x202f, 0x205f, 0x3000]
    .map((code): Range => [code, code])
    .concat([[0x2000, 0x200a]]),
  v: [
    [0x0a, 0x0d],
    [0x85, 0x85],
    [0x2028, 0x2029],
  ],
};

/** The set of an escape such as `\d` or `\D`; undefined for another letter. */
export function shorthandSet(letter: string): CharacterSet | undefined {
  const ranges = Object.hasOwn(shorthands, letter.toLowerCase()) ? shorthands[letter.toLowerCase()] : undefined;
  return ranges && characterSet(ranges, { isNegated: letter !== letter.toLowerCase() });
}

const posix: Readonly<Record<string, readonly Range[]>> = {
  alpha: [lower, upper],
  lower: [lower],
  upper: [upper],
  alnum: [lower, upper, digits],
  ascii: [[0x00, 0x7f]],
  blank: [
    [0x09, 0x09],
    [0x20, 0x20],
  ],
  cntrl: [
    [0x00, 0x1f],
    [0x7f, 0x7f],
  ],
  digit: [digits],
  graph: [[0x21, 0x7e]],
  print: [[0x20, 0x7e]],
  punct: [
    [0x21, 0x2f],
    [0x3a, 0x40],
    [0x5b, 0x60],
    [0x7b, 0x7e],
  ],
  space: [
    [0x09, 0x0d],
    [0x20, 0x20],
  ],
  word,
  xdigit: [digits, [0x61, 0x66], [0x41, 0x46]],
};

/** The set of `[:name:]` within a class. */
export function posixSet(name: string, ignoresCase: boolean, isNegated: boolean): CharacterSet | undefined {
  const ranges = Object.hasOwn(posix, name) ? posix[name] : undefined;
  return ranges && characterSet(ranges, { isNegated, ignoresCase });
}

function isProperty(text: string): boolean {
  try {
    return new RegExp(`\\p{${text}}`, "v").test("") || true;
  } catch {
    return false;
  }
}

/** The set of `\p{name}`, or all others. */
export function propertySet(text: string, isInverted: boolean): CharacterSet | undefined {
  const isNegated = text.startsWith("^") !== isInverted;
  const name = text.replace(/^\^/, "");
  if (name === "Any") return characterSet([[0, 0x10_ffff]], { isNegated });
  if (!/^[A-Za-z_=]+&?$/.test(name)) return undefined;
  const forms = name === "L&" ? ["LC"] : [name, `Script_Extensions=${name}`];
  const form = forms.find(isProperty);
  return form === undefined ? undefined : { source: `\\${isNegated ? "P" : "p"}{${form}}` };
}
