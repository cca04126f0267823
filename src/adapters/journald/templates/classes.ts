import { randomInt } from "node:crypto";
import {
  anythingAfter,
  firstWordOf,
  generalize,
  isMessageId,
  placesOf,
  without,
  wordsOf,
} from "#domain/logs/templates/group.ts";
import { createMasking, wildcard } from "#domain/logs/templates/mask.ts";
import { createPlaceHash } from "#domain/logs/templates/place-hash.ts";
import { DamagedJournal } from "../journal-file/blocks.ts";
import type { Source } from "../source.ts";
import { createOrigins, type Origin, type Placed } from "./origins.ts";

/** Entries of one file that are alike but for what differs from entry to entry. */
export interface EntryClass {
  /** Number of the origin. */
  readonly origin: number;
  /** The masked message. */
  text: string;
  count: number;
  /** Times of the first and the last entry in the order of the file, in microseconds since the epoch. */
  first: number;
  last: number;
  /** Offset of the last one. */
  lastOffset: number;
}

/** What is known of the entries of a file, up to one. */
export interface ClassTable {
  readonly origins: Origin[];
  /** The first one has what cannot be distinguished, or read. */
  readonly classes: EntryClass[];
  /** For each entry in the order of the file its class. */
  numbers: Uint16Array<ArrayBuffer>;
  /** How many entries. */
  length: number;
  /** How often the message of a class became more general. */
  generalized: number;
}

/** Of all files so many kinds of messages are distinguished, and of each so many however many others have. */
const [maxInAll, leastOfFile] = [32_768, 2048];
/** Of a file so many, with so many characters together. */
const [maxClasses, maxCharacters] = [8192, 2 * 1024 * 1024];
/** Messages that differ in one word are one class from so many on. */
const variantsOfClass = 16;
/** Messages of one origin that begin with the same word are one class from so many on: fewer as the classes are used up. @param used 0 to 1 */
const maxAlike = (used: number): number => (used < 0.5 ? 128 : used < 0.75 ? 16 : 1);
/** So many forms of messages are kept to find those that differ in one word. */
const maxVariants = 65_536;
/** Masked messages that are found again without being read as text. */
const maxKnown = 65_536;

/** Read together: an entry's own fields stand before it. */
const [bytesAhead, bytesBefore] = [512 * 1024, 1024];

/** How many classes all files have. */
export interface ClassCount {
  inAll: number;
}

export const emptyTable = (): ClassTable => ({
  origins: [],
  classes: [{ origin: -1, text: "", count: 0, first: 0, last: 0, lastOffset: 0 }],
  numbers: new Uint16Array(0),
  length: 0,
  generalized: 0,
});

const keyOf = (origin: number, text: string): string => `${origin} ${text}`;

/** Finds or makes the class of a masked message. What it makes follows from the messages so far alone. */
function createClassFinder(table: ClassTable, count: ClassCount) {
  const { classes, origins } = table;
  const byText = new Map<string, number>();
  const byMessageId = new Map<number, number>();
  /** By the numbers of messages with anything in one place; those of classes that have anything in some place. */
  const [variants, families] = [new Map<number, number>(), new Set<number>()];
  const hash = createPlaceHash(randomInt(2 ** 32));
  const alike = new Map<string, number>();
  let characters = 0;
  const remember = (number: number, { origin, text }: EntryClass): void => {
    characters += text.length;
    byText.set(keyOf(origin, text), number);
    if (text.includes(wildcard)) families.add(hash.read(wordsOf(text), origin));
    const start = keyOf(origin, firstWordOf(text));
    alike.set(start, (alike.get(start) ?? 0) + 1);
    if (isMessageId(origins[origin]?.origin ?? "")) byMessageId.set(origin, number);
  };
  const noteVariants = (origin: number, words: readonly string[]): string | undefined => {
    let general: string | undefined;
    hash.read(words, origin);
    for (const place of placesOf(words)) {
      const key = hash.without([place]);
      const seen = (variants.get(key) ?? 0) + 1;
      if (seen > 1 || variants.size < maxVariants) variants.set(key, seen);
      if (seen >= variantsOfClass) general ??= without(words, place);
    }
    return general;
  };
  for (const [number, known] of classes.entries()) {
    if (number === 0) continue;
    remember(number, known);
    noteVariants(known.origin, wordsOf(known.text));
  }
  const make = (origin: number, text: string): number => {
    const isFull = classes.length >= maxClasses || characters + text.length > maxCharacters;
    if (isFull || (count.inAll >= maxInAll && classes.length >= leastOfFile)) return 0;
    count.inAll += 1;
    const made = { origin, text, count: 0, first: 0, last: 0, lastOffset: 0 };
    classes.push(made);
    remember(classes.length - 1, made);
    return classes.length - 1;
  };
  const ofMessageId = (origin: number, text: string): number => {
    const number = byMessageId.get(origin);
    const known = number === undefined ? undefined : classes[number];
    if (number === undefined || known === undefined) return make(origin, text);
    // Each one counts: what is shown of a class must be in all of its messages, since not everyone may read all of them.
    const common = generalize(wordsOf(known.text), wordsOf(text)).join(" ");
    if (common !== known.text) table.generalized += 1;
    known.text = common;
    return number;
  };
  return (origin: number, text: string): number => {
    if (isMessageId(origins[origin]?.origin ?? "")) return ofMessageId(origin, text);
    const start = firstWordOf(text);
    const known = byText.get(keyOf(origin, anythingAfter(start))) ?? byText.get(keyOf(origin, text));
    if (known !== undefined) return known;
    const used = Math.max(classes.length / maxClasses, count.inAll / maxInAll);
    if ((alike.get(keyOf(origin, start)) ?? 0) >= maxAlike(used)) return make(origin, anythingAfter(start));
    const words = wordsOf(text);
    hash.read(words, origin);
    for (const place of placesOf(words)) {
      if (!families.has(hash.without([place]))) continue;
      const family = byText.get(keyOf(origin, without(words, place)));
      if (family !== undefined) return family;
    }
    if (classes.length >= maxClasses || count.inAll >= maxInAll) return make(origin, text);
    const general = noteVariants(origin, words);
    return make(origin, general ?? text);
  };
}

/**
 * Distinguishes the entries of a file, in its order, from where the table ends.
 * @returns what continues to this many entries of the file.
 */
export function createClassifier(source: Source, table: ClassTable, classCount: ClassCount): (length: number) => void {
  const masking = createMasking(randomInt(2 ** 32));
  const origins = createOrigins(source, table.origins);
  const find = createClassFinder(table, classCount);
  /** Classes by the numbers of masked messages, and by those of first words after which there is anything. */
  const [known, anything] = [new Map<number, number>(), new Map<number, number>()];
  /** Origins of which there are such. */
  const withAnything = new Set<number>();
  const placed: Placed = { origin: -1, message: 0 };
  const noMessage = new Uint8Array(0);

  const classOf = (): number => {
    const { origin, message } = placed;
    if (origin < 0) return 0;
    const payload = message === 0 ? undefined : source.payloadOf(message);
    if (message !== 0 && payload === undefined) return 0;
    const { bytes = noMessage, start = 0, end = 0 } = payload ?? {};
    const begin = payload === undefined ? 0 : start + "MESSAGE=".length;
    const salt = origin + 1;
    const first = withAnything.has(origin) ? masking.readFirstWord(bytes, begin, end, salt) : undefined;
    const general = first === undefined ? undefined : anything.get(first);
    if (general !== undefined) return general;
    const key = masking.read(bytes, begin, end, salt);
    const found = anything.get(masking.firstWord()) ?? known.get(key);
    if (found !== undefined) return found;
    const text = masking.text();
    const number = find(origin, text);
    if (table.classes[number]?.text === anythingAfter(firstWordOf(text))) {
      anything.set(masking.firstWord(), number);
      withAnything.add(origin);
      return number;
    }
    if (known.size >= maxKnown) known.clear();
    known.set(key, number);
    return number;
  };

  const timeOf = (offset: number): number | undefined => {
    try {
      return source.entries.realtime(offset);
    } catch (error) {
      if (!(error instanceof DamagedJournal)) throw error;
      source.onDamage(error);
      return undefined;
    }
  };

  const count = (number: number, offset: number, time: number): void => {
    const counted = table.classes[number];
    if (counted === undefined) return;
    counted.count += 1;
    if (counted.first === 0) counted.first = time;
    counted.last = time;
    counted.lastOffset = offset;
  };

  return (length) => {
    const list = source.all();
    const end = Math.min(length, list.length);
    if (table.numbers.length < end) {
      const grown = new Uint16Array(Math.max(end, Math.min(2 * table.length, end + 65_536)));
      grown.set(table.numbers.subarray(0, table.length));
      table.numbers = grown;
    }
    let read = 0;
    for (let position = table.length; position < end; position += 1) {
      const offset = list.at(position);
      if (offset > read) {
        read = offset + bytesAhead;
        source.file.blocks.readAhead(offset - bytesBefore, read + bytesBefore);
      }
      // All that may throw comes first: what was started continues where it ended.
      const time = origins.read(offset, placed) ? timeOf(offset) : undefined;
      const number = time === undefined ? 0 : classOf();
      table.numbers[position] = number;
      if (time !== undefined) count(number, offset, time);
      table.length = position + 1;
    }
  };
}
