import { isUtf8 } from "node:buffer";
import type { JournalField } from "#contract/log-entry.ts";
import type { ByteWriter } from "./byte-writer.ts";
import type { Payload } from "./journal-file/data.ts";
import type { Found } from "./merge.ts";
import type { Source } from "./source.ts";

/**
 * Bytes of values in an entry of an answer: as JSON up to twice as many, and with the longest message they have space in an answer.
 */
const maxRawBytes = 6 * 1024 * 1024;
/** Kept of that for each value that follows, whatever those before it take. */
const keptBytes = 64 * 1024;

const equalsSign = 0x3d;
const maxNameBytes = 64;
const [tab, lineFeed, space, del] = [0x09, 0x0a, 0x20, 0x7f];

/** Names that journald gives and takes, and no others: a damaged or foreign file may hold any bytes. */
export const isFieldName = (name: string): boolean => /^[A-Z0-9_]{1,64}$/.test(name);

/** The name of a payload, and where its value begins; undefined where it has none. */
export function nameOf({ bytes, start, end }: Payload): { readonly name: string; readonly value: number } | undefined {
  const limit = Math.min(end, start + maxNameBytes + 1);
  for (let at = start; at < limit; at += 1) {
    if (bytes[at] !== equalsSign) continue;
    const name = bytes.toString("latin1", start, at);
    return isFieldName(name) ? { name, value: at + 1 } : undefined;
  }
  return undefined;
}

/** Whether bytes can be given as text: UTF-8, and nothing in it that JSON writes with six characters. */
function isText(bytes: Buffer, start: number, end: number): boolean {
  let isAscii = true;
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at] ?? 0;
    if ((byte < space && byte !== tab && byte !== lineFeed) || byte === del) return false;
    if (byte > del) isAscii = false;
  }
  return isAscii || isUtf8(bytes.subarray(start, end));
}

/** A value as contract has it. */
export const asValue = (bytes: Buffer, start = 0, end = bytes.length): Pick<JournalField, "text" | "base64"> =>
  isText(bytes, start, end)
    ? { text: bytes.toString("utf8", start, end) }
    : { base64: bytes.toString("base64", start, end) };

/** Which fields of entries are written, and from which byte of each value on. */
export interface RawOptions {
  readonly names: "all" | readonly string[];
  readonly from: number;
}

/** Writes the fields of entries as they are in the journal: a JSON list. */
export function createRawWriter(page: ByteWriter): (found: Found, options: RawOptions) => void {
  const items: number[] = [];

  const writeValue = (source: Source, { bytes }: Payload, start: number, end: number, isWhole: boolean): void => {
    if (!isWhole || !isText(bytes, start, end)) page.text(`"base64":"${bytes.toString("base64", start, end)}"`);
    else {
      page.text('"text":');
      const { view } = source.file.blocks;
      if (bytes === view.bytes) page.jsonString(view, start, end);
      else page.text(JSON.stringify(bytes.toString("utf8", start, end)));
    }
  };

  const find = (source: Source, index: number, names: RawOptions["names"]) => {
    const payload = source.payloadOf(items[index] ?? 0);
    const found = payload && nameOf(payload);
    if (payload === undefined || found === undefined) return undefined;
    return names === "all" || names.includes(found.name) ? { payload, ...found } : undefined;
  };

  /** How many values continue after `from` bytes. */
  const countLonger = (source: Source, count: number, { names, from }: RawOptions): number => {
    let longer = 0;
    for (let index = 0; index < count; index += 1) {
      const found = find(source, index, names);
      if (found !== undefined && found.payload.end - found.value > from) longer += 1;
    }
    return longer;
  };

  return ({ source, offset }, options) => {
    const { names, from } = options;
    const count = source.entries.items(offset, items);
    // Each value gets on in each answer, however long those before it are: a share of its own where it is continued, else a little.
    let longer = from > 0 ? countLonger(source, count, options) : 0;
    const kept = Math.min(keptBytes, Math.floor(maxRawBytes / (2 * Math.max(1, count))));
    let space = maxRawBytes;
    let isFirst = true;
    page.text("[");
    for (let index = 0; index < count; index += 1) {
      const found = find(source, index, names);
      if (found === undefined) continue;
      const { payload, name, value } = found;
      const start = Math.min(value + from, payload.end);
      const most = from > 0 ? Math.floor(space / Math.max(1, longer)) : space - (count - index - 1) * kept;
      const end = Math.min(payload.end, start + most);
      if (start < payload.end) longer -= 1;
      space -= end - start;
      page.text(`${isFirst ? "" : ","}{"name":"${name}",`);
      writeValue(source, payload, start, end, from === 0 && end === payload.end);
      page.text(end < payload.end ? `,"next_offset":${end - value}}` : "}");
      isFirst = false;
    }
    page.text("]");
  };
}
