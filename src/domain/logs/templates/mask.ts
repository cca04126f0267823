/** Stands in a masked message for what differs from entry to entry. Bytes below a space do not occur in it otherwise. */
const variable = 1;
/** Stands at the end of a masked message that was longer. */
const cut = 2;

/** Of a message at most so many bytes are inspected, those of its first line, and so many are kept. */
const [maxRead, maxKept] = [2048, 512];
/** A quotation is at most so long, and the name of a member of JSON. */
const [maxQuotation, longestName] = [1024, 64];
/** Members of JSON whose values are what a program says. */
const spoken = new Set(["msg", "message", "event"]);
const spokenKeys = ["msg=", "message=", "event="].map((key) => new TextEncoder().encode(key));
const endsWithSpoken = (bytes: Uint8Array, length: number): boolean =>
  spokenKeys.some((key) => length >= key.length && key.every((byte, at) => bytes[length - key.length + at] === byte));
const printable = (byte = 0): number => Math.max(byte, space);
/** Letters a to f alone are a number from this length on. */
const shortestHex = 8;

const [lineFeed, space, apostrophe, quote, backtick] = [0x0a, 0x20, 0x27, 0x22, 0x60];
const [slash, dot, at, colon, equals, backslash, del] = [0x2f, 0x2e, 0x40, 0x3a, 0x3d, 0x5c, 0x7f];

const [isWord, isDigit, isHex, isBlank] = [1, 2, 4, 8];
const kinds = new Uint8Array(256);
for (let byte = 0; byte < 256; byte += 1) {
  const text = String.fromCodePoint(byte);
  if (byte > del || /[\w\-./@+%~#\\$&]/.test(text)) kinds[byte] = isWord;
  if (/\d/.test(text)) kinds[byte] = isWord | isDigit;
  if (/[a-f]/i.test(text)) kinds[byte] = isWord | isHex;
  if (byte <= space || byte === del) kinds[byte] = isBlank;
}
const kindOf = (byte: number | undefined): number => (byte === undefined ? isBlank : (kinds[byte] ?? 0));

/** Whether a word is a number, an address, a name of a file, host or unit, or another value that differs from entry to entry. */
function isVariable(bytes: Uint8Array, start: number, end: number): boolean {
  let slashes = 0;
  let areHex = true;
  for (let position = start; position < end; position += 1) {
    const byte = bytes[position] ?? 0;
    const kind = kindOf(byte);
    if ((kind & isDigit) !== 0) return true;
    if ((kind & isHex) === 0) areHex = false;
    if (byte === slash) slashes += 1;
    const isInside = position > start && position < end - 1;
    if (isInside && (byte === dot || byte === at) && bytes[position + 1] !== dot) return true;
  }
  if (areHex && end - start >= shortestHex) return true;
  return slashes > 1 || (slashes > 0 && bytes[start] === slash && end - start > 1);
}

function isHexWord(bytes: Uint8Array, start: number, end: number): boolean {
  for (let position = start; position < end; position += 1)
    if ((kindOf(bytes[position]) & (isHex | isDigit)) === 0) return false;
  return true;
}

/** The end of a quotation that begins here, behind its last mark; undefined where it does not end. */
function endOfQuotation(bytes: Uint8Array, start: number, end: number): number | undefined {
  const opening = bytes[start];
  const isDouble = opening === quote;
  // An apostrophe is not a quotation mark.
  if (!isDouble && start > 0 && (kindOf(bytes[start - 1]) & isWord) !== 0) return undefined;
  const last = Math.min(end, start + maxQuotation);
  for (let position = start + 1; position < last; position += 1) {
    const byte = bytes[position];
    if (byte === backslash && isDouble) {
      position += 1;
      continue;
    }
    const closes = byte === opening || (opening === backtick && byte === apostrophe);
    if (!closes) continue;
    if (isDouble || position + 1 >= end || (kindOf(bytes[position + 1]) & isWord) === 0) return position + 1;
  }
  return undefined;
}

/** Reads messages, one after the other, into the same memory. */
export interface Masking {
  /**
   * Masks the first line of a message.
   * @returns a number for what is left, the same for the same. Nobody outside knows it ahead, so that messages cannot be
   * made to have those of others.
   * @param salt makes another number of the same.
   */
  readonly read: (bytes: Uint8Array, start: number, end: number, salt: number) => number;
  /**
   * Reads the first word of a message alone.
   * @returns its number; undefined where more must be read to tell where it ends.
   */
  readonly readFirstWord: (bytes: Uint8Array, start: number, end: number, salt: number) => number | undefined;
  /** Such a number for the first word of what was read last. */
  readonly firstWord: () => number;
  /** The masked message that was read last, `<*>` for each part that differs. */
  readonly text: () => string;
}

const decoder = new TextDecoder();
const control = /\p{Cc}/gu;
const textOf = (bytes: Uint8Array, start: number, end: number): string => decoder.decode(bytes.subarray(start, end));

/** What stands for the parts of a message that differ from entry to entry. */
export const wildcard = "<*>";

const numberOf = (low: number, high: number): number => (low >>> 0) * 2 ** 21 + (high >>> 11);

function createHash(seed: number) {
  let firstWord = 0;
  const hash = (bytes: Uint8Array, length: number, salt: number): number => {
    let low = seed ^ Math.imul(salt, 0x9e37_79b1);
    let high = Math.imul(seed, 0x85eb_ca6b) ^ salt;
    let first = -1;
    for (let position = 0; position < length; position += 1) {
      const byte = bytes[position] ?? 0;
      if (byte === space && first < 0) first = numberOf(low, high);
      low = Math.imul(low ^ byte, 0x0100_0193);
      low ^= low >>> 15;
      high = Math.imul(high + byte, 0xc2b2_ae35);
      high ^= high >>> 13;
    }
    const all = numberOf(low, high);
    firstWord = first < 0 ? all : first;
    return all;
  };
  return Object.assign(hash, { firstWord: () => firstWord });
}

/** What is left of a message, as far as it was read. */
interface Masked {
  readonly bytes: Uint8Array;
  length: number;
}

function put(masked: Masked, byte: number): void {
  masked.bytes[masked.length] = byte;
  masked.length += 1;
}

/** A number behind a number and a colon is a part of it, as in times and addresses. */
function putVariable(masked: Masked): void {
  const { bytes } = masked;
  while (masked.length > 1 && bytes[masked.length - 1] === colon) {
    const before = masked.length - (bytes[masked.length - 2] === colon ? 3 : 2);
    if (bytes[before] !== variable) break;
    masked.length = before + 1;
  }
  if (masked.length === 0 || bytes[masked.length - 1] !== variable) put(masked, variable);
}

/** Reads a word. @returns its end. */
function putWord(masked: Masked, bytes: Uint8Array, start: number, end: number): number {
  const out = masked.bytes;
  const { length } = masked;
  let after = start;
  while (after < end && (kindOf(bytes[after]) & isWord) !== 0) after += 1;
  let last = after;
  // What ends a sentence is not part of its last word.
  while (last > start + 1 && bytes[last - 1] === dot) last -= 1;
  const isValue = length > 0 && out[length - 1] === equals;
  const isBehindColon = length > 1 && out[length - 1] === colon;
  const isPartOfAddress = isBehindColon && out[length - (out[length - 2] === colon ? 3 : 2)] === variable;
  const isMasked = isValue || isVariable(bytes, start, last) || (isPartOfAddress && isHexWord(bytes, start, last));
  if (isMasked) putVariable(masked);
  else for (let at = start; at < last && masked.length < maxKept; at += 1) put(masked, bytes[at] ?? 0);
  for (let at = last; at < after && masked.length < maxKept; at += 1) put(masked, dot);
  return after;
}

/** @param seed any number that those who write messages do not know. */
export function createMasking(seed: number): Masking {
  const hash = createHash(seed);
  const masked: Masked = { bytes: new Uint8Array(maxKept + 16), length: 0 };
  const out = masked.bytes;
  /** Whether a name of JSON was read whose value is read as words. */
  let isNameOfSpoken = false;

  /** What is quoted is variable, but for names of members of JSON. @returns the end of what was read. */
  const scanQuotation = (bytes: Uint8Array, start: number, end: number): number => {
    const mark = bytes[start] ?? 0;
    const isSpoken = isNameOfSpoken || endsWithSpoken(out, masked.length);
    isNameOfSpoken = false;
    const after = endOfQuotation(bytes, start, end);
    put(masked, mark);
    if (after === undefined) return start + 1;
    const isName = mark === quote && bytes[after] === colon && after - start <= longestName;
    if (isSpoken) scan(bytes, start + 1, after - 1);
    else if (isName)
      for (let at = start + 1; at < after - 1 && masked.length < maxKept; at += 1) put(masked, printable(bytes[at]));
    else put(masked, variable);
    put(masked, bytes[after - 1] ?? mark);
    isNameOfSpoken = isName && spoken.has(textOf(bytes, start + 1, after - 1));
    return after;
  };

  const scan = (bytes: Uint8Array, start: number, end: number): void => {
    let position = start;
    while (position < end && masked.length < maxKept) {
      const byte = bytes[position] ?? 0;
      const kind = kindOf(byte);
      if ((kind & isWord) !== 0) {
        position = putWord(masked, bytes, position, end);
        continue;
      }
      if (byte === quote || byte === apostrophe || byte === backtick) {
        position = scanQuotation(bytes, position, end);
        continue;
      }
      position += 1;
      if ((kind & isBlank) !== 0) {
        if (masked.length > 0 && out[masked.length - 1] !== space) put(masked, space);
        continue;
      }
      put(masked, byte);
      // A value that is empty is one nevertheless.
      const isKey = byte === equals && masked.length > 1 && (kindOf(out[masked.length - 2]) & isWord) !== 0;
      if (isKey && (kindOf(position < end ? bytes[position] : undefined) & isBlank) !== 0) put(masked, variable);
    }
    if (position < end && masked.length < out.length) put(masked, cut);
  };

  return {
    read(bytes, start, end, salt) {
      masked.length = 0;
      isNameOfSpoken = false;
      const line = bytes.subarray(start, Math.min(end, start + maxRead)).indexOf(lineFeed);
      scan(bytes, start, line < 0 ? Math.min(end, start + maxRead) : start + line);
      while (masked.length > 0 && out[masked.length - 1] === space) masked.length -= 1;
      return hash(out, masked.length, salt);
    },
    readFirstWord(bytes, start, end, salt) {
      const last = Math.min(end, start + maxKept);
      let after = start;
      while (after < last && (kindOf(bytes[after]) & isWord) !== 0) after += 1;
      if (after === start || after === last || bytes[after] !== space) return undefined;
      masked.length = 0;
      putWord(masked, bytes, start, after);
      return hash(out, masked.length, salt);
    },
    firstWord: hash.firstWord,
    text: () =>
      decoder
        .decode(out.subarray(0, masked.length))
        .replaceAll("\u0001", wildcard)
        .replaceAll("\u0002", "…")
        .replaceAll(control, "\ufffd"),
  };
}
