import type { LogEntry } from "#contract/logs.ts";
import type { LiveEntry } from "#domain/ports/journal.ts";
import { type ByteWriter, createByteWriter } from "./byte-writer.ts";
import {
  createCollector,
  shownPid,
  shownPriority,
  shownUnit,
  statedPriority,
  unitsOfEntry,
  valuesOf,
} from "./collect.ts";
import { type FieldValue, field, type PlainMessage } from "./fields.ts";
import type { EntryHead } from "./journal-file/entry.ts";
import type { Found } from "./merge.ts";
import { formatCursor, type Place } from "./order.ts";
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
export function createTimestampFormat(): (time: Pick<EntryHead, "realtime" | "realtimeRest">) => string {
  const minutes = createMinutes();
  return (time) => {
    const { minute, second, micros } = minutes(time);
    // A leading 1 keeps the zeros.
    return `${minute}${twoDigits[second] ?? ""}.${String(micros + microsecondsPerSecond).slice(1)}Z`;
  };
}

export const cursorOf = ({ place }: Found): string => formatCursor(place);

const wordRange = 2 ** 32;
const emptyText = '""';

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
  /** Writes an entry to the page as JSON, its message from a byte on. */
  readonly write: (found: Found, from?: number) => void;
}

/** A message that is long enough to be cut, from a byte on. */
const partOf = (source: Source, { cut }: FieldValue, from: number): FieldValue | undefined =>
  cut === undefined ? undefined : source.fields.readFrom(cut.dataOffset, from);

const encoded = {
  unit: encode('Z","unit":'),
  priorities: Array.from({ length: 8 }, (_, priority) => encode(`,"priority":${priority},"message":`)),
  identifier: encode('","identifier":'),
  pid: encode(',"pid":'),
  hostname: encode(',"hostname":'),
};

/** Writes the name of an entry, the same as `cursorOf`, and what precedes it. */
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
  return {
    page,
    write(found, from = 0) {
      if (from > 0) {
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

function createEntryWriter(page: ByteWriter): (found: Found, from: number) => void {
  const minutes = createMinutes();
  const start = createEncoder((minute) => `{"timestamp":"${minute}`);
  const boot = createEncoder((bootId) => `,"boot_id":"${bootId}"`);
  const writeCursor = createCursorWriter(page);
  const collect = createCollector();
  const plain: PlainMessage = { offset: undefined };

  return (found, from) => {
    const { source, offset, place } = found;
    plain.offset = undefined;
    const collected = collect(source, offset, from === 0 ? plain : undefined);
    const { first, isCut } = collected;
    const { minute, second, micros } = minutes(place);
    page.encoded(start(minute));
    page.digits(second, 2);
    page.text(".");
    page.digits(micros, 6);
    page.encoded(encoded.unit);
    page.text(collected.writer?.json ?? JSON.stringify(shownUnit(valuesOf(collected))));
    page.encoded(encoded.priorities[shownPriority(collected)] ?? encode(""));
    const begun = first[field.MESSAGE];
    const message = begun !== undefined && from > 0 ? partOf(source, begun, from) : begun;
    if (plain.offset === undefined) page.text(message?.json ?? emptyText);
    else source.fields.writeMessage(plain.offset, page);
    writeCursor(place);
    page.encoded(encoded.identifier);
    page.text(first[field.SYSLOG_IDENTIFIER]?.json ?? emptyText);
    page.encoded(encoded.pid);
    page.text(String(shownPid(collected)));
    page.encoded(encoded.hostname);
    page.text(first[field._HOSTNAME]?.json ?? emptyText);
    page.encoded(boot(place.bootId));
    const next = message?.cut === undefined ? "" : `,"next_offset":${message.cut.end}`;
    page.text(isCut && (from === 0 || next !== "") ? `,"truncated":true${next}}` : "}");
  };
}

export function createLiveReader(): (found: Found) => LiveEntry {
  const timestamp = createTimestampFormat();
  const collect = createCollector();
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
      cursor: cursorOf(found),
      identifier: text(field.SYSLOG_IDENTIFIER),
      pid: shownPid(collected),
      hostname: text(field._HOSTNAME),
      boot_id: place.bootId,
      ...(isCut && { truncated: true }),
      ...(next !== undefined && { next_offset: next }),
    };
    return { entry, units: unitsOfEntry(values), priority: statedPriority(collected) };
  };
}
