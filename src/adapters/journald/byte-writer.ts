import { isUtf8 } from "node:buffer";
import type { View } from "./journal-file/blocks.ts";

/** Bytes of a piece of memory. The first one is kept from answer to answer. */
const pieceBytes = 512 * 1024;
/** Text of up to so many characters is written here: a call of Node's costs more. */
const maxShort = 256;
const maxCharacterBytes = 3;
/** A string of up to so many bytes is escaped here; space for it is reserved as if each byte were escaped. */
const maxEscaped = 8 * 1024;
const maxEscapeBytes = 6;

const quote = 0x22;
const digit0 = 0x30;
const firstNonAscii = 0x80;
const hexDigits = Uint8Array.from(Buffer.from("0123456789abcdef"));

/** How JSON writes bytes that do not stand for themselves in a string. */
const escapes: readonly (Buffer | undefined)[] = Array.from({ length: firstNonAscii }, (_, byte) => {
  const written = JSON.stringify(String.fromCharCode(byte)).slice(1, -1);
  return written.length === 1 ? undefined : Buffer.from(written);
});
const isPlain = Uint8Array.from(escapes, (written) => (written === undefined ? 1 : 0));

/** Whether all bytes of a part stand for themselves in a JSON string. Four are inspected together. */
function isPlainText({ bytes, words }: Readonly<View>, start: number, end: number): boolean {
  let at = start;
  while (at < end && at % 4 !== 0) {
    if (isPlain[bytes[at] ?? 0] !== 1) return false;
    at += 1;
  }
  for (; at + 4 <= end; at += 4) {
    const word = (words[at >>> 2] ?? 0) | 0;
    const [quotes, backslashes] = [word ^ 0x2222_2222, word ^ 0x5c5c_5c5c];
    // A byte below 0x20 has neither of these bits; one that is zero borrows from its highest bit.
    const hasControl = (((word >>> 6) | (word >>> 5)) & 0x0101_0101) !== 0x0101_0101;
    const marked = word | ((quotes - 0x0101_0101) & ~quotes) | ((backslashes - 0x0101_0101) & ~backslashes);
    if (hasControl || (marked & 0x8080_8080) !== 0) return false;
  }
  for (; at < end; at += 1) if (isPlain[bytes[at] ?? 0] !== 1) return false;
  return true;
}

/** How many digits a word has in hexadecimal. */
const hexDigitsOf = (word: number): number => Math.max(1, (35 - Math.clz32(word)) >>> 2);

/** Where something begins and ends in all that was written. */
export type Part = readonly [start: number, end: number];

/** Writes an answer as bytes: as text it would be written twice, and leave much to collect. */
export interface ByteWriter {
  readonly size: () => number;
  readonly text: (text: string) => void;
  /** Bytes that were made of a text before, which is the fastest way. */
  readonly encoded: (text: Uint8Array) => void;
  /** A part of other memory. */
  readonly copied: (bytes: Buffer, start: number, end: number) => void;
  /** Bytes of UTF-8 as a JSON string, with its quotes. */
  readonly jsonString: (memory: Readonly<View>, start: number, end: number) => void;
  /** A whole number below 10^`count`, with leading zeros. */
  readonly digits: (value: number, count: number) => void;
  /** A number of two words in hexadecimal. */
  readonly hex: (high: number, low: number) => void;
  /** Copies a part of what was written. */
  readonly copy: (part: Part, into: Buffer, at: number) => void;
  /** Goes back to an earlier size. */
  readonly cut: (size: number) => void;
  /** @returns a copy of all that was written, or of parts of it in the order given. */
  readonly bytes: (parts?: readonly Part[]) => Buffer;
}

interface Piece {
  readonly bytes: Buffer;
  /** Where it begins in all that was written. */
  readonly start: number;
}

interface Written {
  readonly pieces: [Piece, ...Piece[]];
  /** The last piece, and how much of it is filled. */
  bytes: Buffer;
  start: number;
  at: number;
}

function reserve(written: Written, length: number): void {
  if (written.at + length <= written.bytes.length) return;
  written.start += written.at;
  written.bytes = Buffer.allocUnsafeSlow(Math.max(pieceBytes, length));
  written.at = 0;
  written.pieces.push({ bytes: written.bytes, start: written.start });
}

function writeText(written: Written, text: string): void {
  const { length } = text;
  if (length > maxShort) {
    reserve(written, Buffer.byteLength(text));
    written.at += written.bytes.write(text, written.at);
    return;
  }
  reserve(written, length * maxCharacterBytes);
  const { bytes, at } = written;
  for (let index = 0; index < length; index += 1) {
    const code = text.charCodeAt(index);
    if (code >= firstNonAscii) {
      written.at += bytes.write(text, at);
      return;
    }
    bytes[at + index] = code;
  }
  written.at += length;
}

function writeEncoded(written: Written, text: Uint8Array): void {
  reserve(written, text.length);
  written.bytes.set(text, written.at);
  written.at += text.length;
}

function writeCopied(written: Written, bytes: Buffer, start: number, end: number): void {
  reserve(written, end - start);
  written.at += bytes.copy(written.bytes, written.at, start, end);
}

/** @returns whether it is written: bytes that are no UTF-8 must be decoded. */
function writeEscaped(written: Written, from: Buffer, start: number, end: number): boolean {
  reserve(written, (end - start) * maxEscapeBytes + 2);
  const { bytes } = written;
  let { at } = written;
  let isKnownUtf8 = false;
  bytes[at] = quote;
  at += 1;
  for (let index = start; index < end; index += 1) {
    const byte = from[index] ?? 0;
    if (byte >= firstNonAscii && !isKnownUtf8) {
      if (!isUtf8(from.subarray(start, end))) return false;
      isKnownUtf8 = true;
    }
    if (byte >= firstNonAscii || isPlain[byte] === 1) {
      bytes[at] = byte;
      at += 1;
    } else {
      for (const each of escapes[byte] ?? []) {
        bytes[at] = each;
        at += 1;
      }
    }
  }
  bytes[at] = quote;
  written.at = at + 1;
  return true;
}

function writeJsonString(written: Written, memory: Readonly<View>, start: number, end: number): void {
  const { bytes } = memory;
  if (isPlainText(memory, start, end)) {
    reserve(written, end - start + 2);
    const { bytes: into, at } = written;
    into[at] = quote;
    bytes.copy(into, at + 1, start, end);
    into[at + 1 + end - start] = quote;
    written.at += end - start + 2;
    return;
  }
  if (end - start <= maxEscaped && writeEscaped(written, bytes, start, end)) return;
  writeText(written, JSON.stringify(bytes.toString("utf8", start, end)));
}

function writeDigits(written: Written, value: number, count: number): void {
  reserve(written, count);
  const { bytes, at } = written;
  let rest = value;
  for (let index = at + count - 1; index >= at; index -= 1) {
    const next = Math.floor(rest / 10);
    bytes[index] = digit0 + rest - next * 10;
    rest = next;
  }
  written.at += count;
}

function writeHex(written: Written, high: number, low: number): void {
  const count = high === 0 ? hexDigitsOf(low) : 8 + hexDigitsOf(high);
  reserve(written, count);
  const { bytes, at } = written;
  let word = low;
  for (let place = 0; place < count; place += 1) {
    if (place === 8) word = high;
    bytes[at + count - 1 - place] = hexDigits[word & 15] ?? 0;
    word >>>= 4;
  }
  written.at += count;
}

function cutTo(written: Written, size: number): void {
  const { pieces } = written;
  while (pieces.length > 1 && written.start > size) {
    pieces.pop();
    ({ bytes: written.bytes, start: written.start } = pieces.at(-1) ?? pieces[0]);
  }
  written.at = size - written.start;
}

function copyPart({ pieces }: Written, [from, to]: Part, into: Buffer, at: number): void {
  let end = to;
  for (let last = pieces.length - 1; end > from; last -= 1) {
    const { bytes, start } = pieces[last] ?? pieces[0];
    const begin = Math.max(from, start);
    if (begin >= end) continue;
    bytes.copy(into, at + begin - from, begin - start, end - start);
    end = begin;
  }
}

export function createByteWriter(): ByteWriter {
  const first: Piece = { bytes: Buffer.allocUnsafeSlow(pieceBytes), start: 0 };
  const written: Written = { pieces: [first], bytes: first.bytes, start: 0, at: 0 };
  return {
    size: () => written.start + written.at,
    text: (text) => writeText(written, text),
    encoded: (text) => writeEncoded(written, text),
    copied: (bytes, start, end) => writeCopied(written, bytes, start, end),
    jsonString: (memory, start, end) => writeJsonString(written, memory, start, end),
    digits: (value, count) => writeDigits(written, value, count),
    hex: (high, low) => writeHex(written, high, low),
    copy: (part, into, at) => copyPart(written, part, into, at),
    cut: (size) => cutTo(written, size),
    bytes(parts = [[0, written.start + written.at]]) {
      const all = Buffer.allocUnsafeSlow(parts.reduce((sum, [from, to]) => sum + to - from, 0));
      let at = 0;
      for (const part of parts) {
        copyPart(written, part, all, at);
        at += part[1] - part[0];
      }
      return all;
    },
  };
}
