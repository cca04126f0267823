import { zstdCompressSync } from "node:zlib";
import { type Hash64, jenkinsHash, remainder, sipHash24 } from "#adapters/journald/journal-file/hash.ts";
import type { NewEntry } from "./export-format.ts";
import { type HeaderField, headerFields, incompatible } from "./file-header.ts";
import { anatomyOf } from "./mutations.ts";
import type { FileKind } from "./programs.ts";

const objectType = { data: 1, field: 2, entry: 3, dataHashTable: 4, fieldHashTable: 5, entryArray: 6 } as const;
const headerSize = 256;
const bucketSize = 16;
const firstArrayItems = 4;

/** Where an object begins, and members of it that are filled in later. */
interface Chain {
  arrayAt: number;
  capacity: number;
  used: number;
  /** Where the offset of the next array is written. */
  linkAt: number;
}

interface DataObject {
  readonly offset: number;
  readonly hash: Hash64;
  readonly jenkins: Hash64;
  entries: number;
  readonly chain: Chain;
}

const bigOf = ({ high, low }: Hash64): bigint => (BigInt(high) << 32n) | BigInt(low);

/** How long payloads are packed. */
export interface Packing {
  /** Of the data object, and of the file's header. */
  readonly objectFlag: number;
  readonly headerFlag: number;
  /** @returns undefined for what stays as it is. */
  readonly pack: (payload: Buffer) => Buffer | undefined;
}

const zstd: Packing = { objectFlag: 4, headerFlag: incompatible.zstd, pack: (payload) => zstdCompressSync(payload) };

/**
 * A journal file of a few kilobytes: its hash tables have a few buckets where journald's have thousands. Everything else is as in
 * systemd's "Journal File Format", and `journalctl --verify` takes it.
 */
export function smallJournal(
  entries: readonly NewEntry[],
  { compact, keyedHash, compress }: FileKind,
  {
    buckets = 5,
    fileId = Buffer.alloc(16, 0xf1),
    seqnumId = Buffer.alloc(16, 0x5e),
    firstSeqnum = 1,
    packing = zstd,
  } = {},
): Buffer {
  let bytes = Buffer.alloc(headerSize);
  let objects = 0;
  let tail = 0;
  const put = (offset: number, value: bigint | number): void => void bytes.writeBigUInt64LE(BigInt(value), offset);
  const setHeader = (field: HeaderField, value: bigint | number): void => {
    const [offset, size] = headerFields[field];
    const word = Buffer.alloc(8);
    word.writeBigUInt64LE(BigInt(value));
    word.copy(bytes, offset, 0, size);
  };
  const append = (type: number, size: number, flags = 0): number => {
    const offset = Math.ceil(bytes.length / 8) * 8;
    bytes = Buffer.concat([bytes, Buffer.alloc(offset + size - bytes.length)]);
    bytes.writeUInt8(type, offset);
    bytes.writeUInt8(flags, offset + 1);
    put(offset + 8, size);
    objects += 1;
    tail = offset;
    return offset;
  };
  const hashOf = (payload: Buffer): Hash64 => (keyedHash ? sipHash24(payload, fileId) : jenkinsHash(payload));

  const addTable = (type: number, offsetField: HeaderField, sizeField: HeaderField): number => {
    const table = append(type, 16 + buckets * bucketSize) + 16;
    setHeader(offsetField, table);
    setHeader(sizeField, buckets * bucketSize);
    return table;
  };
  const fieldTable = addTable(objectType.fieldHashTable, "fieldHashTableOffset", "fieldHashTableSize");
  const dataTable = addTable(objectType.dataHashTable, "dataHashTableOffset", "dataHashTableSize");
  /** Puts an object at the end of the chain of its hash. */
  const link = (table: number, hash: Hash64, offset: number): void => {
    const bucket = table + remainder(hash, buckets) * bucketSize;
    const last = Number(bytes.readBigUInt64LE(bucket + 8));
    put(last === 0 ? bucket : last + 24, offset);
    put(bucket + 8, offset);
  };

  let arrays = 0;
  const itemSize = compact ? 4 : 8;
  const appendTo = (chain: Chain, entry: number): void => {
    if (chain.used === chain.capacity) {
      const capacity = chain.capacity === 0 ? firstArrayItems : chain.capacity * 2;
      const array = append(objectType.entryArray, 24 + capacity * itemSize);
      put(chain.linkAt, array);
      Object.assign(chain, { arrayAt: array, capacity, used: 0, linkAt: array + 16 });
      arrays += 1;
    }
    const at = chain.arrayAt + 24 + chain.used * itemSize;
    if (compact) bytes.writeUInt32LE(entry, at);
    else put(at, entry);
    chain.used += 1;
  };

  const fields = new Map<string, number>();
  const fieldOf = (name: string): number => {
    const known = fields.get(name);
    if (known !== undefined) return known;
    const payload = Buffer.from(name);
    const offset = append(objectType.field, 40 + payload.length);
    const hash = hashOf(payload);
    put(offset + 16, bigOf(hash));
    payload.copy(bytes, offset + 40);
    link(fieldTable, hash, offset);
    fields.set(name, offset);
    return offset;
  };

  const data = new Map<string, DataObject>();
  const payloadAt = compact ? 72 : 64;
  const dataOf = (name: string, payload: Buffer): DataObject => {
    const key = payload.toString("latin1");
    const known = data.get(key);
    if (known !== undefined) return known;
    const packed = compress && payload.length >= 512 ? packing.pack(payload) : undefined;
    const stored = packed ?? payload;
    const offset = append(objectType.data, payloadAt + stored.length, packed === undefined ? 0 : packing.objectFlag);
    stored.copy(bytes, offset + payloadAt);
    const hash = hashOf(payload);
    put(offset + 16, bigOf(hash));
    link(dataTable, hash, offset);
    const field = fieldOf(name);
    put(offset + 32, bytes.readBigUInt64LE(field + 32));
    put(field + 32, offset);
    const chain = { arrayAt: 0, capacity: 0, used: 0, linkAt: offset + 48 };
    const added = { offset, hash, jenkins: jenkinsHash(payload), entries: 0, chain };
    data.set(key, added);
    return added;
  };

  const all: Chain = { arrayAt: 0, capacity: 0, used: 0, linkAt: headerFields.entryArrayOffset[0] };
  for (const [index, { realtime, monotonic, bootId, fields: pairs }] of entries.entries()) {
    const named = [...pairs, ["_BOOT_ID", bootId] as const];
    const payloads = named.map(
      ([name, value]) => [name, Buffer.concat([Buffer.from(`${name}=`), Buffer.from(value)])] as const,
    );
    const items = [...new Set(payloads.map(([name, payload]) => dataOf(name, payload)))].toSorted(
      (a, b) => a.offset - b.offset,
    );
    const offset = append(objectType.entry, 64 + items.length * (compact ? 4 : 16));
    put(offset + 16, firstSeqnum + index);
    put(offset + 24, realtime);
    put(offset + 32, monotonic);
    Buffer.from(bootId, "hex").copy(bytes, offset + 40);
    put(
      offset + 56,
      items.reduce((sum, { jenkins }) => sum ^ bigOf(jenkins), 0n),
    );
    for (const [at, item] of items.entries()) {
      if (compact) bytes.writeUInt32LE(item.offset, offset + 64 + at * 4);
      else {
        put(offset + 64 + at * 16, item.offset);
        put(offset + 72 + at * 16, bigOf(item.hash));
      }
    }
    appendTo(all, offset);
    for (const item of items) {
      if (item.entries === 0) put(item.offset + 40, offset);
      else appendTo(item.chain, offset);
      item.entries += 1;
      put(item.offset + 56, item.entries);
    }
  }
  // A compact file also says where the last array of a chain is.
  if (compact) {
    for (const { offset, chain } of data.values()) {
      bytes.writeUInt32LE(chain.arrayAt, offset + 64);
      bytes.writeUInt32LE(chain.used, offset + 68);
    }
  }

  bytes = Buffer.concat([bytes, Buffer.alloc(Math.ceil(bytes.length / 8) * 8 - bytes.length)]);
  const last = entries.at(-1);
  Buffer.from("LPKSHHRH", "latin1").copy(bytes, 0);
  setHeader(
    "incompatibleFlags",
    (compact ? incompatible.compact : 0) |
      (keyedHash ? incompatible.keyedHash : 0) |
      (compress ? packing.headerFlag : 0),
  );
  fileId.copy(bytes, 24);
  Buffer.alloc(16, 0xa1).copy(bytes, 40);
  Buffer.from(last?.bootId ?? "00".repeat(16), "hex").copy(bytes, 56);
  seqnumId.copy(bytes, 72);
  setHeader("headerSize", headerSize);
  setHeader("arenaSize", bytes.length - headerSize);
  setHeader("tailObjectOffset", tail);
  setHeader("objectCount", objects);
  setHeader("entryCount", entries.length);
  setHeader("headSeqnum", entries.length === 0 ? 0 : firstSeqnum);
  setHeader("tailSeqnum", firstSeqnum + entries.length - 1);
  setHeader("headRealtime", entries[0]?.realtime ?? 0);
  setHeader("tailRealtime", last?.realtime ?? 0);
  setHeader("tailMonotonic", last?.monotonic ?? 0);
  setHeader("dataCount", data.size);
  setHeader("fieldCount", fields.size);
  put(232, arrays);
  return bytes;
}

/**
 * The file with the hashes of its payloads as they are now, and its hash tables rebuilt: so that a payload which was changed is
 * found by anyone who looks for it.
 * @throws RangeError when its objects cannot be distinguished.
 */
export function withHashes(journal: Buffer): Buffer {
  const { bytes, objects, isCompact } = anatomyOf(Buffer.from(journal));
  const isKeyed = (bytes.readUInt32LE(headerFields.incompatibleFlags[0]) & incompatible.keyedHash) !== 0;
  for (const [type, tableField, sizeField, payloadAt] of [
    [objectType.data, "dataHashTableOffset", "dataHashTableSize", isCompact ? 72 : 64],
    [objectType.field, "fieldHashTableOffset", "fieldHashTableSize", 40],
  ] as const) {
    const table = Number(bytes.readBigUInt64LE(headerFields[tableField][0]));
    const size = Number(bytes.readBigUInt64LE(headerFields[sizeField][0]));
    const buckets = Math.floor(size / bucketSize);
    if (buckets === 0 || table + size > bytes.length) throw new RangeError("no hash table");
    bytes.fill(0, table, table + buckets * bucketSize);
    for (const { offset, size: objectSize, isCompressed } of objects.filter((object) => object.type === type)) {
      const payload = bytes.subarray(offset + payloadAt, offset + objectSize);
      const written = { low: bytes.readUInt32LE(offset + 16), high: bytes.readUInt32LE(offset + 20) };
      const made = isKeyed ? sipHash24(payload, bytes.subarray(24, 40)) : jenkinsHash(payload);
      const hash = isCompressed ? written : made;
      bytes.writeBigUInt64LE(bigOf(hash), offset + 16);
      bytes.writeBigUInt64LE(0n, offset + 24);
      const bucket = table + remainder(hash, buckets) * bucketSize;
      const last = Number(bytes.readBigUInt64LE(bucket + 8));
      bytes.writeBigUInt64LE(BigInt(offset), last === 0 ? bucket : last + 24);
      bytes.writeBigUInt64LE(BigInt(offset), bucket + 8);
    }
  }
  return bytes;
}
