/**
 * Where things are in a journal file: the constants of systemd's "Journal File Format". All numbers are little-endian,
 * all objects begin at a multiple of eight.
 */
export const signature = "LPKSHHRH";

export const incompatible = {
  xz: 1,
  lz4: 2,
  keyedHash: 4,
  zstd: 8,
  compact: 16,
} as const;

export const readableFlags =
  incompatible.xz | incompatible.lz4 | incompatible.keyedHash | incompatible.zstd | incompatible.compact;

export const fileState = { offline: 0, online: 1, archived: 2 } as const;

export const objectType = {
  data: 1,
  field: 2,
  entry: 3,
  dataHashTable: 4,
  fieldHashTable: 5,
  entryArray: 6,
} as const;

export const lastObjectType = 7;
export const objectHeaderSize = 16;

export const header = {
  incompatibleFlags: 12,
  state: 16,
  fileId: 24,
  seqnumId: 72,
  headerSize: 88,
  dataHashTableOffset: 104,
  dataHashTableSize: 112,
  fieldHashTableOffset: 120,
  fieldHashTableSize: 128,
  tailObjectOffset: 136,
  entries: 152,
  entryArrayOffset: 176,
  headRealtime: 184,
  tailRealtime: 192,
} as const;

/** The oldest header has this many bytes; newer ones have more at the end. */
export const minHeaderSize = 208;
export const headerReadSize = 208;

/** Compression of an object's payload, in the flags of its own header. */
export const objectFlag = { xz: 1, lz4: 2, zstd: 4 } as const;

export const dataObject = {
  hash: 16,
  nextHash: 24,
  nextField: 32,
  firstEntry: 40,
  entryArray: 48,
  entries: 56,
  payload: 64,
  compactPayload: 72,
} as const;

export const fieldObject = { hash: 16, nextHash: 24, headData: 32, payload: 40 } as const;

export const entryObject = {
  seqnum: 16,
  realtime: 24,
  monotonic: 32,
  bootId: 40,
  xorHash: 56,
  items: 64,
} as const;

export const entryArrayObject = { next: 16, items: 24 } as const;

export const bucketSize = 16;

/** systemd takes no time beyond this for one: 2^55 microseconds. */
export const latestRealtime = 2 ** 55;
