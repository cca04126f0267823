import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { errorMessage } from "#kernel/errors.ts";

export class MalformedTraces extends Error {
  override readonly name = "MalformedTraces";
}

/** Reads the field at the reader. @returns false for an unknown field, which is then skipped. */
export type FieldReader = (field: number, type: WireType) => boolean;

/** Reads a message up to `end`. It allocates nothing itself: a million empty messages cost no more than their length. */
export function readMessage(reader: BinaryReader, end: number, read: FieldReader): void {
  if (end > reader.len) throw new MalformedTraces("a field goes beyond the end");
  while (reader.pos < end) {
    const [field, type] = reader.tag();
    if (!read(field, type)) reader.skip(type, field);
  }
  if (reader.pos !== end) throw new MalformedTraces("a field goes beyond the end of its message");
}

const isOf = (type: WireType, wanted: WireType): void => {
  if (type !== wanted) throw new MalformedTraces("a field has the wrong wire type");
};

/** Reads a length. @returns the end of the message, text or bytes at the reader. */
export function delimitedEnd(reader: BinaryReader, type: WireType): number {
  isOf(type, WireType.LengthDelimited);
  const length = reader.uint32();
  return reader.pos + length;
}

export function skipTo(reader: BinaryReader, end: number): void {
  if (end > reader.len) throw new MalformedTraces("a field goes beyond the end");
  reader.pos = end;
}

export function bytesAt(reader: BinaryReader, type: WireType): Uint8Array {
  isOf(type, WireType.LengthDelimited);
  return reader.bytes();
}

export function fixed64At(reader: BinaryReader, type: WireType): bigint {
  isOf(type, WireType.Bit64);
  return BigInt(reader.fixed64());
}

export function doubleAt(reader: BinaryReader, type: WireType): number {
  isOf(type, WireType.Bit64);
  return reader.double();
}

export function uint32At(reader: BinaryReader, type: WireType): number {
  isOf(type, WireType.Varint);
  return reader.uint32();
}

export function int64At(reader: BinaryReader, type: WireType): bigint {
  isOf(type, WireType.Varint);
  return BigInt(reader.int64());
}

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** Text, cut to so many bytes; invalid UTF-8 becomes U+FFFD. */
export function textOf(bytes: Uint8Array, maxBytes: number): string {
  if (bytes.length <= maxBytes) return decoder.decode(bytes);
  // A character that was cut in two is dropped.
  return decoder.decode(bytes.subarray(0, maxBytes)).replace(/\uFFFD$/, "");
}

/** Reads a whole body. @throws MalformedTraces for any error of the library. */
export function readBody<T>(bytes: Uint8Array, work: (reader: BinaryReader) => T): T {
  try {
    return work(new BinaryReader(bytes));
  } catch (error) {
    if (error instanceof MalformedTraces) throw error;
    throw new MalformedTraces(errorMessage(error));
  }
}
