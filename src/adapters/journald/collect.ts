import { type FieldValue, field, fieldNames, type PlainMessage } from "./fields.ts";
import type { Source } from "./source.ts";

export interface Collected {
  /** By number of the field. Of a field that is there more than once the first counts, as sd_journal_get_data(3) has it. */
  readonly first: readonly (FieldValue | undefined)[];
  readonly all: readonly FieldValue[];
  /** The unit that wrote it; undefined where the entry may be about another one. */
  readonly writer: FieldValue | undefined;
  /** Whether a value is too long to be shown whole. */
  readonly isCut: boolean;
}

/**
 * Reads entries into one and the same object, which the next call fills anew. A plain message is among its values only
 * where nobody takes it.
 */
export function createCollector(): (source: Source, offset: number, plain?: PlainMessage) => Collected {
  const items: number[] = [];
  const first: (FieldValue | undefined)[] = fieldNames.map(() => undefined);
  const all: FieldValue[] = [];
  const collected: { -readonly [Key in keyof Collected]: Collected[Key] } = {
    first,
    all,
    writer: undefined,
    isCut: false,
  };
  return (source, offset, plain) => {
    const count = source.entries.items(offset, items);
    first.fill(undefined);
    all.length = 0;
    let hasSubject = false;
    collected.isCut = false;
    for (let index = 0; index < count; index += 1) {
      // Of several messages the first counts.
      const isTaken = plain?.offset !== undefined || first[field.MESSAGE] !== undefined;
      const value = source.fields.read(items[index] ?? 0, isTaken ? undefined : plain);
      if (value === undefined) continue;
      all.push(value);
      if (value.cut !== undefined) collected.isCut = true;
      if (subjects.has(value.field) && (value.field !== field._TRANSPORT || value.text === "kernel")) hasSubject = true;
      if (first[value.field] === undefined) first[value.field] = value;
    }
    collected.writer = hasSubject ? undefined : first[field._SYSTEMD_UNIT];
    return collected;
  };
}

const defaultPriority = 6;
const priorityText = /^[0-7]$/;
const pidText = /^[1-9]\d{0,14}$/;

/** The severity that an entry states; null when it states none that there is. */
export function statedPriority({ first }: Collected): number | null {
  const text = first[field.PRIORITY]?.text;
  return text !== undefined && priorityText.test(text) ? Number(text) : null;
}

export const shownPriority = (collected: Collected): number => statedPriority(collected) ?? defaultPriority;

/** The process: as the kernel knows it, else as the program says. */
export function shownPid({ first }: Collected): number | null {
  const [trusted = "", claimed = ""] = [first[field._PID]?.text, first[field.SYSLOG_PID]?.text];
  if (pidText.test(trusted)) return Number(trusted);
  return pidText.test(claimed) ? Number(claimed) : null;
}

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

/** Fields by which an entry may be about another unit than the one that wrote it. */
const subjects: ReadonlySet<number> = new Set([
  field.UNIT,
  field.COREDUMP_UNIT,
  field.OBJECT_SYSTEMD_UNIT,
  field._TRANSPORT,
]);

export const valuesOf =
  ({ all }: Collected): Values =>
  (name) =>
    all.flatMap((value) => (value.field === field[name] ? [value.text] : []));
