import type { LogEntry } from "#contract/logs.ts";
import type { LiveEntry } from "#domain/ports/journal.ts";
import {
  createCollector,
  shownPid,
  shownPriority,
  shownUnit,
  statedPriority,
  unitsOfEntry,
  valuesOf,
} from "./collect.ts";
import { type FieldValue, field } from "./fields.ts";
import type { EntryHead } from "./journal-file/entry.ts";
import type { Found } from "./merge.ts";
import { formatCursor } from "./order.ts";
import type { Source } from "./source.ts";

const microsecondsPerSecond = 1_000_000;
const microsecondsPerMinute = 60_000_000;
const twoDigits = Array.from({ length: 60 }, (_, value) => String(value).padStart(2, "0"));

/** Microseconds since the epoch as RFC 3339 in UTC. Minutes repeat from entry to entry, so the last one is kept. */
export function createTimestampFormat(): (time: Pick<EntryHead, "realtime" | "realtimeRest">) => string {
  let lastMinute = Number.NaN;
  let prefix = "";
  return ({ realtime: micros, realtimeRest }) => {
    const minute = Math.floor(micros / microsecondsPerMinute);
    if (minute !== lastMinute) {
      lastMinute = minute;
      prefix = new Date(minute * 60_000).toISOString().slice(0, 17);
    }
    const rest = micros - minute * microsecondsPerMinute + realtimeRest;
    const second = Math.floor(rest / microsecondsPerSecond);
    // A leading 1 keeps the zeros.
    return `${prefix}${twoDigits[second] ?? ""}.${String(rest - second * microsecondsPerSecond + microsecondsPerSecond).slice(1)}Z`;
  };
}

const emptyText = '""';

export const cursorOf = ({ place }: Found): string => formatCursor(place);

const maxKeptEntryBytes = 4096;
/** Some pages of usual lines. */
const maxKeptBytes = 2 * 1024 * 1024;

/** Writes an entry as JSON, its message from a byte on. */
export type Renderer = (found: Found, from?: number) => Buffer;

export function createRenderer(): Renderer {
  const write = createWriter();
  let kept = new WeakMap<Source, Map<number, Buffer>>();
  let keptBytes = 0;
  return (found, from = 0) => {
    const { source, offset } = found;
    if (from > 0) return Buffer.from(write(found, from));
    const known = kept.get(source)?.get(offset);
    if (known !== undefined) return known;
    const faults = source.faults();
    const bytes = Buffer.from(write(found, 0));
    // Of one that could not be read wholly more may be read the next time.
    if (bytes.length > maxKeptEntryBytes || source.faults() > faults) return bytes;
    if (keptBytes + bytes.length > maxKeptBytes) {
      kept = new WeakMap();
      keptBytes = 0;
    }
    const ofSource = kept.get(source) ?? new Map<number, Buffer>();
    kept.set(source, ofSource.set(offset, bytes));
    keptBytes += bytes.length;
    return bytes;
  };
}

/** A message that is long enough to be cut, from a byte on. */
const partOf = (source: Source, { cut }: FieldValue, from: number): FieldValue | undefined =>
  cut === undefined ? undefined : source.fields.readFrom(cut.dataOffset, from);

function createWriter(): (found: Found, from: number) => string {
  const timestamp = createTimestampFormat();
  const collect = createCollector();
  return (found, from) => {
    const { source, offset, place } = found;
    const collected = collect(source, offset);
    const { first, isCut } = collected;
    const json = (number: number): string => first[number]?.json ?? emptyText;
    const unit = collected.writer?.json ?? JSON.stringify(shownUnit(valuesOf(collected)));
    const begun = first[field.MESSAGE];
    const message = begun !== undefined && from > 0 ? partOf(source, begun, from) : begun;
    const next = message?.cut === undefined ? "" : `,"next_offset":${message.cut.end}`;
    const rest = isCut && (from === 0 || next !== "") ? `,"truncated":true${next}` : "";
    return `{"timestamp":"${timestamp(place)}","unit":${unit},"priority":${shownPriority(collected)},"message":${message?.json ?? emptyText},"cursor":"${cursorOf(found)}","identifier":${json(field.SYSLOG_IDENTIFIER)},"pid":${shownPid(collected)},"hostname":${json(field._HOSTNAME)},"boot_id":"${place.bootId}"${rest}}`;
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
