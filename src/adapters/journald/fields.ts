import type { Budget } from "./budget.ts";
import type { ByteWriter } from "./byte-writer.ts";
import type { DamagedJournal } from "./journal-file/blocks.ts";
import { entryCount, readPayload } from "./journal-file/data.ts";
import type { JournalFile } from "./journal-file/file.ts";
import { createOffsetTable, type OffsetTable } from "./journal-file/offset-table.ts";

/** Fields that answers and filters are made of. */
export const fieldNames = [
  "MESSAGE",
  "PRIORITY",
  "_SYSTEMD_UNIT",
  "SYSLOG_IDENTIFIER",
  "_PID",
  "SYSLOG_PID",
  "_HOSTNAME",
  "_TRANSPORT",
  "UNIT",
  "COREDUMP_UNIT",
  "OBJECT_SYSTEMD_UNIT",
  "_SYSTEMD_SLICE",
  "MESSAGE_ID",
  "_UID",
] as const;
export type FieldName = (typeof fieldNames)[number];

export const field = Object.fromEntries(fieldNames.map((name, index) => [name, index])) as Record<FieldName, number>;

export interface FieldValue {
  readonly field: number;
  readonly text: string;
  /** A priority or a process id as a number; null for other fields and for values that are not valid. */
  readonly number: number | null;
  /** Whether an entry that has it may be about another unit than the one that wrote it. */
  readonly isSubject: boolean;
  /** Of a value that is too long to be shown whole: bytes up to the end of `text`, and the data object. */
  readonly cut: { readonly end: number; readonly dataOffset: number } | undefined;
}

const priorityText = /^[0-7]$/;
const pidText = /^[1-9]\d{0,14}$/;

function numberOf(kind: number, text: string): number | null {
  if (kind === field.PRIORITY) return priorityText.test(text) ? Number(text) : null;
  if (kind !== field._PID && kind !== field.SYSLOG_PID) return null;
  return pidText.test(text) ? Number(text) : null;
}

const isSubject = (kind: number, text: string): boolean =>
  kind === field.UNIT ||
  kind === field.COREDUMP_UNIT ||
  kind === field.OBJECT_SYSTEMD_UNIT ||
  (kind === field._TRANSPORT && text === "kernel");

/** Bytes of a value that are shown at a time: as JSON, six times as many at most, they have space in an answer. */
const maxShownBytes = 8 * 1024 * 1024;

/** The end of the part of a text that begins here; a character is not taken apart. */
function endOfPart(bytes: Buffer, begin: number, end: number): number {
  let at = begin + maxShownBytes;
  if (at >= end) return end;
  for (let back = 0; back < 3 && ((bytes[at] ?? 0) & 0xc0) === 0x80; back += 1) at -= 1;
  return at;
}

interface Wanted {
  readonly field: number;
  readonly prefix: Buffer;
}

const wantedByStart = new Map<number, Wanted[]>();
for (const [index, name] of fieldNames.entries()) {
  const prefix = Buffer.from(`${name}=`, "latin1");
  const start = prefix.readUInt32LE(0);
  wantedByStart.set(start, [...(wantedByStart.get(start) ?? []), { field: index, prefix }]);
}

function startsWith(bytes: Buffer, start: number, end: number, prefix: Buffer): boolean {
  if (end - start < prefix.length) return false;
  for (let at = 4; at < prefix.length; at += 1) if (bytes[start + at] !== prefix[at]) return false;
  return true;
}

/** Field of a payload, and how long its name with the equals sign is; undefined for a field that nobody asks for. */
function wantedAt(bytes: Buffer, start: number, end: number): Wanted | undefined {
  if (end - start < 4) return undefined;
  const candidates = wantedByStart.get(bytes.readUInt32LE(start));
  if (candidates === undefined) return undefined;
  for (const wanted of candidates) if (startsWith(bytes, start, end, wanted.prefix)) return wanted;
  return undefined;
}

const messageStart = "MESSAGE=".length;
/** The same as the words by which a payload begins. Payloads are aligned to words. */
const messageWords = new Uint32Array(Uint8Array.from(Buffer.from("MESSAGE=")).buffer);
const maxKeptText = 256;
const tableBits = 17;
const irrelevant = 0;
/** Bytes of a place in the table, and of a value beside its characters. */
const placeBytes = 32;
const valueBytes = 160;

/** A message that stands in the file as it is shown, and can be written from there: where its data object is. */
export interface PlainMessage {
  offset: number | undefined;
}

export interface Fields {
  /**
   * The value at an offset; undefined for a field that nobody asks for, and for one that is damaged.
   * @param plain takes a message that need not be decoded, which is not returned then.
   */
  readonly read: (offset: number, plain?: PlainMessage) => FieldValue | undefined;
  /** Writes a message that was found plain, as a JSON string. */
  readonly writeMessage: (offset: number, page: ByteWriter) => void;
  /**
   * The same for any field: writes it if it is a message that is shown whole, and does nothing if nobody asks for it.
   * @param hasMessage of several messages the first counts.
   */
  readonly writeOwn: (offset: number, page: ByteWriter, hasMessage: boolean) => "written" | "nothing" | "other";
  /** The same, from a byte of the value on. */
  readonly readFrom: (offset: number, from: number) => FieldValue | undefined;
  readonly close: () => void;
}

/** @param isDamage is called with a data object that cannot be read. */
export function createFields(
  file: JournalFile,
  budget: Budget,
  isDamage: (error: unknown) => error is DamagedJournal,
): Fields {
  const table: OffsetTable = createOffsetTable(tableBits);
  let kept: (FieldValue | undefined)[] = [undefined];
  const forget = (): void => {
    kept = [undefined];
    table.clear();
  };
  const share = budget.share(forget);

  const decode = (offset: number, from: number, plain?: PlainMessage): FieldValue | undefined => {
    const { bytes, start, end } = readPayload(file, offset);
    const wanted = wantedAt(bytes, start, end);
    if (wanted === undefined) return undefined;
    const first = start + wanted.prefix.length;
    // What was unpacked begins at 0, and is not in the file.
    if (plain !== undefined && wanted.field === field.MESSAGE && start > 0 && end - first <= maxShownBytes) {
      plain.offset = offset;
      return undefined;
    }
    const begin = Math.min(first + from, end);
    const shownEnd = endOfPart(bytes, begin, end);
    const text = bytes.toString("utf8", begin, shownEnd);
    const cut = shownEnd === end ? undefined : { end: shownEnd - first, dataOffset: offset };
    const kind = wanted.field;
    return { field: kind, text, number: numberOf(kind, text), isSubject: isSubject(kind, text), cut };
  };

  const keep = (offset: number, value: FieldValue | undefined): void => {
    share.take(placeBytes + (value === undefined ? 0 : valueBytes + 2 * value.text.length));
    let place = irrelevant;
    if (value !== undefined) {
      place = kept.length;
      kept.push(value);
    }
    // An emptied table has forgotten the numbers of the values, so they go too.
    if (!table.set(offset, place)) forget();
  };

  return {
    read(offset, plain) {
      const known = table.get(offset);
      if (known >= 0) return kept[known];
      try {
        const value = decode(offset, 0, plain);
        if (plain !== undefined && plain.offset === offset) return undefined;
        const isLong = value !== undefined && (value.text.length > maxKeptText || value.field === field.MESSAGE);
        // What stands once is not asked for again by another entry.
        if (!isLong && entryCount(file, offset) > 1) keep(offset, value);
        return value;
      } catch (error) {
        if (!isDamage(error)) throw error;
        // Not kept: it may have been inspected while it was written.
        return undefined;
      }
    },
    writeMessage(offset, page) {
      const { start, end } = readPayload(file, offset);
      page.jsonString(file.blocks.view, start + messageStart, end);
    },
    writeOwn(offset, page, hasMessage) {
      const known = table.get(offset);
      if (known >= 0) return known === irrelevant ? "nothing" : "other";
      try {
        const { bytes, start, end } = readPayload(file, offset);
        const { view } = file.blocks;
        const word = start >>> 2;
        const isInFile = bytes === view.bytes;
        const isPlain = isInFile && view.words[word] === messageWords[0] && view.words[word + 1] === messageWords[1];
        if (!isPlain) {
          const wanted = wantedAt(bytes, start, end);
          if (wanted === undefined) return "nothing";
          if (wanted.field !== field.MESSAGE) return "other";
        }
        if (end - start - messageStart > maxShownBytes) return "other";
        if (hasMessage) return "nothing";
        if (isInFile) page.jsonString(view, start + messageStart, end);
        else page.text(JSON.stringify(bytes.toString("utf8", start + messageStart, end)));
        return "written";
      } catch (error) {
        if (!isDamage(error)) throw error;
        return "nothing";
      }
    },
    readFrom: (offset, from) => decode(offset, from),
    close: share.end,
  };
}
