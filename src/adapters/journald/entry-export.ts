import {
  createJournalFormat,
  type EntryHead,
  exportedField,
  exportHead,
  fieldOfCursor,
  fieldsOf,
  headOf,
  jsonField,
  jsonHeadText,
} from "#adapters/journal-format/output.ts";
import { type FieldValue, fieldValue } from "#adapters/journal-format/text.ts";
import type { ExportQuery } from "#domain/ports/journal.ts";
import type { ByteWriter } from "./byte-writer.ts";
import type { Found } from "./merge.ts";
import { nameOf } from "./raw-fields.ts";
import type { Source } from "./source.ts";

/** A value that an entry has, and how it is written, as far as it was. */
interface Known {
  readonly value: FieldValue;
  exported?: Uint8Array;
  /** `,"NAME":value` */
  member?: Uint8Array;
}

/** Longer values are not kept, nor those of fields that every entry has another value of. */
const maxKnownBytes = 512;
const changing = new Set(["MESSAGE", "SYSLOG_RAW", "SYSLOG_TIMESTAMP"]);
const isChanging = (name: string): boolean => changing.has(name) || name.startsWith("_SOURCE_");
/** Kept of all files. Each value takes as much again beside its bytes. */
const maxKeptBytes = 6 * 1024 * 1024;
const bytesBeside = 400;
/** JSON has numbers for bytes that are not text, so that a longer value would not fit into memory. */
const longestBinary = 16 * 1024 * 1024;

/** The values of entries, those that many have only once. */
function createKnown() {
  let files = new WeakMap<Source, Map<number, Known>>();
  let kept = 0;

  const read = (source: Source, offset: number): Known | undefined => {
    const payload = source.payloadOf(offset);
    const found = payload && nameOf(payload);
    if (payload === undefined || found === undefined) return undefined;
    // A copy: the memory of the payload is used for the next one.
    return { value: fieldValue(found.name, Buffer.from(payload.bytes.subarray(found.value, payload.end))) };
  };

  return (source: Source, offset: number): Known | undefined => {
    const known = files.get(source)?.get(offset);
    if (known !== undefined) return known;
    const made = read(source, offset);
    if (made === undefined) return undefined;
    const { name, bytes } = made.value;
    if (bytes.length > maxKnownBytes || isChanging(name)) return made;
    kept += bytesBeside + 2 * bytes.length;
    if (kept > maxKeptBytes) {
      files = new WeakMap();
      kept = 0;
    }
    const ofSource = files.get(source) ?? new Map<number, Known>();
    files.set(source, ofSource.set(offset, made));
    return made;
  };
}

const joined = (parts: readonly (Buffer | string)[]): Buffer =>
  Buffer.concat(parts.map((part) => (typeof part === "string" ? Buffer.from(part) : part)));

/** What a cursor says, without reading it where numbers are exact. */
function headIn({ place }: Found, cursor: string): EntryHead {
  const { realtime, realtimeRest, monotonic, bootId } = place;
  if (realtimeRest > 0 || monotonic > Number.MAX_SAFE_INTEGER) return headOf(cursor);
  return { cursor, realtime, monotonic, bootId };
}

type Options = Pick<ExportQuery, "format" | "all">;

/** A value in JSON; null where it is too long. */
function jsonText(value: FieldValue, { all }: Pick<Options, "all">): string {
  const isTooLong = !value.isPrintable && value.bytes.length > longestBinary;
  return JSON.stringify(isTooLong ? null : jsonField(value, { all }));
}

const lineFields = fieldsOf("short-iso", { all: false, fields: undefined }).split(",");

/** Writes entries one after the other. */
export interface EntryExport {
  /** @param previous the cursor of the entry that was written before, where there was one. */
  readonly begin: (options: Options, previous: string | undefined) => (found: Found, cursor: string) => void;
}

/** Writes entries into a page as journalctl does. */
export function createEntryExport(page: ByteWriter): EntryExport {
  const items: number[] = [];
  const knownOf = createKnown();

  const valuesOf = ({ source, offset }: Found): readonly Known[] => {
    const count = source.entries.items(offset, items);
    const values: Known[] = [];
    for (let index = 0; index < count; index += 1) {
      const known = knownOf(source, items[index] ?? 0);
      if (known !== undefined) values.push(known);
    }
    return values;
  };

  const writeExported = (found: Found, cursor: string): void => {
    page.text(exportHead(headIn(found, cursor)));
    for (const known of valuesOf(found)) {
      if (known.value.name === fieldOfCursor) continue;
      known.exported ??= joined(exportedField(known.value));
      page.encoded(known.exported);
    }
    page.text("\n");
  };

  const writeMember = (known: Known, options: Options): void => {
    // Whether long values are wanted does not matter to those that are kept.
    known.member ??= Buffer.from(`,"${known.value.name}":${jsonText(known.value, options)}`);
    page.encoded(known.member);
  };

  /** Of a field that is there more than once the values are a list. */
  const writeSeveral = (values: readonly Known[], options: Options): void => {
    for (const [name, all] of Map.groupBy(values, ({ value }) => value.name)) {
      const texts = all.map(({ value }) => jsonText(value, options));
      page.text(`,"${name}":${texts.length > 1 ? `[${texts.join(",")}]` : texts.join("")}`);
    }
  };

  const writeJson = (found: Found, cursor: string, options: Options): void => {
    page.text(jsonHeadText(headIn(found, cursor)));
    const values = valuesOf(found).filter(({ value }) => value.name !== fieldOfCursor);
    if (new Set(values.map(({ value }) => value.name)).size < values.length) writeSeveral(values, options);
    else for (const known of values) writeMember(known, options);
    page.text("}\n");
  };

  return {
    begin(options, previous) {
      switch (options.format) {
        case "journal":
          return writeExported;
        case "json":
          return (found, cursor) => writeJson(found, cursor, options);
        case "text": {
          const format = createJournalFormat("short-iso", { all: options.all, fields: undefined }, previous);
          return (found, cursor) => {
            const fields = valuesOf(found).flatMap(({ value }) => (lineFields.includes(value.name) ? [value] : []));
            page.encoded(format({ cursor, fields }));
          };
        }
      }
    },
  };
}
