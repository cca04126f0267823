/**
 * LZ4 blocks (the public "LZ4 Block Format Description") as systemd writes them: the size of the content in eight bytes,
 * little-endian, then one block.
 */
const sizeBytes = 8;
/** A byte of a block stands for at most this many: each byte of a length adds no more than 255. */
const maxRatio = 255;
const minMatch = 4;
/** A length of this many in a token continues in the bytes that follow. */
const openLength = 15;

const malformedLz4 = (): RangeError => new RangeError("malformed LZ4 block");

/** @throws RangeError when the payload is malformed, or its content is over `maxBytes`. */
export function unpackLz4(packed: Uint8Array, maxBytes: number): Buffer {
  if (packed.length <= sizeBytes) throw malformedLz4();
  const header = new DataView(packed.buffer, packed.byteOffset, sizeBytes);
  const size = Number(header.getBigUint64(0, true));
  // The size is only believed as far as a block of this length can hold it, so that no memory is reserved for a lie.
  if (size > maxBytes || size > packed.length * maxRatio) throw malformedLz4();
  const content = Buffer.alloc(size);
  let from = sizeBytes;
  let to = 0;

  const lengthFrom = (nibble: number): number => {
    let length = nibble;
    if (nibble !== openLength) return length;
    for (let byte = 255; byte === 255; ) {
      byte = packed[from] ?? -1;
      if (byte < 0) throw malformedLz4();
      from += 1;
      length += byte;
    }
    return length;
  };

  for (;;) {
    const token = packed[from] ?? -1;
    if (token < 0) throw malformedLz4();
    from += 1;
    const literals = lengthFrom(token >>> 4);
    if (from + literals > packed.length || to + literals > size) throw malformedLz4();
    content.set(packed.subarray(from, from + literals), to);
    from += literals;
    to += literals;
    // The last sequence is literals only.
    if (from === packed.length) break;
    const distance = (packed[from] ?? 0) + (packed[from + 1] ?? 0) * 256;
    if (from + 2 > packed.length || distance === 0 || distance > to) throw malformedLz4();
    from += 2;
    const length = lengthFrom(token & 15) + minMatch;
    if (to + length > size) throw malformedLz4();
    repeat(content, to, distance, length);
    to += length;
  }
  if (to !== size) throw malformedLz4();
  return content;
}

/** Copies what is `distance` bytes before `to`; a distance shorter than the length repeats what it has just copied. */
export function repeat(content: Buffer, to: number, distance: number, length: number): void {
  if (distance >= length) content.copyWithin(to, to - distance, to - distance + length);
  else for (let at = to; at < to + length; at += 1) content[at] = content[at - distance] ?? 0;
}
