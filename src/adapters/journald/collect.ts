import { type FieldValue, field, fieldNames, type PlainMessage } from "./fields.ts";
import type { Refilled } from "./journal-file/entry.ts";
import type { Source } from "./source.ts";

export interface Collected {
  /** By number of the field. Of a field that is there more than once the first counts, as sd_journal_get_data(3) has it. */
  readonly first: readonly (FieldValue | undefined)[];
  /** All of them, and how many: what is behind those is of another entry. */
  readonly all: readonly FieldValue[];
  readonly count: number;
  /** The unit that wrote it; undefined where the entry may be about another one. */
  readonly writer: FieldValue | undefined;
  /** Whether a value is too long to be shown whole. */
  readonly isCut: boolean;
}

/**
 * Reads entries into one and the same object, which the next call fills again. A plain message is among its values only
 * where nobody takes it.
 */
export function createCollector() {
  const items: number[] = [];
  const first: (FieldValue | undefined)[] = fieldNames.map(() => undefined);
  const all: FieldValue[] = [];
  const collected: Refilled<Collected> = { first, all, count: 0, writer: undefined, isCut: false };
  /** Collects some of an entry's fields, so many of the given ones. */
  const ofItems = (
    { fields }: Source,
    given: readonly number[],
    itemCount: number,
    plain?: PlainMessage,
  ): Collected => {
    first.fill(undefined);
    let hasSubject = false;
    let count = 0;
    collected.isCut = false;
    for (let index = 0; index < itemCount; index += 1) {
      // Of several messages the first counts.
      const isTaken = plain?.offset !== undefined || first[field.MESSAGE] !== undefined;
      const value = fields.read(given[index] ?? 0, isTaken ? undefined : plain);
      if (value === undefined) continue;
      all[count] = value;
      count += 1;
      if (value.cut !== undefined) collected.isCut = true;
      if (value.isSubject) hasSubject = true;
      if (first[value.field] === undefined) first[value.field] = value;
    }
    // What is behind them may be long, and is only kept to save the making of another array for each entry.
    if (all.length > 2 * fieldNames.length) all.length = count;
    collected.count = count;
    collected.writer = hasSubject ? undefined : first[field._SYSTEMD_UNIT];
    return collected;
  };
  const ofEntry = (source: Source, offset: number): Collected =>
    ofItems(source, items, source.entries.items(offset, items));
  return { ofItems, ofEntry };
}

const defaultPriority = 6;

/** The severity that an entry states; null when it states none that there is. */
export const statedPriority = ({ first }: Collected): number | null => first[field.PRIORITY]?.number ?? null;

export const shownPriority = (collected: Collected): number => statedPriority(collected) ?? defaultPriority;

/** The process: as the kernel knows it, else as the program says. */
export const shownPid = ({ first }: Collected): number | null =>
  first[field._PID]?.number ?? first[field.SYSLOG_PID]?.number ?? null;

/** systemd-coredump's own messages bear this id. */
export const coredumpMessageId = "fc2e22bc6ee647b6b90729ab34a250b1";

type UnitField =
  | "_SYSTEMD_UNIT"
  | "UNIT"
  | "COREDUMP_UNIT"
  | "OBJECT_SYSTEMD_UNIT"
  | "_SYSTEMD_SLICE"
  | "_PID"
  | "_UID"
  | "_TRANSPORT"
  | "MESSAGE_ID";

/** All values of a field of an entry. */
type Values = (name: UnitField) => readonly string[];

/**
 * The unit that an entry is about, then the one that wrote it: what systemd (process 1) or a program of root wrote about a
 * unit, and crashes that root's systemd-coredump reports. What others claim does not count. `kernel` for the kernel's own
 * messages.
 */
function namedUnits(values: Values): readonly string[] {
  const isRoot = values("_UID").includes("0");
  const isCoredump = isRoot && values("MESSAGE_ID").includes(coredumpMessageId);
  return [
    ...(values("_TRANSPORT").includes("kernel") ? ["kernel"] : []),
    ...(values("_PID").includes("1") ? values("UNIT") : []),
    ...(isCoredump ? values("COREDUMP_UNIT") : []),
    ...(isRoot ? values("OBJECT_SYSTEMD_UNIT") : []),
    ...values("_SYSTEMD_UNIT"),
  ].filter((name) => name !== "");
}

/** The `unit` of an entry: a filter for that unit finds the entry. Empty where it has none. */
export const shownUnit = (values: Values): string => namedUnits(values)[0] ?? "";

/** The units that an entry belongs to, by the rules of `journalctl -u`: those that it names, and its slice. */
export const unitsOfEntry = (values: Values): readonly string[] => [
  ...new Set([...namedUnits(values), ...values("_SYSTEMD_SLICE").filter((name) => name.endsWith(".slice"))]),
];

export const valuesOf =
  ({ all, count }: Collected): Values =>
  (name) =>
    all.slice(0, count).flatMap((value) => (value.field === field[name] ? [value.text] : []));

/** The `unit` of an entry. */
export const unitOf = (collected: Collected): string => collected.writer?.text ?? shownUnit(valuesOf(collected));
