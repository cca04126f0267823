import { compileUnitPattern } from "#domain/logs/unit-pattern.ts";
import { coredumpMessageId } from "./collect.ts";
import { intersection, noPostings, type Postings, union } from "./postings.ts";
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

const unitFields = ["_SYSTEMD_UNIT", "UNIT", "COREDUMP_UNIT", "OBJECT_SYSTEMD_UNIT", "_SYSTEMD_SLICE"] as const;

const isPattern = (text: string): boolean => /[*?[]/.test(text);

/**
 * Entries of a unit as `journalctl -u` finds them: what it wrote, what systemd wrote about it, its crashes, and what
 * programs of root wrote about it. What others claim does not count.
 */
function ofUnit(source: Source, unit: string): Postings {
  const { entriesWith } = source;
  if (unit === "kernel") return entriesWith("_TRANSPORT=kernel");
  const about = (pair: string, ...trusted: readonly string[]): Postings => {
    const named = entriesWith(pair);
    return named === noPostings ? noPostings : intersection([named, ...trusted.map(entriesWith)]);
  };
  return union([
    entriesWith(`_SYSTEMD_UNIT=${unit}`),
    about(`UNIT=${unit}`, "_PID=1"),
    about(`COREDUMP_UNIT=${unit}`, "_UID=0", `MESSAGE_ID=${coredumpMessageId}`),
    about(`OBJECT_SYSTEMD_UNIT=${unit}`, "_UID=0"),
    ...(unit.endsWith(".slice") ? [entriesWith(`_SYSTEMD_SLICE=${unit}`)] : []),
  ]);
}

function unitsLike(source: Source, pattern: string): readonly string[] {
  const fits = compileUnitPattern(pattern);
  const names = new Set<string>();
  for (const name of unitFields) {
    for (const offset of source.valuesOf(name)) {
      const value = source.fields.read(offset);
      if (value !== undefined && fits(value.text)) names.add(value.text);
    }
  }
  return [...names];
}

export function matching(source: Source, { units, priority, identifier, uid, boots }: Filters): Postings | undefined {
  const terms: Postings[] = [];
  if (units !== undefined) {
    const names = new Set(units.flatMap((unit) => (isPattern(unit) ? unitsLike(source, unit) : [unit])));
    terms.push(union([...names].map((name) => ofUnit(source, name))));
  }
  if (priority !== undefined && priority < leastSevere) {
    const levels = Array.from({ length: priority + 1 }, (_, level) => source.entriesWith(`PRIORITY=${level}`));
    terms.push(union(levels));
  }
  if (identifier !== undefined) terms.push(source.entriesWith(`SYSLOG_IDENTIFIER=${identifier}`));
  if (uid !== undefined) terms.push(source.entriesWith(`_UID=${uid}`));
  if (boots !== undefined) terms.push(union(boots.map((boot) => source.entriesWith(`_BOOT_ID=${boot}`))));
  return terms.length === 0 ? undefined : intersection(terms);
}
