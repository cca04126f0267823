import { DamagedJournal } from "./blocks.ts";
import { compressionFlags, type Payload, payloadOffset, readPayload, unpack, unpackTogether } from "./data.ts";
import type { JournalFile } from "./file.ts";
import * as layout from "./layout.ts";

/** Whether a text that may fit stands between two positions. */
export type Finder = (bytes: Uint8Array, from: number, to: number) => boolean;

export interface Search {
  /** Undefined where only the text itself shows it. */
  readonly finder: Finder | undefined;
  /** Whether what the finder finds fits, so that the text need not be asked. */
  readonly isDecided: boolean;
  readonly matches: (message: string) => boolean;
  readonly onDamage: (error: DamagedJournal) => void;
}

/** It stays in the processor's cache while it is walked, and of long arrays of entries most is not read. */
const pieceSize = 1024 * 1024;
const wordRange = 2 ** 32;
/** The bitmaps of larger files would take more than 8 MiB each. */
const maxFileSize = 512 * 1024 * 1024;

const prefix = Buffer.from("MESSAGE=");
const [prefixStart, prefixEnd] = [prefix.readUInt32LE(0), prefix.readUInt32LE(4)];

/** What one walk after another uses; the marks are one bit for every offset at which an object can begin. */
interface Memory {
  readonly piece: Buffer;
  readonly words: Uint32Array;
  readonly messages: Uint32Array;
  readonly matches: Uint32Array;
  /** What was found; it grows where that does not fit. */
  found: Float64Array;
}

let kept: Memory | undefined;

function memoryFor(size: number): Memory {
  const length = Math.ceil(size / 8 / 32);
  if (kept === undefined || kept.messages.length < length) {
    const piece = kept?.piece ?? Buffer.from(new ArrayBuffer(pieceSize));
    const words = new Uint32Array(piece.buffer);
    const found = kept?.found ?? new Float64Array(pieceSize / 64);
    kept = { piece, words, messages: new Uint32Array(length), matches: new Uint32Array(length), found };
  }
  kept.messages.fill(0, 0, length);
  kept.matches.fill(0, 0, length);
  return kept;
}

function mark(marks: Uint32Array, offset: number): void {
  marks[offset >>> 8] = (marks[offset >>> 8] ?? 0) | (1 << ((offset >>> 3) & 31));
}

const isMarked = (marks: Uint32Array, offset: number): boolean =>
  ((marks[offset >>> 8] ?? 0) & (1 << ((offset >>> 3) & 31))) !== 0;

/** Decides on one message after another, and then on the entries that have them. */
function createVisitor(file: JournalFile, search: Search, memory: Memory) {
  const { piece, words, messages, matches } = memory;
  const { finder, isDecided, onDamage } = search;
  const skip = payloadOffset(file);
  const itemWords = file.isCompact ? 1 : 4;
  const packed: { readonly at: number; readonly size: number; readonly offset: number }[] = [];
  let count = 0;
  /** Whether some text that fits may be that of several entries. */
  let isShared = false;

  /** @param entry the only one that has this message, or 0. */
  const note = (bytes: Buffer, start: number, end: number, offset: number, entry: number): void => {
    mark(messages, offset);
    if (finder !== undefined && !finder(bytes, start, end)) return;
    if (!isDecided && !search.matches(bytes.toString("utf8", start, end))) return;
    mark(matches, offset);
    if (entry === 0) isShared = true;
    else mark(matches, entry);
  };

  const noteUnpacked = ({ bytes, start, end }: Payload, offset: number, entry: number): void => {
    const isMessage = bytes.compare(prefix, 0, prefix.length, start, Math.min(end, start + prefix.length)) === 0;
    if (isMessage) note(bytes, start + prefix.length, end, offset, entry);
  };

  const onlyEntry = (at: number): number => {
    const count = (at + layout.dataObject.entries) >>> 2;
    const entry = (at + layout.dataObject.firstEntry) >>> 2;
    return words[count] === 1 && words[count + 1] === 0 && words[entry + 1] === 0 ? (words[entry] ?? 0) : 0;
  };

  const readable = (read: () => void): void => {
    try {
      read();
    } catch (error) {
      if (!(error instanceof DamagedJournal)) throw error;
      onDamage(error);
    }
  };

  const addFound = (offset: number): void => {
    if (count === memory.found.length) {
      const larger = new Float64Array(2 * count);
      larger.set(memory.found);
      memory.found = larger;
    }
    memory.found[count] = offset;
    count += 1;
  };

  return {
    found: () => memory.found.subarray(0, count),
    visitData(at: number, size: number, offset: number): void {
      if (piece[at + 1] !== 0) packed.push({ at, size, offset });
      else if (size >= skip + prefix.length) {
        const word = (at + skip) >>> 2;
        if (words[word] !== prefixStart || words[word + 1] !== prefixEnd) return;
        note(piece, at + skip + prefix.length, at + size, offset, onlyEntry(at));
      }
    },
    /** Data that is larger than a piece. */
    visitLarge(offset: number): void {
      readable(() => noteUnpacked(readPayload(file, offset), offset, 0));
    },
    /** What was packed in the piece. */
    visitPacked(): void {
      const payloads = packed.map(({ at, size }) => piece.subarray(at + skip, at + size));
      const flags = packed.map(({ at }) => (piece[at + 1] ?? 0) & compressionFlags);
      const texts = flags.every((flag) => flag === layout.objectFlag.zstd) ? unpackTogether(payloads) : undefined;
      for (const [index, { at, offset }] of packed.entries()) {
        readable(() => {
          const bytes = texts?.[index] ?? unpack(payloads[index] ?? prefix, flags[index] ?? 0, offset);
          noteUnpacked({ bytes, start: 0, end: bytes.length }, offset, onlyEntry(at));
        });
      }
      packed.length = 0;
    },
    /** An entry has been written after its data, so that these are decided on. Of several messages the first counts. */
    visitEntry(at: number, size: number, offset: number): void {
      if (!isShared && !isMarked(matches, offset)) return;
      const first = (at + layout.entryObject.items) >>> 2;
      const end = (at + size) >>> 2;
      for (let word = first; word < end; word += itemWords) {
        const item = words[word] ?? 0;
        if (!isMarked(messages, item) || (itemWords > 1 && words[word + 1] !== 0)) continue;
        if (isMarked(matches, item)) addFound(offset);
        return;
      }
    },
  };
}

/**
 * Searches the messages of a file in one pass, object after object.
 * @returns offsets of the entries whose first message fits, in their order, until the next search; undefined for a file that
 *   is too large.
 * @throws DamagedJournal where the objects do not follow each other.
 */
export function searchMessages(file: JournalFile, search: Search): Float64Array | undefined {
  if (file.size > maxFileSize) return undefined;
  const memory = memoryFor(file.size);
  const { piece, words } = memory;
  const visitor = createVisitor(file, search, memory);
  const { headerSize, tailObjectOffset } = file.header;
  const { size: fileSize } = file;
  const { data, entry } = layout.objectType;
  const entries = new Uint32Array(pieceSize / layout.entryObject.items);

  /** Walks the objects that a piece holds wholly. @returns how far it got. */
  const walkPiece = (base: number, length: number): number => {
    let at = 0;
    let entriesHere = 0;
    while (at + layout.objectHeaderSize <= length && base + at <= tailObjectOffset) {
      const type = piece[at] ?? 0;
      const size = (words[(at >>> 2) + 2] ?? 0) + (words[(at >>> 2) + 3] ?? 0) * wordRange;
      if (type < 1 || type > layout.lastObjectType || size < layout.objectHeaderSize || base + at + size > fileSize) {
        throw new DamagedJournal("object of a wrong size", base + at);
      }
      if (type === data || type === entry) {
        if (at + size > length) {
          if (at > 0) break;
          if (type === data) visitor.visitLarge(base);
        } else if (type === data) visitor.visitData(at, size, base + at);
        else if (size >= layout.entryObject.items) {
          entries[entriesHere] = at;
          entriesHere += 1;
        }
      }
      at += Math.ceil(size / 8) * 8;
    }
    visitor.visitPacked();
    for (let index = 0; index < entriesHere; index += 1) {
      const place = entries[index] ?? 0;
      visitor.visitEntry(place, words[(place >>> 2) + 2] ?? 0, base + place);
    }
    return at;
  };

  for (let base = headerSize; base <= tailObjectOffset; ) {
    const length = file.blocks.readInto(piece, base);
    if (length < layout.objectHeaderSize) throw new DamagedJournal("end of file", base);
    base += walkPiece(base, length);
  }
  return visitor.found();
}
