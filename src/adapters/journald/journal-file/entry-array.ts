import { DamagedJournal } from "./blocks.ts";
import type { JournalFile } from "./file.ts";
import * as layout from "./layout.ts";

const wordRange = 2 ** 32;
/** The file begins with its header, so that no entry is at its first byte. */
const nowhere = 0;

/** Items on their way from a file. */
const piece = Buffer.from(new ArrayBuffer(64 * 1024));
const pieceWords = new Uint32Array(piece.buffer);

interface Segment {
  readonly offset: number;
  readonly first: number;
}

/**
 * Ascending offsets of entries, as the file holds them: a chain of arrays, each bigger than the one before, so that there
 * are few. Nothing is read but what is asked for.
 */
export interface EntryList {
  readonly length: number;
  readonly at: (position: number) => number;
  readonly lowerBound: (offset: number) => number;
  readonly slice: (from: number, to: number) => Float64Array;
  /** Fills memory with offsets from a position on. @returns how many there were. */
  readonly read: (from: number, into: Float64Array) => number;
}

export const noEntries: EntryList = {
  length: 0,
  at: () => nowhere,
  lowerBound: () => 0,
  slice: () => new Float64Array(0),
  read: () => 0,
};

interface EntryListOptions {
  readonly leading: number | undefined;
  readonly arrayOffset: number;
  readonly length: number;
  readonly onDamage: (error: DamagedJournal) => void;
}

interface Chain {
  readonly segments: readonly Segment[];
  readonly length: number;
  readonly damage?: DamagedJournal;
}

/** The chain of arrays, as far as it is not damaged. @param head how many entries precede it. */
function readChain(
  file: JournalFile,
  options: EntryListOptions,
  { itemSize, head }: { readonly itemSize: number; readonly head: number },
): Chain {
  const segments: Segment[] = [];
  let length = head;

  try {
    let offset = options.arrayOffset;
    let previous = 0;
    while (offset !== 0 && length < options.length) {
      // A chain leads onwards in the file: one that does not would never end.
      if (offset <= previous) throw new DamagedJournal("entry array that leads back", previous);
      const size = file.object(offset, layout.objectType.entryArray, layout.entryArrayObject.items);
      segments.push({ offset: offset + layout.entryArrayObject.items, first: length });
      length += Math.floor((size - layout.entryArrayObject.items) / itemSize);
      previous = offset;
      offset = file.number(offset + layout.entryArrayObject.next);
    }
    if (length < options.length) throw new DamagedJournal("entry array that ends too soon", previous);
  } catch (error) {
    if (!(error instanceof DamagedJournal)) throw error;
    return { segments, length, damage: error };
  }
  return { segments, length: options.length };
}

export function createEntryList(file: JournalFile, options: EntryListOptions): EntryList {
  const { leading, onDamage } = options;
  const itemSize = file.isCompact ? 4 : 8;
  const { view, seek, readInto } = file.blocks;
  const head = leading === undefined ? 0 : 1;
  let chain = readChain(file, options, { itemSize, head });
  // The count may be newer than what is known of the chain.
  if (chain.damage !== undefined && file.forgetIfWritten()) chain = readChain(file, options, { itemSize, head });
  if (chain.damage !== undefined) onDamage(chain.damage);
  const { segments, length } = chain;

  const segmentOf = (position: number): Segment | undefined => {
    for (let index = segments.length - 1; index >= 0; index -= 1) {
      const segment = segments[index];
      if (segment !== undefined && segment.first <= position) return segment;
    }
    return undefined;
  };

  /** Runs a read; where the file ends too soon it gives the other answer. */
  const readable = <T>(read: () => T, otherwise: T): T => {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof DamagedJournal)) throw error;
      onDamage(error);
      return otherwise;
    }
  };

  const itemAt = (position: number): number => {
    if (position < head) return leading ?? 0;
    const segment = segmentOf(position);
    if (segment === undefined) return nowhere;
    const word = seek(segment.offset + (position - segment.first) * itemSize, itemSize) >>> 2;
    const low = view.words[word] ?? 0;
    return itemSize === 4 ? low : low + (view.words[word + 1] ?? 0) * wordRange;
  };

  const presentItemAt = (position: number): number => {
    const offset = itemAt(position);
    return offset === nowhere && file.forgetIfWritten() ? itemAt(position) : offset;
  };

  const at = (position: number): number => readable(() => presentItemAt(position), nowhere);

  const readPiece = (offset: number, size: number): true => {
    if (readInto(piece.subarray(0, size), offset) < size) throw new DamagedJournal("end of file", offset);
    return true;
  };

  const read = (from: number, into: Float64Array): number => {
    const end = Math.min(from + into.length, length);
    let position = from;
    if (position < head && position < end) {
      into[0] = leading ?? 0;
      position += 1;
    }
    while (position < end) {
      const segment = segmentOf(position);
      if (segment === undefined) break;
      const next = segments[segments.indexOf(segment) + 1]?.first ?? length;
      const count = Math.min(end - position, next - position, Math.floor(piece.length / itemSize));
      const start = segment.offset + (position - segment.first) * itemSize;
      if (!readable(() => readPiece(start, count * itemSize), false)) break;
      const to = position - from;
      if (itemSize === 4) into.set(pieceWords.subarray(0, count), to);
      else {
        for (let index = 0; index < count; index += 1) {
          into[to + index] = (pieceWords[2 * index] ?? 0) + (pieceWords[2 * index + 1] ?? 0) * wordRange;
        }
      }
      position += count;
    }
    return position - from;
  };

  return {
    length,
    at,
    lowerBound(offset) {
      let from = 0;
      let to = length;
      while (from < to) {
        const middle = (from + to) >>> 1;
        const found = at(middle);
        // Nothing stands yet where an entry is about to be written, after all others.
        if (found !== nowhere && found < offset) from = middle + 1;
        else to = middle;
      }
      return from;
    },
    read,
    slice(from, to) {
      const offsets = new Float64Array(Math.max(0, Math.min(to, length) - from));
      return offsets.subarray(0, read(from, offsets));
    },
  };
}
