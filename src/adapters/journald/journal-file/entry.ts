import { DamagedJournal } from "./blocks.ts";
import type { JournalFile } from "./file.ts";
import * as layout from "./layout.ts";

const wordRange = 2 ** 32;
/** journald takes at most 1024 fields; a damaged size must not make every entry as long as the file. */
const maxItems = 4096;

/** What orders entries and names them. Other numbers than times do not come to 2^53; if they do, they are the nearest that there is. */
export interface EntryHead {
  readonly seqnum: number;
  /** From 2^53 on, in the year 2255, without the last two bits, which a number does not hold. */
  readonly realtime: number;
  /** These two bits. */
  readonly realtimeRest: number;
  readonly monotonic: number;
  readonly bootId: string;
  readonly xorHigh: number;
  readonly xorLow: number;
}

/** An object that the next read fills again: one for each entry of a page is much to collect. */
export type Refilled<T> = { -readonly [Key in keyof T]: T[Key] };

/** A time of two words, and what a number does not hold of it. */
export function splitTime(high: number, low: number): Pick<EntryHead, "realtime" | "realtimeRest"> {
  const realtimeRest = high < 2 ** 21 ? 0 : low & 3;
  return { realtime: high * wordRange + (low - realtimeRest), realtimeRest };
}

const byteHex = Array.from({ length: 256 }, (_, value) => value.toString(16).padStart(2, "0"));

export function createEntryReader(file: JournalFile) {
  const { view, seek } = file.blocks;
  const { entryObject } = layout;
  const boots = new Map<string, string>();
  let lastBoot = { a: 0, b: 0, c: 0, d: 0, text: "0".repeat(32) };

  const bootText = (at: number): string => {
    const word = at >>> 2;
    const { words } = view;
    const a = words[word] ?? 0;
    const b = words[word + 1] ?? 0;
    const c = words[word + 2] ?? 0;
    const d = words[word + 3] ?? 0;
    if (lastBoot.a === a && lastBoot.b === b && lastBoot.c === c && lastBoot.d === d) return lastBoot.text;
    let text = "";
    for (let index = at; index < at + 16; index += 1) text += byteHex[view.bytes[index] ?? 0] ?? "";
    const known = boots.get(text) ?? text;
    if (boots.size < 1024) boots.set(known, known);
    lastBoot = { a, b, c, d, text: known };
    return known;
  };

  const check = (offset: number): number => {
    const size = file.object(offset, layout.objectType.entry, entryObject.items);
    const word = seek(offset, entryObject.items) >>> 2;
    const { words } = view;
    const low = words[word + 6] ?? 0;
    const high = words[word + 7] ?? 0;
    const seqnum = (words[word + 4] ?? 0) + (words[word + 5] ?? 0);
    if ((low === 0 && high === 0) || high * wordRange >= layout.latestRealtime || seqnum === 0) {
      throw new DamagedJournal("entry with an impossible time or number", offset);
    }
    return size;
  };

  return {
    /** @throws DamagedJournal */
    readHead(offset: number, into: Refilled<EntryHead>): void {
      check(offset);
      const at = seek(offset, entryObject.items);
      const { words } = view;
      const word = at >>> 2;
      const { realtime, realtimeRest } = splitTime(words[word + 7] ?? 0, words[word + 6] ?? 0);
      into.seqnum = (words[word + 4] ?? 0) + (words[word + 5] ?? 0) * wordRange;
      into.realtime = realtime;
      into.realtimeRest = realtimeRest;
      into.monotonic = (words[word + 8] ?? 0) + (words[word + 9] ?? 0) * wordRange;
      into.bootId = bootText(at + entryObject.bootId);
      into.xorLow = words[word + 14] ?? 0;
      into.xorHigh = words[word + 15] ?? 0;
    },
    realtime(offset: number): number {
      check(offset);
      const word = seek(offset, entryObject.items) >>> 2;
      const { words } = view;
      return splitTime(words[word + 7] ?? 0, words[word + 6] ?? 0).realtime;
    },
    /**
     * Offsets of the entry's data objects, written into `items`.
     * @returns how many there are.
     * @throws DamagedJournal
     */
    items(offset: number, into: number[]): number {
      const size = check(offset);
      const itemSize = file.isCompact ? 4 : 16;
      const count = Math.min(maxItems, Math.floor((size - entryObject.items) / itemSize));
      const first = (seek(offset, entryObject.items + count * itemSize) + entryObject.items) >>> 2;
      const { words } = view;
      if (file.isCompact) {
        for (let index = 0; index < count; index += 1) into[index] = words[first + index] ?? 0;
        return count;
      }
      for (let index = 0; index < count; index += 1) {
        const word = first + 4 * index;
        into[index] = (words[word] ?? 0) + (words[word + 1] ?? 0) * wordRange;
      }
      return count;
    },
  };
}

export type EntryReader = ReturnType<typeof createEntryReader>;
