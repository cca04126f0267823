import { repeat } from "./lz4.ts";

/**
 * Payloads in the .xz format (the public "The .xz File Format"), as liblzma writes them for systemd: one stream of one block
 * with the filter LZMA2. What follows the block, an index for seeking, is not read.
 */
const streamHeader = Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00]);
const streamHeaderSize = 12;
const lzma2 = 0x21;

const malformedXz = (): RangeError => new RangeError("malformed XZ stream");

/** @throws RangeError when the payload is malformed, or its content is over `maxBytes`. */
export function unpackXz(packed: Uint8Array, maxBytes: number): Buffer {
  if (packed.length <= streamHeaderSize || streamHeader.compare(packed, 0, streamHeader.length) !== 0) {
    throw malformedXz();
  }
  const chunks = chunksOf(packed, blockContent(packed));
  const content = Buffer.alloc(sizeOf(chunks, maxBytes));
  const model = createModel();
  let at = 0;
  let start = 0;
  for (const chunk of chunks) {
    if (chunk.resetsDictionary) start = at;
    if (chunk.properties !== undefined) setProperties(model, chunk.properties);
    if (chunk.resetsState) resetState(model);
    const { from, end, size } = chunk;
    if (chunk.isPlain) content.set(packed.subarray(from, end), at);
    else decodeChunk(model, createRange(packed, from, end), content, { at, start, end: at + size });
    at += size;
  }
  return content;
}

/** Where the content of the block begins: behind its header, which may have sizes that the chunks have anyway. */
function blockContent(packed: Uint8Array): number {
  const size = ((packed[streamHeaderSize] ?? 0) + 1) * 4;
  const flags = packed[streamHeaderSize + 1] ?? 0;
  let at = streamHeaderSize + 2;
  const skipNumber = (): void => {
    while ((packed[at] ?? 0) >= 0x80) at += 1;
    at += 1;
  };
  // Size 0 would be the index: a stream without a block. Bits 0 and 1 count the filters.
  if (size === 4 || (flags & 0x3f) !== 0) throw malformedXz();
  if ((flags & 0x40) !== 0) skipNumber();
  if ((flags & 0x80) !== 0) skipNumber();
  if (packed[at] !== lzma2 || packed[at + 1] !== 1) throw malformedXz();
  return streamHeaderSize + size;
}

interface Chunk {
  readonly from: number;
  readonly end: number;
  /** Of its content. */
  readonly size: number;
  readonly isPlain: boolean;
  readonly resetsDictionary: boolean;
  readonly resetsState: boolean;
  readonly properties: number | undefined;
}

/** Reads the chunks' headers alone, so that it is known what they hold before anything is decoded. */
function chunksOf(packed: Uint8Array, begin: number): readonly Chunk[] {
  const chunks: Chunk[] = [];
  const byte = (at: number): number => {
    const value = packed[at];
    if (value === undefined) throw malformedXz();
    return value;
  };
  for (let at = begin; byte(at) !== 0; ) {
    const control = byte(at);
    const chunk = control < 0x80 ? plainChunk(byte, at) : lzmaChunk(byte, at);
    const [first] = chunks;
    if (chunk.end > packed.length || (first === undefined && !chunk.resetsDictionary)) throw malformedXz();
    // What comes before properties were given cannot be decoded.
    if (!chunk.isPlain && chunk.properties === undefined && chunks.every(({ isPlain }) => isPlain)) throw malformedXz();
    chunks.push(chunk);
    at = chunk.end;
  }
  return chunks;
}

function plainChunk(byte: (at: number) => number, at: number): Chunk {
  const control = byte(at);
  if (control > 2) throw malformedXz();
  const size = byte(at + 1) * 256 + byte(at + 2) + 1;
  const end = at + 3 + size;
  const resetsDictionary = control === 1;
  return { from: at + 3, end, size, isPlain: true, resetsDictionary, resetsState: false, properties: undefined };
}

function lzmaChunk(byte: (at: number) => number, at: number): Chunk {
  const control = byte(at);
  const reset = (control >>> 5) & 3;
  const size = (control & 0x1f) * 2 ** 16 + byte(at + 1) * 256 + byte(at + 2) + 1;
  const packedSize = byte(at + 3) * 256 + byte(at + 4) + 1;
  const properties = reset >= 2 ? byte(at + 5) : undefined;
  const from = at + (properties === undefined ? 5 : 6);
  const resets = { resetsDictionary: reset === 3, resetsState: reset >= 1 };
  return { from, end: from + packedSize, size, isPlain: false, ...resets, properties };
}

function sizeOf(chunks: readonly Chunk[], maxBytes: number): number {
  const size = chunks.reduce((sum, chunk) => sum + chunk.size, 0);
  if (size > maxBytes) throw malformedXz();
  return size;
}

const states = 12;
const positions = 16;
const slots = 64;
const slotTables = 4;
const literalSize = 0x300;
/** Of the bits that say where a literal stands and what is before it, LZMA2 permits four. */
const maxLiteralBits = 4;

/** Where the probabilities of each decision begin. */
const isMatch = 0;
const isRepeat = isMatch + states * positions;
const isRepeat0Not = isRepeat + states;
const isRepeat1Not = isRepeat0Not + states;
const isRepeat2Not = isRepeat1Not + states;
const isRepeat0Long = isRepeat2Not + states;
const distanceSlot = isRepeat0Long + states * positions;
const distanceMiddle = distanceSlot + slotTables * slots;
const distanceLow = distanceMiddle + 128;
const lengthSize = 2 + 2 * positions * 8 + 256;
const matchLength = distanceLow + 16;
const repeatLength = matchLength + lengthSize;
const literal = repeatLength + lengthSize;
const probabilities = literal + (literalSize << maxLiteralBits);
const even = 1024;

interface Model {
  readonly probs: Uint16Array;
  /** The last four distances, the newest first. */
  readonly distances: [number, number, number, number];
  state: number;
  /** Bits of the byte before, and masks for the position, by which decisions are distinguished. */
  literalBits: number;
  literalMask: number;
  positionMask: number;
}

const createModel = (): Model => ({
  probs: new Uint16Array(probabilities),
  distances: [0, 0, 0, 0],
  state: 0,
  literalBits: 0,
  literalMask: 0,
  positionMask: 0,
});

function setProperties(model: Model, properties: number): void {
  const literalBits = properties % 9;
  const rest = Math.floor(properties / 9);
  const [literalPosition, position] = [rest % 5, Math.floor(rest / 5)];
  if (position > 4 || literalBits + literalPosition > maxLiteralBits) throw malformedXz();
  model.literalBits = literalBits;
  model.literalMask = 2 ** literalPosition - 1;
  model.positionMask = 2 ** position - 1;
}

function resetState(model: Model): void {
  model.probs.fill(even);
  model.distances.fill(0);
  model.state = 0;
}

/** The range decoder: what is left of the range, and where in it the code lies. */
interface Range {
  readonly bytes: Uint8Array;
  readonly end: number;
  at: number;
  range: number;
  code: number;
}

function createRange(bytes: Uint8Array, from: number, end: number): Range {
  const range: Range = { bytes, end, at: from + 1, range: 0xffff_ffff, code: 0 };
  if (from + 5 > end || bytes[from] !== 0) throw malformedXz();
  for (let count = 0; count < 4; count += 1) range.code = range.code * 256 + nextByte(range);
  return range;
}

function nextByte(range: Range): number {
  if (range.at >= range.end) throw malformedXz();
  const byte = range.bytes[range.at] ?? 0;
  range.at += 1;
  return byte;
}

function normalize(range: Range): void {
  if (range.range >= 2 ** 24) return;
  range.range = (range.range << 8) >>> 0;
  range.code = ((range.code << 8) | nextByte(range)) >>> 0;
}

function bit(range: Range, probs: Uint16Array, index: number): number {
  normalize(range);
  const probability = probs[index] ?? 0;
  const bound = (range.range >>> 11) * probability;
  if (range.code < bound) {
    range.range = bound;
    probs[index] = probability + ((2048 - probability) >>> 5);
    return 0;
  }
  range.range -= bound;
  range.code -= bound;
  probs[index] = probability - (probability >>> 5);
  return 1;
}

function tree(range: Range, probs: Uint16Array, base: number, bits: number): number {
  let node = 1;
  for (let count = 0; count < bits; count += 1) node = node * 2 + bit(range, probs, base + node);
  return node - 2 ** bits;
}

function reverseTree(range: Range, probs: Uint16Array, base: number, bits: number): number {
  let node = 1;
  let value = 0;
  for (let count = 0; count < bits; count += 1) {
    const next = bit(range, probs, base + node);
    node = node * 2 + next;
    value += next * 2 ** count;
  }
  return value;
}

function evenBits(range: Range, bits: number): number {
  let value = 0;
  for (let count = 0; count < bits; count += 1) {
    normalize(range);
    range.range = Math.floor(range.range / 2);
    const isOne = range.code >= range.range;
    if (isOne) range.code -= range.range;
    value = value * 2 + (isOne ? 1 : 0);
  }
  return value;
}

function decodeLength(range: Range, probs: Uint16Array, base: number, position: number): number {
  if (bit(range, probs, base) === 0) return 2 + tree(range, probs, base + 2 + position * 8, 3);
  if (bit(range, probs, base + 1) === 0) return 10 + tree(range, probs, base + 2 + (positions + position) * 8, 3);
  return 18 + tree(range, probs, base + 2 + 2 * positions * 8, 8);
}

/** @returns how far before the byte in front of the match it begins. */
function decodeDistance(range: Range, probs: Uint16Array, length: number): number {
  const slot = tree(range, probs, distanceSlot + Math.min(length - 2, slotTables - 1) * slots, 6);
  if (slot < 4) return slot;
  const bits = (slot >>> 1) - 1;
  const high = (2 + (slot & 1)) * 2 ** bits;
  if (slot < 14) return high + reverseTree(range, probs, distanceMiddle + high - slot, bits);
  const middle = evenBits(range, bits - 4) * 16;
  return high + middle + reverseTree(range, probs, distanceLow, 4);
}

function decodeLiteral(range: Range, { probs, state }: Model, base: number, matched: number): number {
  let node = 1;
  if (state >= 7) {
    // After a match the byte that would have continued it shows what is unlikely.
    for (let rest = matched; node < 0x100; ) {
      const expected = (rest >>> 7) & 1;
      rest <<= 1;
      const next = bit(range, probs, base + (1 + expected) * 0x100 + node);
      node = node * 2 + next;
      if (next !== expected) break;
    }
  }
  while (node < 0x100) node = node * 2 + bit(range, probs, base + node);
  return node & 0xff;
}

/** Length of a match, whose distance is then the newest; undefined for one byte at the newest distance. */
function decodeMatch(range: Range, model: Model, position: number): number | undefined {
  const { probs, distances, state } = model;
  const isAfterLiteral = state < 7;
  if (bit(range, probs, isRepeat + state) === 0) {
    const length = decodeLength(range, probs, matchLength, position);
    distances.copyWithin(1, 0, 3);
    distances[0] = decodeDistance(range, probs, length);
    model.state = isAfterLiteral ? 7 : 10;
    return length;
  }
  if (bit(range, probs, isRepeat0Not + state) === 0) {
    if (bit(range, probs, isRepeat0Long + state * positions + position) === 0) {
      model.state = isAfterLiteral ? 9 : 11;
      return undefined;
    }
  } else {
    const nth =
      bit(range, probs, isRepeat1Not + state) === 0 ? 1 : bit(range, probs, isRepeat2Not + state) === 0 ? 2 : 3;
    const distance = distances[nth] ?? 0;
    distances.copyWithin(1, 0, nth);
    distances[0] = distance;
  }
  model.state = isAfterLiteral ? 8 : 11;
  return decodeLength(range, probs, repeatLength, position);
}

/** @param place.start where the dictionary begins, before which nothing may be repeated. */
function decodeChunk(
  model: Model,
  range: Range,
  content: Buffer,
  place: { readonly at: number; readonly start: number; readonly end: number },
): void {
  const { start, end } = place;
  const { probs, distances, literalBits, literalMask, positionMask } = model;
  for (let at = place.at; at < end; ) {
    const position = (at - start) & positionMask;
    if (bit(range, probs, isMatch + model.state * positions + position) === 0) {
      const before = at > start ? (content[at - 1] ?? 0) : 0;
      const context = (((at - start) & literalMask) << literalBits) + (before >>> (8 - literalBits));
      const matched = content[at - distances[0] - 1] ?? 0;
      content[at] = decodeLiteral(range, model, literal + literalSize * context, matched);
      model.state = model.state < 4 ? 0 : model.state < 10 ? model.state - 3 : model.state - 6;
      at += 1;
      continue;
    }
    const length = decodeMatch(range, model, position) ?? 1;
    const distance = distances[0] + 1;
    if (distance > at - start || at + length > end) throw malformedXz();
    repeat(content, at, distance, length);
    at += length;
  }
}
