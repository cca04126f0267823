import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { type BlockPool, type Blocks, createBlocks, DamagedJournal } from "./blocks.ts";
import * as layout from "./layout.ts";

const wordRange = 2 ** 32;

export interface Header {
  readonly incompatibleFlags: number;
  readonly state: number;
  readonly fileId: Buffer;
  /** 32 hex digits: sequence numbers of files with the same one can be compared. */
  readonly seqnumId: string;
  readonly headerSize: number;
  readonly dataHashTable: HashTable;
  readonly fieldHashTable: HashTable;
  readonly tailObjectOffset: number;
  readonly entries: number;
  readonly entryArrayOffset: number;
  readonly headRealtime: number;
  readonly tailRealtime: number;
}

export interface HashTable {
  readonly offset: number;
  readonly buckets: number;
}

/** The file is not a journal, or in a format that this reader does not know. */
export class NotAJournal extends Error {
  override readonly name = "NotAJournal";
}

/** @throws NotAJournal */
export function parseHeader(bytes: Buffer): Header {
  if (bytes.length < layout.headerReadSize || bytes.toString("latin1", 0, 8) !== layout.signature) {
    throw new NotAJournal("it does not begin as a journal file does");
  }
  const number = (at: number): number => bytes.readUInt32LE(at) + bytes.readUInt32LE(at + 4) * wordRange;
  const table = (offset: number, size: number): HashTable => ({
    offset: number(offset),
    buckets: Math.floor(number(size) / layout.bucketSize),
  });
  const { header } = layout;
  const incompatibleFlags = bytes.readUInt32LE(header.incompatibleFlags);
  const unknown = incompatibleFlags & ~layout.readableFlags;
  if (unknown !== 0)
    throw new NotAJournal(`it is of a newer format (incompatible flags 0x${(unknown >>> 0).toString(16)})`);
  const headerSize = number(header.headerSize);
  if (headerSize < layout.minHeaderSize || headerSize % 8 !== 0) throw new NotAJournal("its header has a wrong size");
  return {
    incompatibleFlags,
    state: bytes.readUInt8(header.state),
    fileId: Buffer.from(bytes.subarray(header.fileId, header.fileId + 16)),
    seqnumId: bytes.toString("hex", header.seqnumId, header.seqnumId + 16),
    headerSize,
    dataHashTable: table(header.dataHashTableOffset, header.dataHashTableSize),
    fieldHashTable: table(header.fieldHashTableOffset, header.fieldHashTableSize),
    tailObjectOffset: number(header.tailObjectOffset),
    entries: number(header.entries),
    entryArrayOffset: number(header.entryArrayOffset),
    headRealtime: number(header.headRealtime),
    tailRealtime: number(header.tailRealtime),
  };
}

export interface JournalFile {
  readonly header: Header;
  readonly size: number;
  readonly isCompact: boolean;
  readonly inode: string;
  readonly blocks: Blocks;
  /**
   * Reads the header again, and forgets blocks when it has changed.
   * @returns whether it has.
   * @throws NotAJournal when the file was overwritten by something else.
   */
  readonly refresh: () => boolean;
  /**
   * Looks at an object's own header.
   * @returns the object's size in bytes.
   * @throws DamagedJournal when there is no object of that type at that offset.
   */
  readonly object: (offset: number, type: number, minSize: number) => number;
  /**
   * Whether something was written since the header was last read; what was read so far is forgotten then. What a block says of
   * may stand in another one that was read before it.
   */
  readonly forgetIfWritten: () => boolean;
  /** Whether the file still has a name; a deleted one keeps its space on the disk until it is closed. */
  readonly isLinked: () => boolean;
  readonly number: (offset: number) => number;
  readonly close: () => void;
}

/** Whether this machine's byte order is the files' own: numbers are read as they stand in memory. */
const isLittleEndian = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;

/**
 * Opens a journal file for reading.
 * @throws NotAJournal, or the system's error.
 */
export function openJournalFile(path: string, pool: BlockPool & { readonly nextFileKey: () => number }): JournalFile {
  if (!isLittleEndian) throw new NotAJournal("journal files are not read on big-endian machines");
  // A pipe under the name of a journal must not make the open wait.
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    return createJournalFile(fd, createBlocks(fd, pool, pool.nextFileKey()));
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

function createJournalFile(fd: number, blocks: Blocks): JournalFile {
  const { view, seek } = blocks;
  const headerBytes = Buffer.alloc(layout.headerReadSize);
  const previous = Buffer.alloc(layout.headerReadSize);
  let size = 0;
  let header: Header | undefined;

  const refresh = (): boolean => {
    const count = readSync(fd, headerBytes, 0, headerBytes.length, 0);
    // Asked after the header was read: what the header describes is within this size.
    const stat = fstatSync(fd);
    if (!stat.isFile()) throw new NotAJournal("it is not a regular file");
    const isSame = stat.size === size && header !== undefined && headerBytes.equals(previous);
    if (isSame) return false;
    header = parseHeader(headerBytes.subarray(0, count));
    headerBytes.copy(previous);
    ({ size } = stat);
    blocks.forget();
    return true;
  };
  refresh();

  const { dev, ino } = fstatSync(fd);

  const present = (): Header => {
    if (header === undefined) throw new NotAJournal("its header was never read");
    return header;
  };

  const objectAt = (offset: number, type: number, minSize: number): number => {
    if (offset % 8 !== 0 || offset < layout.minHeaderSize || offset + minSize > size) {
      throw new DamagedJournal("offset that leads nowhere", offset);
    }
    const at = seek(offset, minSize);
    const word = at >>> 2;
    if (view.bytes[at] !== type) throw new DamagedJournal("object of another type", offset);
    const length = (view.words[word + 2] ?? 0) + (view.words[word + 3] ?? 0) * wordRange;
    if (length < minSize || offset + length > size) throw new DamagedJournal("object of a wrong size", offset);
    return length;
  };

  const forgetIfWritten = (): boolean => {
    const count = readSync(fd, headerBytes, 0, headerBytes.length, 0);
    if (count !== headerBytes.length || headerBytes.equals(previous)) return false;
    ({ size } = fstatSync(fd));
    blocks.forget();
    return true;
  };

  return {
    get header() {
      return present();
    },
    get size() {
      return size;
    },
    isCompact: (present().incompatibleFlags & layout.incompatible.compact) !== 0,
    inode: `${dev}:${ino}`,
    blocks,
    refresh,
    object(offset, type, minSize) {
      try {
        return objectAt(offset, type, minSize);
      } catch (error) {
        if (!(error instanceof DamagedJournal) || !forgetIfWritten()) throw error;
        return objectAt(offset, type, minSize);
      }
    },
    forgetIfWritten,
    isLinked: () => fstatSync(fd).nlink > 0,
    number(offset) {
      const word = seek(offset, 8) >>> 2;
      return (view.words[word] ?? 0) + (view.words[word + 1] ?? 0) * wordRange;
    },
    close() {
      blocks.forget();
      closeSync(fd);
    },
  };
}
