import { compileUnitPattern } from "#domain/logs/unit-pattern.ts";
import { coredumpMessageId } from "./collect.ts";
import { countOf, intersection, noPostings, type Postings, union, unionOfParts, wholeList } from "./postings.ts";
import type { Source } from "./source.ts";

export interface Filters {
  readonly units: readonly string[] | undefined;
  readonly priority: number | undefined;
  readonly identifier: string | undefined;
  readonly uid?: number | undefined;
  readonly boots: readonly string[] | undefined;
}

/** Severity of the least severe: with it, as with `journalctl -p debug`, there is no filter. */
const leastSevere = 7;

const isPattern = (text: string): boolean => /[*?[]/.test(text);

/** Entries with a value of the field that fits. Where a value is, its entries are known: nothing is looked up by its hash. */
function withValues(source: Source, name: string, fits: (text: string) => boolean): Postings {
  const lists: Postings[] = [];
  const singles: number[] = [];
  for (const offset of source.valuesOf(name)) {
    const value = source.fields.read(offset);
    if (value === undefined || !fits(value.text)) continue;
    const list = source.entriesOf(offset);
    if (list.length === 1) singles.push(list.at(0));
    else lists.push(wholeList(list));
  }
  return unionOfParts([...lists, { kind: "offsets", offsets: Float64Array.from(singles).sort() }]);
}

/** A field by which one program names the unit of another, and what an entry has to have for that to count. */
interface Claim {
  readonly name: string;
  readonly trusted: readonly string[];
}
export const claims: readonly Claim[] = [
  { name: "UNIT", trusted: ["_PID=1"] },
  { name: "COREDUMP_UNIT", trusted: ["_UID=0", `MESSAGE_ID=${coredumpMessageId}`] },
  { name: "OBJECT_SYSTEMD_UNIT", trusted: ["_UID=0"] },
];

/**
 * Entries of units as `journalctl -u` finds them: what they wrote, what systemd wrote about them, their crashes, and what
 * programs of root wrote about them. What others claim does not count.
 */
function ofUnits(source: Source, units: readonly string[]): Postings {
  const { entriesWith } = source;
  const patterns = units.filter(isPattern).map(compileUnitPattern);
  const names = units.filter((unit) => !isPattern(unit));
  const withUnit = (name: string, ending = ""): Postings => {
    const fits = (text: string): boolean => text.endsWith(ending) && patterns.some((matches) => matches(text));
    const named = names.filter((unit) => unit.endsWith(ending)).map((unit) => entriesWith(`${name}=${unit}`));
    return unionOfParts(patterns.length === 0 ? named : [...named, withValues(source, name, fits)]);
  };
  const about = ({ name, trusted }: Claim): Postings => {
    const written = intersection(trusted.map(entriesWith));
    return countOf(written) === 0 ? noPostings : intersection([withUnit(name), written]);
  };
  return unionOfParts([
    ...(names.includes("kernel") ? [entriesWith("_TRANSPORT=kernel")] : []),
    withUnit("_SYSTEMD_UNIT"),
    ...claims.map(about),
    withUnit("_SYSTEMD_SLICE", ".slice"),
  ]);
}

export function matching(source: Source, filters: Filters): Postings | undefined {
  const terms = termsOf(source, filters);
  const [only] = terms;
  if (terms.length < 2) return only?.();
  const { units, priority, identifier, uid, boots } = filters;
  const term = JSON.stringify([units, priority, identifier, uid, boots]);
  return source.entriesOfTerm(term, () => intersection(terms.map((make) => make())));
}

function termsOf(source: Source, { units, priority, identifier, uid, boots }: Filters): readonly (() => Postings)[] {
  const terms: (() => Postings)[] = [];
  if (units !== undefined) {
    const names = [...new Set(units)];
    terms.push(() => source.entriesOfTerm(`unit ${names.join("\0")}`, () => ofUnits(source, names)));
  }
  if (priority !== undefined && priority < leastSevere) {
    const levels = (): Postings =>
      unionOfParts(Array.from({ length: priority + 1 }, (_, level) => source.entriesWith(`PRIORITY=${level}`)));
    terms.push(() => source.entriesOfTerm(`priority ${priority}`, levels));
  }
  if (identifier !== undefined) terms.push(() => source.entriesWith(`SYSLOG_IDENTIFIER=${identifier}`));
  if (uid !== undefined) terms.push(() => source.entriesWith(`_UID=${uid}`));
  if (boots !== undefined) terms.push(() => union(boots.map((boot) => source.entriesWith(`_BOOT_ID=${boot}`))));
  return terms;
}

/** Entries of the units of one file; undefined: of all. */
export const matchingUnits = (source: Source, units: readonly string[] | undefined): Postings | undefined =>
  units === undefined
    ? undefined
    : matching(source, { units, priority: undefined, identifier: undefined, boots: undefined });
