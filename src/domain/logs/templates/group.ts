import type { LogTemplate, MessageClass } from "#domain/ports/journal.ts";
import { wildcard } from "./mask.ts";
import { createPlaceHash, type PlaceHash } from "./place-hash.ts";

/** A MESSAGE_ID; a place in the source has a colon. */
const messageId = /^[0-9a-f]{32}$/;

/** From so many different words in one place on, the place is one for words that differ. */
const leastVariants = 6;
/** Of longer messages, and of more of them, no two places are inspected together. */
const [longestForPairs, mostForPairs] = [12, 1024];
/** So many counters for each place of a word, and so many at most: few places share one. */
const [countersOfPlace, mostCounters] = [4, 2 ** 24];

export const isMessageId = (origin: string): boolean => messageId.test(origin);

/** What the id of a template is made of. */
export const identityOf = ({ unit, identifier, origin, text }: MessageClass): string =>
  (isMessageId(origin) ? [unit, origin] : [unit, identifier, origin, text]).join("\0");

export const firstWordOf = (text: string): string => {
  const end = text.indexOf(" ");
  return end < 0 ? text : text.slice(0, end);
};

/** Stands for all messages that begin with a word, of a program that writes too many different ones. */
export const anythingAfter = (word: string): string => `${word} ${wildcard}…`;

export const wordsOf = (text: string): readonly string[] => text.split(" ");

/** What two masked messages have in common. */
export function generalize(left: readonly string[], right: readonly string[]): readonly string[] {
  if (left.length === right.length) return left.map((word, at) => (word === right[at] ? word : wildcard));
  const most = Math.min(left.length, right.length);
  let head = 0;
  while (head < most && left[head] === right[head]) head += 1;
  let tail = 0;
  while (tail < most - head && left.at(-1 - tail) === right.at(-1 - tail)) tail += 1;
  return [...left.slice(0, head), wildcard, ...left.slice(left.length - tail)];
}

const hasWords = (words: readonly string[]): boolean => words.some((word) => /\p{L}{2}/u.test(word));

/** Sets of positions that grow together. */
function createUnions(count: number) {
  const parents = Uint32Array.from({ length: count }, (_, at) => at);
  const find = (at: number): number => {
    let root = at;
    while (parents[root] !== root) root = parents[root] ?? root;
    for (let next = at; next !== root; ) {
      const parent = parents[next] ?? root;
      parents[next] = root;
      next = parent;
    }
    return root;
  };
  return {
    find,
    unite: (left: number, right: number): void => {
      const [a, b] = [find(left), find(right)];
      parents[Math.max(a, b)] = Math.min(a, b);
    },
  };
}

/** The message with other words in these places. */
export const without = (words: readonly string[], ...places: readonly number[]): string =>
  words.map((word, at) => (places.includes(at) ? wildcard : word)).join(" ");

/** Places of words that may differ. The first one says what it is about. */
export const placesOf = (words: readonly string[]): readonly number[] =>
  words.flatMap((word, at) => (at > 0 && word !== wildcard ? [at] : []));

type Choices = (words: readonly string[]) => readonly (readonly number[])[];

const inOnePlace: Choices = (words) => placesOf(words).map((place) => [place]);

const inTwoPlaces: Choices = (words) => {
  const places = placesOf(words);
  return places.flatMap((first, index) => places.slice(index + 1).map((second) => [first, second]));
};

/**
 * Counts how many messages are alike but for some places, by numbers: texts of all places of many words would not fit into memory.
 * @returns whether there may be enough for the message that the hash has read last.
 */
function countAlike(
  messages: readonly (readonly string[])[],
  choices: Choices,
  { general, hash }: { readonly general: Iterable<string>; readonly hash: PlaceHash },
): (places: readonly number[]) => boolean {
  const wanted = countersOfPlace * messages.reduce((sum, words) => sum + choices(words).length, 1);
  const counters = new Uint8Array(Math.min(mostCounters, wanted));
  for (const text of general) counters[hash.read(wordsOf(text)) % counters.length] = leastVariants;
  for (const words of messages) {
    hash.read(words);
    for (const places of choices(words)) {
      const counter = hash.without(places) % counters.length;
      counters[counter] = Math.min(leastVariants, (counters[counter] ?? 0) + 1);
    }
  }
  return (places) => (counters[hash.without(places) % counters.length] ?? 0) >= leastVariants;
}

interface Family {
  readonly members: number[];
  readonly variants: readonly Set<string>[];
}

/**
 * Joins messages of one length and origin that differ in one place, or in two, where enough different words stand there. It follows
 * from the set of messages alone, not from their order, and more messages never part what was joined in one place.
 */
function joinAlike(
  texts: readonly string[],
  group: readonly number[],
  { unite, hash }: { readonly unite: (left: number, right: number) => void; readonly hash: PlaceHash },
) {
  const byText = new Map<string, number>();
  for (const at of group) {
    const same = byText.get(texts[at] ?? "");
    if (same === undefined) byText.set(texts[at] ?? "", at);
    else unite(same, at);
  }
  const general = [...byText.keys()].filter((text) => text.includes(wildcard));
  const joined = new Set<number>();
  const join = (members: readonly number[], common: string): void => {
    const [first = 0] = members;
    for (const member of members) {
      unite(first, member);
      joined.add(member);
    }
    const same = byText.get(common);
    if (same !== undefined) unite(first, same);
  };
  const families = (choices: Choices, some: readonly number[]) => {
    const found = new Map<string, Family>();
    const messages = some.map((at) => wordsOf(texts[at] ?? ""));
    const areEnough = countAlike(messages, choices, { general, hash });
    for (const [index, words] of messages.entries()) {
      hash.read(words);
      for (const places of choices(words)) {
        if (!areEnough(places)) continue;
        const key = without(words, ...places);
        const family = found.get(key) ?? { members: [], variants: places.map(() => new Set<string>()) };
        found.set(key, family);
        family.members.push(some[index] ?? 0);
        for (const [which, place] of places.entries()) family.variants[which]?.add(words[place] ?? "");
      }
    }
    for (const [key, { members, variants }] of found)
      if (byText.has(key) || variants.every(({ size }) => size >= leastVariants)) join(members, key);
  };
  families(inOnePlace, group);
  const left = group.filter((at) => !joined.has(at) && wordsOf(texts[at] ?? "").length <= longestForPairs);
  if (left.length <= mostForPairs) families(inTwoPlaces, left);
}

/** Joins those that begin with a word after which there is anything. @returns the others. */
function joinByStart(
  texts: readonly string[],
  group: readonly number[],
  unite: (left: number, right: number) => void,
): readonly number[] {
  const starts = new Map<string, number>();
  for (const at of group) {
    const text = texts[at] ?? "";
    const start = firstWordOf(text);
    if (text === anythingAfter(start)) starts.set(start, at);
  }
  return group.filter((at) => {
    const start = starts.get(firstWordOf(texts[at] ?? ""));
    if (start !== undefined) unite(start, at);
    return start === undefined;
  });
}

/**
 * Finds the templates of messages: one for each MESSAGE_ID of a unit; one for each place in the source, unless what is written
 * there has nothing in common; else of messages of the same length those that differ in few places.
 * @param digest makes the id of a template of what it is of.
 * @param seed any number that those who write messages do not know. Nothing of what is found follows from it.
 * @returns for each class the position of its template, and the templates.
 */
export function groupClasses(
  classes: readonly MessageClass[],
  digest: (text: string) => string,
  seed = 0,
): {
  readonly templates: readonly LogTemplate[];
  readonly templateOf: Uint32Array;
} {
  const unions = createUnions(classes.length);
  const hash = createPlaceHash(seed);
  const texts = classes.map(({ text }) => text);
  const groups = new Map<string, number[]>();
  const add = (key: string, at: number): void => {
    const group = groups.get(key) ?? [];
    groups.set(key, group);
    group.push(at);
  };
  for (const [at, { unit, identifier, origin }] of classes.entries())
    add(isMessageId(origin) ? JSON.stringify([unit, origin]) : JSON.stringify([unit, identifier, origin]), at);
  const commonOf = (members: readonly number[]): readonly string[] =>
    members
      .map((at) => texts[at] ?? "")
      // Where their lengths differ, what is found depends on the order.
      .toSorted()
      .map(wordsOf)
      .reduce(generalize);
  for (const members of [...groups.values()]) {
    const [first = 0, ...others] = members;
    const { origin = "" } = classes[first] ?? {};
    const isOne = isMessageId(origin) || (origin !== "" && hasWords(commonOf(members)));
    if (isOne) for (const other of others) unions.unite(first, other);
    else {
      const left = joinByStart(texts, members, unions.unite);
      const byLength = Map.groupBy(left, (at) => wordsOf(texts[at] ?? "").length);
      for (const group of byLength.values()) joinAlike(texts, group, { unite: unions.unite, hash });
    }
  }
  const members = Map.groupBy(classes.keys(), (at) => unions.find(at));
  const templateOf = new Uint32Array(classes.length);
  const templates = [...members.values()].map((those, position): LogTemplate => {
    for (const at of those) templateOf[at] = position;
    const { unit = "", identifier = "", origin = "" } = classes[those[0] ?? 0] ?? {};
    const general = { unit, identifier, origin, text: commonOf(those).join(" ") };
    return { id: digest(identityOf(general)), ...general };
  });
  return { templates, templateOf };
}
