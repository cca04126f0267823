import type { LogEntry } from "#contract/log-entry.ts";
import type { LiveEntry, LogQuery } from "#domain/ports/journal.ts";
import { type Alike, countShared } from "./alike.ts";
import { type ByteWriter, createByteWriter } from "./byte-writer.ts";
import {
  type Collected,
  createCollector,
  shownPid,
  shownPriority,
  shownUnit,
  statedPriority,
  unitOf,
  unitsOfEntry,
  valuesOf,
} from "./collect.ts";
import { type FieldValue, field, type PlainMessage } from "./fields.ts";
import type { EntryHead } from "./journal-file/entry.ts";
import type { Found } from "./merge.ts";
import { formatCursor, type Place } from "./order.ts";
import { createRawWriter } from "./raw-fields.ts";
import type { Source } from "./source.ts";

const microsecondsPerSecond = 1_000_000;
const microsecondsPerMinute = 60_000_000;
const twoDigits = Array.from({ length: 60 }, (_, value) => String(value).padStart(2, "0"));

interface SplitTime {
  /** RFC 3339 up to the seconds. */
  minute: string;
  second: number;
  micros: number;
}

/** Takes a time apart, into one and the same object. Minutes repeat from entry to entry, so the last one is kept. */
function createMinutes(): (time: Pick<EntryHead, "realtime" | "realtimeRest">) => Readonly<SplitTime> {
  let last = Number.NaN;
  const split: SplitTime = { minute: "", second: 0, micros: 0 };
  return ({ realtime, realtimeRest }) => {
    const minute = Math.floor(realtime / microsecondsPerMinute);
    if (minute !== last) {
      last = minute;
      split.minute = new Date(minute * 60_000).toISOString().slice(0, 17);
    }
    const rest = realtime - minute * microsecondsPerMinute + realtimeRest;
    split.second = Math.floor(rest / microsecondsPerSecond);
    split.micros = rest - split.second * microsecondsPerSecond;
    return split;
  };
}

/** Microseconds since the epoch as RFC 3339 in UTC. */
function createTimestampFormat(): (time: Pick<EntryHead, "realtime" | "realtimeRest">) => string {
  const minutes = createMinutes();
  return (time) => {
    const { minute, second, micros } = minutes(time);
    // A leading 1 keeps the zeros.
    return `${minute}${twoDigits[second] ?? ""}.${String(micros + microsecondsPerSecond).slice(1)}Z`;
  };
}

const wordRange = 2 ** 32;

const encode = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text));

/** Encodes a text that is mostly the same as the last time. */
function createEncoder(write: (text: string) => string): (text: string) => Uint8Array {
  let last: string | undefined;
  let encoded = encode("");
  return (text) => {
    if (text !== last) {
      last = text;
      encoded = encode(write(text));
    }
    return encoded;
  };
}

export interface Renderer {
  readonly page: ByteWriter;
  /** Writes an entry to the page as JSON. */
  readonly write: (found: Found, options: WriteOptions) => void;
}

export interface WriteOptions {
  /** From which byte on the message is written. */
  readonly from: number;
  /** Whether clients mostly ask for the same entries again. */
  readonly isRepeated: boolean;
  /** Fields that are written as they are. */
  readonly fields: LogQuery["fields"];
}

/** A message that is long enough to be cut, from a byte on. */
const partOf = (source: Source, { cut }: FieldValue, from: number): FieldValue | undefined =>
  cut === undefined ? undefined : source.fields.readFrom(cut.dataOffset, from);

/** Writes the name of an entry, the same as `formatCursor`, and what precedes it. */
function createCursorWriter(page: ByteWriter): (place: Place) => void {
  const start = createEncoder((seqnumId) => `,"cursor":"s=${seqnumId};i=`);
  const boot = createEncoder((bootId) => `;b=${bootId};m=`);
  const hex = (value: number): void => page.hex(Math.floor(value / wordRange), value % wordRange);
  return (place) => {
    const { seqnumId, seqnum, bootId, monotonic, realtime, realtimeRest, xorHigh, xorLow } = place;
    if (seqnum > Number.MAX_SAFE_INTEGER || monotonic > Number.MAX_SAFE_INTEGER || realtimeRest > 0) {
      page.text(`,"cursor":"${formatCursor(place)}`);
      return;
    }
    page.encoded(start(seqnumId));
    hex(seqnum);
    page.encoded(boot(bootId));
    hex(monotonic);
    page.text(";t=");
    hex(realtime);
    page.text(";x=");
    page.hex(xorHigh, xorLow);
  };
}

const maxWritten = 2048;

/** Texts as bytes, each once: those of many entries and files are the same. */
function createTexts(): (text: string) => Uint8Array {
  const known = new Map<string, Uint8Array>();
  return (text) => {
    const found = known.get(text);
    if (found !== undefined) return found;
    if (known.size >= maxWritten) known.clear();
    const bytes = encode(text);
    known.set(text, bytes);
    return bytes;
  };
}

const textOf = (value: FieldValue | undefined): string => JSON.stringify(value?.text ?? "");

/** What precedes the message, and what follows the name of the entry. */
const headOf = (collected: Collected): string =>
  `Z","unit":${JSON.stringify(unitOf(collected))},"priority":${shownPriority(collected)},"message":`;
const tailOf = (collected: Collected): string =>
  `","identifier":${textOf(collected.first[field.SYSLOG_IDENTIFIER])},"pid":${shownPid(collected)},"hostname":${textOf(collected.first[field._HOSTNAME])}`;

const keptBytes = 4 * 1024 * 1024;
/** More than the longest entry that is kept. */
const lengthRange = 4096;

/** Entries as they were written, as clients that show the newest ones mostly ask for the same again. An entry never changes. */
function createKept(page: ByteWriter) {
  let places = new WeakMap<Source, Map<number, number>>();
  let memory: Buffer | undefined;
  let filled = 0;
  return {
    /** @returns whether it was kept, and so is written. */
    write({ source, offset }: Found): boolean {
      const place = places.get(source)?.get(offset);
      if (memory === undefined || place === undefined) return false;
      const start = Math.floor(place / lengthRange);
      page.copied(memory, start, start + (place % lengthRange));
      return true;
    },
    /** Keeps what was written from a size on. */
    take({ source, offset }: Found, start: number): void {
      const length = page.size() - start;
      if (length >= lengthRange) return;
      if (filled + length > keptBytes) {
        places = new WeakMap();
        filled = 0;
      }
      memory ??= Buffer.allocUnsafeSlow(keptBytes);
      page.copy([start, start + length], memory, filled);
      const ofSource = places.get(source) ?? new Map<number, number>();
      places.set(source, ofSource.set(offset, filled * lengthRange + length));
      filled += length;
    },
  };
}

export function createRenderer(): Renderer {
  const page = createByteWriter();
  const kept = createKept(page);
  const write = createEntryWriter(page);
  const writeRaw = createRawWriter(page);
  return {
    page,
    write(found, { from, isRepeated, fields }) {
      if (fields !== undefined) {
        write(found, from);
        // Before the brace that ends the entry.
        page.cut(page.size() - 1);
        page.text(',"fields":');
        writeRaw(found, { names: fields, from });
        page.text("}");
        return;
      }
      if (from > 0 || !isRepeated) {
        write(found, from);
        return;
      }
      if (kept.write(found)) return;
      const faults = found.source.faults();
      const start = page.size();
      write(found, 0);
      // Of one that could not be read completely more may be read the next time.
      if (found.source.faults() === faults) kept.take(found, start);
    },
  };
}

/** Longer texts are not kept: a field of an entry may have megabytes. */
const maxAlike = 1024;

function createEntryWriter(page: ByteWriter): (found: Found, from: number) => void {
  const minutes = createMinutes();
  const start = createEncoder((minute) => `{"timestamp":"${minute}`);
  const boot = createEncoder((bootId) => `,"boot_id":"${bootId}"`);
  const writeCursor = createCursorWriter(page);
  const collect = createCollector().ofItems;
  const bytesOf = createTexts();
  const items: number[] = [];
  const plain: PlainMessage = { offset: undefined };
  const noMessage = encode('""');
  const closing = encode("}");

  const writeTime = (place: Place): void => {
    const { minute, second, micros } = minutes(place);
    page.encoded(start(minute));
    page.digits(second, 2);
    page.text(".");
    page.digits(micros, 6);
  };

  /** @returns false where it is not like others after all. */
  const writeAlike = ({ source, place }: Found, alike: Alike, shared: number, count: number): boolean => {
    const begin = page.size();
    writeTime(place);
    page.encoded(alike.head);
    let hasMessage = false;
    for (let index = shared; index < count; index += 1) {
      const done = source.fields.writeOwn(items[index] ?? 0, page, hasMessage);
      if (done === "other") {
        page.cut(begin);
        return false;
      }
      if (done === "written") hasMessage = true;
    }
    if (!hasMessage) page.encoded(noMessage);
    writeCursor(place);
    page.encoded(alike.tail);
    page.encoded(boot(place.bootId));
    page.encoded(closing);
    return true;
  };

  const learn = (source: Source, shared: number): Alike | undefined => {
    const faults = source.faults();
    const collected = collect(source, items, shared);
    const [head, tail] = [headOf(collected), tailOf(collected)];
    if (source.faults() > faults || collected.isCut || collected.first[field.MESSAGE] !== undefined) return undefined;
    if (head.length > maxAlike || tail.length > maxAlike) return undefined;
    return source.alikes.keep(items, shared, { head: bytesOf(head), tail: bytesOf(tail) });
  };

  const writeAny = ({ source, place }: Found, count: number, from: number): void => {
    plain.offset = undefined;
    const collected = collect(source, items, count, from === 0 ? plain : undefined);
    writeTime(place);
    page.text(headOf(collected));
    const started = collected.first[field.MESSAGE];
    const message = started !== undefined && from > 0 ? partOf(source, started, from) : started;
    if (plain.offset === undefined) page.text(textOf(message));
    else source.fields.writeMessage(plain.offset, page);
    writeCursor(place);
    page.text(tailOf(collected));
    page.encoded(boot(place.bootId));
    const next = message?.cut === undefined ? "" : `,"next_offset":${message.cut.end}`;
    page.text(collected.isCut && (from === 0 || next !== "") ? `,"truncated":true${next}}` : "}");
  };

  return (found, from) => {
    const { source, offset } = found;
    const count = source.entries.items(offset, items);
    const shared = countShared(items, count, offset);
    const alike = from > 0 ? undefined : (source.alikes.find(items, shared) ?? learn(source, shared));
    if (alike === undefined || !writeAlike(found, alike, shared, count)) writeAny(found, count, from);
  };
}

export function createLiveReader(): (found: Found) => LiveEntry {
  const timestamp = createTimestampFormat();
  const collect = createCollector().ofEntry;
  return (found) => {
    const { source, offset, place } = found;
    const collected = collect(source, offset);
    const { first, isCut } = collected;
    const values = valuesOf(collected);
    const text = (number: number): string => first[number]?.text ?? "";
    const next = first[field.MESSAGE]?.cut?.end;
    const entry: LogEntry = {
      timestamp: timestamp(place),
      unit: shownUnit(values),
      priority: shownPriority(collected),
      message: text(field.MESSAGE),
      cursor: formatCursor(place),
      identifier: text(field.SYSLOG_IDENTIFIER),
      pid: shownPid(collected),
      hostname: text(field._HOSTNAME),
      boot_id: place.bootId,
      ...(isCut && { truncated: true }),
      ...(next !== undefined && { next_offset: next }),
    };
    return {
      entry,
      units: unitsOfEntry(values),
      namespace: source.namespace,
      priority: statedPriority(collected),
    };
  };
}
