import { type FieldValue, fieldValue, isoTime, shortTime, sizeText, withoutStyles } from "./text.ts";

/** An entry with its fields as they are in the journal. */
export interface RawEntry {
  readonly cursor: string;
  readonly fields: readonly FieldValue[];
}

export interface OutputOptions {
  /** Values that are very long or not printable, too. */
  readonly all: boolean;
  /** The fields to print, where not all are. */
  readonly fields: readonly string[] | undefined;
}

type Format = (entry: RawEntry, options: OutputOptions) => readonly (Buffer | string)[];

/** Texts about an entry that are longer are left out of its line. */
const longestShown = 300;
/** A value is null in JSON from so many bytes on, its name and the equals sign included. */
const longestJson = 4096;

interface Timestamps {
  readonly realtime: bigint;
  readonly monotonic: bigint;
  readonly bootId: string;
}

/** How an entry begins: what its cursor says. */
export interface EntryHead {
  readonly cursor: string;
  readonly realtime: bigint | number;
  readonly monotonic: bigint | number;
  readonly bootId: string;
}

const hex = (text: string | undefined): bigint => BigInt(`0x${text ?? "0"}`);

/** What only the cursor says. */
function timestampsOf(cursor: string): Timestamps {
  const members = new Map(cursor.split(";").map((part) => [part.slice(0, 1), part.slice(2)]));
  return { realtime: hex(members.get("t")), monotonic: hex(members.get("m")), bootId: members.get("b") ?? "" };
}

/** The head of the entry that a cursor names. */
export const headOf = (cursor: string): EntryHead => ({ cursor, ...timestampsOf(cursor) });

/** Of a field that is there more than once the last value counts. */
const lastOf = ({ fields }: RawEntry, name: string): FieldValue | undefined =>
  fields.findLast((field) => field.name === name);

/** When it was written, as the program says, else journald. */
function timestampShown(entry: RawEntry): bigint {
  const stated = lastOf(entry, "_SOURCE_REALTIME_TIMESTAMP")?.bytes.toString("latin1") ?? "";
  const micros = /^[1-9]\d{0,15}$/.test(stated) ? BigInt(stated) : 0n;
  return micros > 0n ? micros : timestampsOf(entry.cursor).realtime;
}

const isShown = (field: FieldValue | undefined, { all }: OutputOptions): field is FieldValue =>
  field !== undefined && (all || (field.bytes.length < longestShown && field.isPrintable));

const lineFeed = 0x0a;

/** What is shown of bytes on a line: journalctl ends at a NUL. */
function untilNul(bytes: Buffer): Buffer {
  const end = bytes.indexOf(0);
  return end < 0 ? bytes : bytes.subarray(0, end);
}

/** Lines of a text, each but the first indented by so many spaces; a line feed at the end begins no further line. */
function* linesOf(bytes: Buffer, indent: number): Generator<Buffer | string> {
  for (let from = 0; from < bytes.length || from === 0; ) {
    const found = bytes.indexOf(lineFeed, from);
    const end = found < 0 ? bytes.length : found;
    if (from > 0) yield " ".repeat(indent);
    yield untilNul(bytes.subarray(from, end));
    yield "\n";
    from = end + 1;
  }
}

const blob = (bytes: Buffer): string => `[${sizeText(bytes.length)} blob data]`;

const short =
  (timeText: (date: Date) => string): Format =>
  (entry, options) => {
    const message = lastOf(entry, "MESSAGE");
    if (message === undefined) return [];
    const firstShown = (...names: readonly string[]): Buffer | undefined =>
      names.map((name) => lastOf(entry, name)).find((each) => isShown(each, options))?.bytes;
    const time = timeText(new Date(Number(timestampShown(entry) / 1000n)));
    const host = firstShown("_HOSTNAME");
    const who = firstShown("SYSLOG_IDENTIFIER", "_COMM");
    const pid = firstShown("_PID", "SYSLOG_PID");
    const known = [host && [" ", host], who && [" ", who], pid && ["[", pid, "]"]];
    const [before = [], name = [" unknown"], process = []] = known;
    const head = [time, ...before, ...name, ...process, ": "].map((part) =>
      typeof part === "string" ? part : untilNul(part),
    );
    const text = options.all ? message.bytes : withoutStyles(message.bytes);
    const isPrintable = text === message.bytes ? message.isPrintable : fieldValue("", text).isPrintable;
    if (!options.all && !isPrintable) return [...head, blob(text), "\n"];
    // Where nobody is named, further lines stand below the end of the rest.
    const indent = [time, ...known.flatMap((each) => each ?? []), ": "].reduce(
      (sum, part) => sum + Buffer.byteLength(part),
      0,
    );
    return [...head, ...linesOf(text, indent)];
  };

const cat: Format = ({ fields }, options) => {
  const names = options.fields ?? ["MESSAGE"];
  const found = names.map((name) => fields.find((field) => field.name === name));
  return found.flatMap((field) => (field === undefined ? [] : [field.bytes, "\n"]));
};

const isWanted = ({ name }: FieldValue, { fields }: OutputOptions): boolean =>
  fields === undefined || fields.includes(name);

/** Said by the cursor of an entry, so that a field of this name is not written again. */
export const fieldOfCursor = "_BOOT_ID";

/** How an entry begins in the "Journal Export Format": with what its cursor says. */
export function exportHead({ cursor, realtime, monotonic, bootId }: EntryHead): string {
  return `__CURSOR=${cursor}\n__REALTIME_TIMESTAMP=${realtime}\n__MONOTONIC_TIMESTAMP=${monotonic}\n${fieldOfCursor}=${bootId}\n`;
}

/** A field in the "Journal Export Format": one that is not printable, or has several lines, after its size. */
export function exportedField({ name, bytes, isPrintable }: FieldValue): readonly (Buffer | string)[] {
  if (isPrintable && !bytes.includes(lineFeed)) return [`${name}=`, bytes, "\n"];
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(bytes.length));
  return [`${name}\n`, length, bytes, "\n"];
}

const exported: Format = ({ cursor, fields }, options) => {
  const written = fields.filter((field) => field.name !== fieldOfCursor && isWanted(field, options));
  return [exportHead(headOf(cursor)), ...written.flatMap(exportedField), "\n"];
};

type JsonField = string | null | readonly number[];
type JsonValue = JsonField | readonly JsonField[];

/** Whether a value is null in JSON, where not all are wanted. */
const isLong = ({ name, bytes }: FieldValue): boolean => name.length + 1 + bytes.length >= longestJson;

/** A value in the "Journal JSON Format": text, or bytes as numbers. */
export const jsonField = (field: FieldValue, { all }: Pick<OutputOptions, "all">): JsonField =>
  !all && isLong(field) ? null : field.isPrintable ? field.bytes.toString("utf8") : [...field.bytes];

/** The members with which an entry begins in the "Journal JSON Format". */
function jsonHead(cursor: string): readonly (readonly [string, string])[] {
  const { realtime, monotonic, bootId } = timestampsOf(cursor);
  return [
    ["__CURSOR", cursor],
    ["__REALTIME_TIMESTAMP", String(realtime)],
    ["__MONOTONIC_TIMESTAMP", String(monotonic)],
    [fieldOfCursor, bootId],
  ];
}

/** The same as text, without the brace that ends it. A cursor needs no escapes. */
export const jsonHeadText = ({ cursor, realtime, monotonic, bootId }: EntryHead): string =>
  `{"__CURSOR":"${cursor}","__REALTIME_TIMESTAMP":"${realtime}","__MONOTONIC_TIMESTAMP":"${monotonic}","${fieldOfCursor}":"${bootId}"`;

/** The members of an entry in systemd's "Journal JSON Format". */
function membersOf({ cursor, fields }: RawEntry, options: OutputOptions): readonly (readonly [string, JsonValue])[] {
  const values = new Map<string, JsonField[]>();
  for (const field of fields) {
    const { name } = field;
    if (name === fieldOfCursor || !isWanted(field, options)) continue;
    const value = jsonField(field, options);
    const known = values.get(name);
    if (known === undefined) values.set(name, [value]);
    else known.push(value);
  }
  return [
    ...jsonHead(cursor),
    ...[...values].map(([name, all]) => [name, all.length === 1 ? (all[0] ?? null) : all] as const),
  ];
}

const json: Format = (entry, options) => [JSON.stringify(Object.fromEntries(membersOf(entry, options))), "\n"];

const formats = {
  short: short(shortTime),
  "short-iso": short(isoTime),
  json,
  cat,
  export: exported,
} as const;

export type JournalOutput = keyof typeof formats;
export const journalOutputs = Object.keys(formats) as readonly JournalOutput[];

const lineFields = [
  "MESSAGE",
  "_HOSTNAME",
  "SYSLOG_IDENTIFIER",
  "_COMM",
  "_PID",
  "SYSLOG_PID",
  "_SOURCE_REALTIME_TIMESTAMP",
];

/** The fields that a format is made of, as the service takes them. */
export function fieldsOf(output: JournalOutput, { fields }: OutputOptions): string {
  if (output === "short" || output === "short-iso") return lineFields.join(",");
  if (output === "cat") return (fields ?? ["MESSAGE"]).join(",");
  return fields?.join(",") ?? "*";
}

const distinguishesBoots: readonly JournalOutput[] = ["short", "short-iso"];

/**
 * Writes entries one after the other as journalctl does, with a line between two boots.
 * @param previous the cursor of the entry that was written before them, where there was one.
 */
export function createJournalFormat(
  output: JournalOutput,
  options: OutputOptions,
  previous?: string,
): (entry: RawEntry) => Buffer {
  let boot = previous === undefined ? undefined : timestampsOf(previous).bootId;
  return (entry) => {
    const { bootId } = timestampsOf(entry.cursor);
    const isNew = boot !== undefined && boot !== bootId && distinguishesBoots.includes(output);
    boot = bootId;
    const parts = formats[output](entry, options).map((part) => (typeof part === "string" ? Buffer.from(part) : part));
    return Buffer.concat(isNew ? [Buffer.from(`-- Boot ${bootId} --\n`), ...parts] : parts);
  };
}
