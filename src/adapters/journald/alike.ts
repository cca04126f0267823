import type { Budget } from "./budget.ts";

/** What is written of all entries that have the same fields but their own, which is mostly the message. */
export interface Alike {
  /** The offsets of the fields that they share. */
  readonly items: readonly number[];
  /** What is written before the message. */
  readonly head: Uint8Array;
  /** What is written after the name of the entry. */
  readonly tail: Uint8Array;
}

const tableBits = 9;
/** Bytes of one that is kept, beside its items. What is written is shared by all files. */
const alikeBytes = 128;

/** Where an entry's own fields begin: journald writes them right before it, and sorts all by their offsets. */
const ownBytes = 2048;

/** How many fields of an entry are older than itself, so that others may have the same. */
export function countShared(items: readonly number[], count: number, entryOffset: number): number {
  let shared = count;
  while (shared > 0 && (items[shared - 1] ?? 0) > entryOffset - ownBytes) shared -= 1;
  return shared;
}

function placeOf(items: readonly number[], count: number): number {
  let hash = count;
  for (let index = 0; index < count; index += 1) hash = Math.imul(hash ^ (items[index] ?? 0), 0x9e37_79b1);
  return hash >>> (32 - tableBits);
}

function hasItems(alike: Alike, items: readonly number[], count: number): boolean {
  const known = alike.items;
  if (known.length !== count) return false;
  for (let index = 0; index < count; index += 1) if (known[index] !== items[index]) return false;
  return true;
}

/** Of one file what its entries have in common. */
export interface Alikes {
  /** @returns what was kept for the first of these items. */
  readonly find: (items: readonly number[], count: number) => Alike | undefined;
  readonly keep: (items: readonly number[], count: number, written: Pick<Alike, "head" | "tail">) => Alike;
  readonly close: () => void;
}

/** Each place has one, the last that was kept: a program logs with the same fields mostly at one time. */
export function createAlikes(budget: Budget): Alikes {
  let table: (Alike | undefined)[] = [];
  const share = budget.share(() => {
    table = [];
  });
  return {
    find(items, count) {
      const known = table[placeOf(items, count)];
      return known !== undefined && hasItems(known, items, count) ? known : undefined;
    },
    keep(items, count, { head, tail }) {
      share.take(alikeBytes + 8 * count);
      if (table.length === 0) table = Array.from({ length: 2 ** tableBits });
      const alike = { items: items.slice(0, count), head, tail };
      table[placeOf(items, count)] = alike;
      return alike;
    },
    close: share.end,
  };
}
