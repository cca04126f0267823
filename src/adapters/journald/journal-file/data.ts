import { type ZstdOptions, zstdDecompressSync } from "node:zlib";
import { DamagedJournal } from "./blocks.ts";
import { createEntryList, type EntryList } from "./entry-array.ts";
import type { HashTable, JournalFile } from "./file.ts";
import { type Hash64, jenkinsHash, remainder, sipHash24 } from "./hash.ts";
import * as layout from "./layout.ts";
import { unpackLz4 } from "./lz4.ts";
import { unpacking } from "./unpack-gate.ts";
import { unpackXz } from "./xz.ts";

const maxPayloadBytes = 256 * 1024 * 1024;

const isKeyed = (file: JournalFile): boolean => (file.header.incompatibleFlags & layout.incompatible.keyedHash) !== 0;

const payloadHash = (file: JournalFile, payload: Buffer): Hash64 =>
  isKeyed(file) ? sipHash24(payload, file.header.fileId) : jenkinsHash(payload);

export const payloadOffset = (file: JournalFile): number =>
  file.isCompact ? layout.dataObject.compactPayload : layout.dataObject.payload;

const unpackZstd = (packed: Buffer, options: ZstdOptions): Buffer =>
  unpacking(() => zstdDecompressSync(packed, options));

/** How payloads are packed, by the flag of their object: one zstd frame (RFC 8878), an LZ4 block, an .xz stream. */
const unpackers = new Map<number, (packed: Buffer) => Buffer>([
  [layout.objectFlag.zstd, (packed) => unpackZstd(packed, { maxOutputLength: maxPayloadBytes })],
  [layout.objectFlag.lz4, (packed) => unpackLz4(packed, maxPayloadBytes)],
  [layout.objectFlag.xz, (packed) => unpackXz(packed, maxPayloadBytes)],
]);

/** @throws DamagedJournal */
export function unpack(packed: Buffer, flags: number, offset: number): Buffer {
  const unpacker = unpackers.get(flags);
  if (unpacker === undefined) throw new DamagedJournal("payload of an unknown compression", offset);
  try {
    return unpacker(packed);
  } catch {
    throw new DamagedJournal("payload that cannot be unpacked", offset);
  }
}

const zstdMagic = 0xfd2f_b528;
/** Of what is unpacked together each payload has at most so many bytes. */
const maxJoined = 32 * 1024;
/** A frame in which nothing but one zero byte is. */
const endFrame = Buffer.from("28b52ffd200109000000", "hex");

/** Blocks and size of a frame as journald writes it: one segment of a stated size, without checksum and dictionary. */
function blocksOf(frame: Buffer): { readonly blocks: Buffer; readonly size: number } | undefined {
  if (frame.length < 8 || frame.readUInt32LE(0) !== zstdMagic) return undefined;
  if (frame[4] === 0x20) return { blocks: frame.subarray(6), size: frame[5] ?? 0 };
  const size = frame.readUInt16LE(5) + 256;
  return frame[4] === 0x60 && size <= maxJoined ? { blocks: frame.subarray(7), size } : undefined;
}

/**
 * Unpacks many payloads in one call, which takes less than half of the time: setting up zstd costs more than a payload does.
 * The call continues with the next frame where one fills its piece of memory, so each is made to: it gets another header and a
 * first block that repeats a byte (RFC 8878, 3.1.1).
 * @returns undefined where each must be unpacked for itself.
 */
export function unpackTogether(packed: readonly Buffer[]): readonly Buffer[] | undefined {
  const frames = packed.map(blocksOf).filter((frame) => frame !== undefined);
  if (frames.length < packed.length || packed.length < 2) return undefined;
  const chunkSize = Math.max(64, ...frames.map(({ size }) => size)) + 1;
  const joined = frames.flatMap(({ blocks, size }) => {
    const start = Buffer.alloc(10);
    start.writeUInt32LE(zstdMagic);
    // A window of 128 KiB, and a block of the kind that repeats.
    start[5] = 0x38;
    start.writeUIntLE(((chunkSize - size) << 3) | 2, 6, 3);
    return [start, blocks];
  });
  try {
    const maxOutputLength = chunkSize * frames.length + chunkSize;
    const bytes = unpackZstd(Buffer.concat([...joined, endFrame]), { chunkSize, maxOutputLength });
    if (bytes.length !== chunkSize * frames.length + 1) return undefined;
    return frames.map(({ size }, index) => bytes.subarray((index + 1) * chunkSize - size, (index + 1) * chunkSize));
  } catch {
    return undefined;
  }
}

export const compressionFlags = layout.objectFlag.xz | layout.objectFlag.lz4 | layout.objectFlag.zstd;

export interface Payload {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
}

/**
 * The payload of a data object, `NAME=value`.
 * @throws DamagedJournal
 */
export function readPayload(file: JournalFile, offset: number): Payload {
  const skip = payloadOffset(file);
  const size = file.object(offset, layout.objectType.data, skip);
  const { view, seek } = file.blocks;
  const at = seek(offset, size);
  const flags = (view.bytes[at + 1] ?? 0) & compressionFlags;
  if (flags === 0) return { bytes: view.bytes, start: at + skip, end: at + size };
  const bytes = unpack(view.bytes.subarray(at + skip, at + size), flags, offset);
  return { bytes, start: 0, end: bytes.length };
}

const equals = ({ bytes, start, end }: Payload, wanted: Buffer): boolean =>
  end - start === wanted.length && bytes.compare(wanted, 0, wanted.length, start, end) === 0;

/** Follows the bucket of a hash. Objects of a bucket come in the order in which they were written. */
function* bucketOf(
  file: JournalFile,
  table: HashTable,
  hash: Hash64,
  places: { readonly type: number; readonly hash: number; readonly nextHash: number; readonly payload: number },
): Generator<number> {
  if (table.buckets === 0) return;
  const bucket = table.offset + remainder(hash, table.buckets) * layout.bucketSize;
  if (bucket + layout.bucketSize > file.size) throw new DamagedJournal("hash table outside the file", bucket);
  let offset = file.number(bucket);
  let previous = 0;
  while (offset !== 0) {
    if (offset <= previous) throw new DamagedJournal("hash chain that leads back", previous);
    file.object(offset, places.type, places.payload);
    const word = file.blocks.seek(offset + places.hash, 8) >>> 2;
    const { words } = file.blocks.view;
    if (words[word] === hash.low && words[word + 1] === hash.high) yield offset;
    previous = offset;
    offset = file.number(offset + places.nextHash);
  }
}

const dataPlaces = {
  type: layout.objectType.data,
  hash: layout.dataObject.hash,
  nextHash: layout.dataObject.nextHash,
  payload: layout.dataObject.payload,
};
const fieldPlaces = {
  type: layout.objectType.field,
  hash: layout.fieldObject.hash,
  nextHash: layout.fieldObject.nextHash,
  payload: layout.fieldObject.payload,
};

/**
 * Finds the data object of `NAME=value`.
 * @returns its offset; undefined when no entry of the file has it.
 * @throws DamagedJournal
 */
export function findData(file: JournalFile, wanted: Buffer): number | undefined {
  for (const offset of bucketOf(file, file.header.dataHashTable, payloadHash(file, wanted), dataPlaces)) {
    if (equals(readPayload(file, offset), wanted)) return offset;
  }
  return undefined;
}

/** How many entries have the data object at an offset, where there is one. */
export const entryCount = (file: JournalFile, offset: number): number =>
  file.number(offset + layout.dataObject.entries);

export function entriesOf(file: JournalFile, offset: number, onDamage: (error: DamagedJournal) => void): EntryList {
  file.object(offset, layout.objectType.data, payloadOffset(file));
  const { dataObject } = layout;
  return createEntryList(file, {
    leading: file.number(offset + dataObject.firstEntry),
    arrayOffset: file.number(offset + dataObject.entryArray),
    length: file.number(offset + dataObject.entries),
    onDamage,
  });
}

/**
 * Offsets of the data objects of a field, the last written first.
 * @throws DamagedJournal where the chain breaks.
 */
export function* dataOfField(file: JournalFile, name: string): Generator<number> {
  const wanted = Buffer.from(name, "latin1");
  for (const field of bucketOf(file, file.header.fieldHashTable, payloadHash(file, wanted), fieldPlaces)) {
    const size = file.object(field, layout.objectType.field, layout.fieldObject.payload);
    const at = file.blocks.seek(field, size);
    const payload = { bytes: file.blocks.view.bytes, start: at + layout.fieldObject.payload, end: at + size };
    if (!equals(payload, wanted)) continue;
    let previous = Number.POSITIVE_INFINITY;
    let offset = file.number(field + layout.fieldObject.headData);
    while (offset !== 0) {
      // A new one is put before the others, so that the chain leads back in the file.
      if (offset >= previous) throw new DamagedJournal("chain of a field that leads on", previous);
      file.object(offset, layout.objectType.data, layout.dataObject.payload);
      previous = offset;
      const next = file.number(offset + layout.dataObject.nextField);
      yield offset;
      offset = next;
    }
    return;
  }
}

/**
 * Names of all fields of the file.
 * @param onDamage is called with a chain that breaks; the others are followed all the same.
 */
export function fieldNamesOf(file: JournalFile, onDamage: (error: DamagedJournal) => void): readonly string[] {
  const { offset: table, buckets } = file.header.fieldHashTable;
  const names: string[] = [];
  for (let bucket = 0; bucket < buckets; bucket += 1) {
    try {
      const head = table + bucket * layout.bucketSize;
      if (head + layout.bucketSize > file.size) throw new DamagedJournal("hash table outside the file", head);
      let previous = 0;
      for (let offset = file.number(head); offset !== 0; ) {
        if (offset <= previous) throw new DamagedJournal("hash chain that leads back", previous);
        const size = file.object(offset, layout.objectType.field, layout.fieldObject.payload);
        const at = file.blocks.seek(offset, size);
        names.push(file.blocks.view.bytes.toString("latin1", at + layout.fieldObject.payload, at + size));
        previous = offset;
        offset = file.number(offset + layout.fieldObject.nextHash);
      }
    } catch (error) {
      if (!(error instanceof DamagedJournal)) throw error;
      onDamage(error);
    }
  }
  return names;
}
