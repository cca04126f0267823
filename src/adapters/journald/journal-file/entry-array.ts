import { DamagedJournal } from "./damage.ts";
import type { JournalFile } from "./file.ts";
import * as layout from "./layout.ts";

const wordRange = 2 ** 32;
/** The file begins with its header, so that no entry is at its first byte. */
const nowhere = 0;

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
}

export const noEntries: EntryList = {
  length: 0,
  at: () => nowhere,
  lowerBound: () => 0,
  slice: () => new Float64Array(0),
};

interface EntryListOptions {
  readonly leading: number | undefined;
  readonly arrayOffset: number;
  readonly length: number;
  readonly onDamage: (error: DamagedJournal) => void;
}

/** The chain of arrays, as far as it is not damaged. @param head how many entries precede it. */
function segmentsOf(
  file: JournalFile,
  options: EntryListOptions,
  { itemSize, head }: { readonly itemSize: number; readonly head: number },
): { readonly segments: readonly Segment[]; readonly length: number } {
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
    options.onDamage(error);
  }
  return { segments, length: Math.min(length, options.length) };
}

export function createEntryList(file: JournalFile, options: EntryListOptions): EntryList {
  const { leading, onDamage } = options;
  const itemSize = file.isCompact ? 4 : 8;
  const { view, seek, copy } = file.blocks;
  const head = leading === undefined ? 0 : 1;
  const { segments, length } = segmentsOf(file, options, { itemSize, head });

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

  const at = (position: number): number => readable(() => itemAt(position), nowhere);

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
    slice(from, to) {
      const offsets = new Float64Array(Math.max(0, to - from));
      let position = from;
      let filled = 0;
      if (position < head && filled < offsets.length) {
        offsets[filled] = leading ?? 0;
        filled += 1;
        position += 1;
      }
      while (position < to) {
        const segment = segmentOf(position);
        if (segment === undefined) break;
        const next = segments[segments.indexOf(segment) + 1]?.first ?? length;
        const count = Math.min(to, next) - position;
        const bytes = readable(
          () => copy(segment.offset + (position - segment.first) * itemSize, count * itemSize),
          undefined,
        );
        if (bytes === undefined) break;
        const words = new Uint32Array(bytes.buffer, bytes.byteOffset, (count * itemSize) / 4);
        if (itemSize === 4) offsets.set(words, filled);
        else {
          for (let index = 0; index < count; index += 1) {
            offsets[filled + index] = (words[2 * index] ?? 0) + (words[2 * index + 1] ?? 0) * wordRange;
          }
        }
        filled += count;
        position += count;
      }
      return filled === offsets.length ? offsets : offsets.subarray(0, filled);
    },
  };
}
