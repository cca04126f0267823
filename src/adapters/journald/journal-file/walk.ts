import { DamagedJournal } from "./damage.ts";
import { compressionFlags, payloadOffset, readPayload, unpack } from "./data.ts";
import type { JournalFile } from "./file.ts";
import * as layout from "./layout.ts";

/** Finds places in a piece of a file where a text may fit. */
export interface Finder {
  readonly load: (piece: Buffer) => void;
  /** Position behind the first place that begins at or after `from`; infinite without one. */
  readonly find: (from: number) => number;
  /** How many bytes such a place has at most. */
  readonly longest: number;
}

export interface Search {
  /** Undefined where only the text itself tells. */
  readonly finder: Finder | undefined;
  /** Whether a text with such a place fits, so that it need not be asked. */
  readonly isDecided: boolean;
  readonly matches: (message: string) => boolean;
  readonly onDamage: (error: DamagedJournal) => void;
}

/**
 * Entries whose first message fits, in their order; where there are few of them, the data objects of messages that fit, in
 * which case it is not known yet whether an entry has another message before.
 */
export type Hits =
  | { readonly kind: "entries"; readonly offsets: Float64Array }
  | { readonly kind: "data"; readonly offsets: readonly number[] };

const pieceSize = 4 * 1024 * 1024;
const wordRange = 2 ** 32;
/** The bitmaps of larger files would take more than 8 MiB each. */
const maxFileSize = 512 * 1024 * 1024;
/** After so many messages it is decided whether every entry is looked at: where at least this share of them fits. */
const sample = 2048;
const dense = 1 / 16;

const prefix = Buffer.from("MESSAGE=");
const [prefixStart, prefixEnd] = [prefix.readUInt32LE(0), prefix.readUInt32LE(4)];

/** One bit for every offset at which an object can begin. */
interface Marks {
  readonly messages: Uint32Array;
  readonly matches: Uint32Array;
}

interface Memory extends Marks {
  readonly piece: Buffer;
  readonly words: Uint32Array;
}

let kept: Memory | undefined;

/** The same memory for one walk after another. */
function memoryFor(size: number): Memory {
  const length = Math.ceil(size / 8 / 32);
  if (kept === undefined || kept.messages.length < length) {
    const piece = kept?.piece ?? Buffer.from(new ArrayBuffer(pieceSize));
    const words = new Uint32Array(piece.buffer);
    kept = { piece, words, messages: new Uint32Array(length), matches: new Uint32Array(length) };
  }
  kept.messages.fill(0, 0, length);
  kept.matches.fill(0, 0, length);
  return kept;
}

function mark(marks: Uint32Array, offset: number): void {
  const number = offset / 8;
  marks[number >>> 5] = (marks[number >>> 5] ?? 0) | (1 << (number & 31));
}

const isMarked = (marks: Uint32Array, offset: number): boolean =>
  ((marks[offset >>> 8] ?? 0) & (1 << ((offset >>> 3) & 31))) !== 0;

/** Tells whether the message between two positions of the piece fits. */
function createMatcher({ finder, isDecided, matches }: Search, piece: Buffer) {
  let next = -1;
  return {
    load(length: number): void {
      next = -1;
      finder?.load(piece.subarray(0, length));
    },
    fits(start: number, end: number): boolean {
      if (finder !== undefined) {
        if (next - finder.longest < start) next = finder.find(start);
        if (next - finder.longest >= end) return false;
        if (isDecided && next <= end) return true;
      }
      return matches(piece.toString("utf8", start, end));
    },
  };
}

function createVisitor(file: JournalFile, search: Search, { piece, words, messages, matches }: Memory) {
  const skip = payloadOffset(file);
  const itemWords = file.isCompact ? 1 : 4;
  const matcher = createMatcher(search, piece);
  const data: number[] = [];
  const entries: number[] = [];
  let seen = 0;

  const fitsUnpacked = (bytes: Buffer, start: number, end: number): boolean | undefined =>
    bytes.compare(prefix, 0, prefix.length, start, Math.min(end, start + prefix.length)) === 0
      ? search.matches(bytes.toString("utf8", start + prefix.length, end))
      : undefined;

  /** Whether the message fits; undefined for other data. */
  const fits = (at: number, size: number, offset: number): boolean | undefined => {
    const flags = (piece[at + 1] ?? 0) & compressionFlags;
    if (flags !== 0) {
      const bytes = unpack(piece.subarray(at + skip, at + size), flags, offset);
      return fitsUnpacked(bytes, 0, bytes.length);
    }
    const word = (at + skip) >>> 2;
    if (size < skip + prefix.length || words[word] !== prefixStart || words[word + 1] !== prefixEnd) return undefined;
    return matcher.fits(at + skip + prefix.length, at + size);
  };

  const note = (offset: number, isFitting: boolean | undefined): void => {
    if (isFitting === undefined) return;
    seen += 1;
    mark(messages, offset);
    if (!isFitting) return;
    mark(matches, offset);
    data.push(offset);
  };

  const readable = (read: () => boolean | undefined): boolean | undefined => {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof DamagedJournal)) throw error;
      search.onDamage(error);
      return undefined;
    }
  };

  return {
    data,
    entries,
    load: (length: number): void => matcher.load(length),
    isSampled: () => seen >= sample,
    isDense: () => data.length >= seen * dense,
    visitData(at: number, size: number, offset: number): void {
      note(offset, piece[at + 1] === 0 ? fits(at, size, offset) : readable(() => fits(at, size, offset)));
    },
    /** Data that is larger than a piece. */
    visitLarge(offset: number): void {
      const read = () => {
        const { bytes, start, end } = readPayload(file, offset);
        return fitsUnpacked(bytes, start, end);
      };
      note(offset, readable(read));
    },
    visitEntry(at: number, size: number, offset: number): void {
      const first = (at + layout.entryObject.items) >>> 2;
      const end = (at + size) >>> 2;
      for (let word = first; word < end; word += itemWords) {
        const item = words[word] ?? 0;
        if (!isMarked(messages, item) || (itemWords > 1 && words[word + 1] !== 0)) continue;
        if (isMarked(matches, item)) entries.push(offset);
        return;
      }
    },
  };
}

/**
 * @param looksAtEntries whether the entries themselves are looked at, of which the data before them tell what fits.
 * @returns undefined where so many messages fit that they should be.
 */
function walk(file: JournalFile, search: Search, looksAtEntries: boolean): Hits | undefined {
  const memory = memoryFor(file.size);
  const { piece, words } = memory;
  const visitor = createVisitor(file, search, memory);
  const { headerSize, tailObjectOffset } = file.header;
  let isUndecided = !looksAtEntries;

  /** Walks the objects that a piece holds wholly. @returns how far it got. */
  const walkPiece = (base: number, length: number): number => {
    let at = 0;
    while (at + layout.objectHeaderSize <= length && base + at <= tailObjectOffset) {
      const type = piece[at] ?? 0;
      const size = (words[(at >>> 2) + 2] ?? 0) + (words[(at >>> 2) + 3] ?? 0) * wordRange;
      if (type < 1 || type > layout.lastObjectType || size < layout.objectHeaderSize || base + at + size > file.size) {
        throw new DamagedJournal("object of a wrong size", base + at);
      }
      const isLooked = type === layout.objectType.data || (looksAtEntries && type === layout.objectType.entry);
      if (isLooked && at + size > length) {
        if (at > 0) return at;
        if (type === layout.objectType.data) visitor.visitLarge(base);
      } else if (type === layout.objectType.data) visitor.visitData(at, size, base + at);
      else if (isLooked) visitor.visitEntry(at, size, base + at);
      at += Math.ceil(size / 8) * 8;
    }
    return at;
  };

  for (let base = headerSize; base <= tailObjectOffset; ) {
    const length = file.blocks.readInto(piece, base);
    if (length < layout.objectHeaderSize) throw new DamagedJournal("end of file", base);
    visitor.load(length);
    base += walkPiece(base, length);
    if (isUndecided && visitor.isSampled()) {
      isUndecided = false;
      if (visitor.isDense()) return undefined;
    }
  }
  if (looksAtEntries) return { kind: "entries", offsets: Float64Array.from(visitor.entries) };
  return { kind: "data", offsets: visitor.data };
}

/**
 * Searches the messages of a file in one pass, object after object.
 * @returns undefined for a file that is too large.
 * @throws DamagedJournal where the objects do not follow each other.
 */
export function searchMessages(file: JournalFile, search: Search): Hits | undefined {
  if (file.size > maxFileSize) return undefined;
  return walk(file, search, false) ?? walk(file, search, true);
}
