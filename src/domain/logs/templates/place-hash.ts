import { wildcard } from "./mask.ts";

function mixed(value: number): number {
  let bits = value;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85eb_ca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2_ae35);
  return bits ^ (bits >>> 16);
}

/** Numbers for messages, and for the same with other words in some places. */
export interface PlaceHash {
  /** Reads the words of a message. @returns a number for it, the same for the same. */
  readonly read: (words: readonly string[], salt?: number) => number;
  /** The number of the message that was read last with the wildcard in these places: it is found without making that text. */
  readonly without: (places: readonly number[]) => number;
}

/** @param seed any number that those who write messages do not know, so that they do not know what has the same number. */
export function createPlaceHash(seed: number): PlaceHash {
  let low: number[] = [];
  let high: number[] = [];
  let [lowOfAll, highOfAll] = [0, 0];
  const hashOf = (word: string): number => {
    let hash = seed | 0;
    for (let at = 0; at < word.length; at += 1) hash = mixed(hash ^ word.charCodeAt(at));
    return hash;
  };
  const atPlace = (hash: number, place: number): number => mixed(hash + Math.imul(place + 1, 0x9e37_79b1));
  const highOf = (lowBits: number): number => mixed(lowBits ^ Math.imul(seed, 0x0100_0193));
  const anything = hashOf(wildcard);
  const [anyLow, anyHigh]: [number[], number[]] = [[], []];
  const numberOf = (lowBits: number, highBits: number): number => (lowBits >>> 0) * 2 ** 21 + (highBits >>> 11);
  return {
    read(words, salt = 0) {
      low = words.map((word, place) => atPlace(hashOf(word), place));
      high = low.map(highOf);
      for (let place = anyLow.length; place < words.length; place += 1) {
        const other = atPlace(anything, place);
        anyLow.push(other);
        anyHigh.push(highOf(other));
      }
      lowOfAll = low.reduce((sum, each) => (sum + each) | 0, Math.imul(salt, 0x85eb_ca6b));
      highOfAll = high.reduce((sum, each) => (sum + each) | 0, words.length);
      return numberOf(lowOfAll, highOfAll);
    },
    without(places) {
      let [lowBits, highBits] = [lowOfAll, highOfAll];
      for (const place of places) {
        lowBits = (lowBits + (anyLow[place] ?? 0) - (low[place] ?? 0)) | 0;
        highBits = (highBits + (anyHigh[place] ?? 0) - (high[place] ?? 0)) | 0;
      }
      return numberOf(lowBits, highBits);
    },
  };
}
