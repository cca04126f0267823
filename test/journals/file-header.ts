import { closeSync, openSync, readSync, writeSync } from "node:fs";

/** Members of a journal file's header, by systemd's "Journal File Format": offset and size in bytes. */
export const headerFields = {
  compatibleFlags: [8, 4],
  incompatibleFlags: [12, 4],
  state: [16, 1],
  headerSize: [88, 8],
  arenaSize: [96, 8],
  dataHashTableOffset: [104, 8],
  dataHashTableSize: [112, 8],
  fieldHashTableOffset: [120, 8],
  fieldHashTableSize: [128, 8],
  tailObjectOffset: [136, 8],
  objectCount: [144, 8],
  entryCount: [152, 8],
  tailSeqnum: [160, 8],
  headSeqnum: [168, 8],
  entryArrayOffset: [176, 8],
  headRealtime: [184, 8],
  tailRealtime: [192, 8],
  tailMonotonic: [200, 8],
  dataCount: [208, 8],
  fieldCount: [216, 8],
} as const satisfies Record<string, readonly [offset: number, size: 1 | 4 | 8]>;
export type HeaderField = keyof typeof headerFields;

/** Bits of `incompatibleFlags`. */
export const incompatible = { xz: 1, lz4: 2, keyedHash: 4, zstd: 8, compact: 16 } as const;

/** Value of `state` while a journal is being written to. */
export const stateOnline = 1;
/** And once it has been rotated. */
export const stateArchived = 2;

export function readHeaderField(path: string, field: HeaderField): bigint {
  const [offset, size] = headerFields[field];
  const bytes = Buffer.alloc(8);
  const file = openSync(path, "r");
  try {
    readSync(file, bytes, 0, size, offset);
  } finally {
    closeSync(file);
  }
  return bytes.readBigUInt64LE();
}

export function writeHeaderField(path: string, field: HeaderField, value: bigint): void {
  const [offset, size] = headerFields[field];
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(value);
  const file = openSync(path, "r+");
  try {
    writeSync(file, bytes, 0, size, offset);
  } finally {
    closeSync(file);
  }
}
