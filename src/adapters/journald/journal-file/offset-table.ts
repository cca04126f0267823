/**
 * A map from offsets in a file to small numbers, made for being asked millions of times: open addressing with linear
 * probing in two typed arrays. It never holds more than its bound; when that is reached it starts over, since what matters
 * is soon there again.
 */
export interface OffsetTable {
  readonly get: (offset: number) => number;
  /** @returns false when the table was emptied first. */
  readonly set: (offset: number, value: number) => boolean;
  readonly clear: () => void;
}

const initialBits = 10;

/** @param maxBits the table has at most 2^maxBits places, and is never more than half full. */
export function createOffsetTable(maxBits: number): OffsetTable {
  let bits = Math.min(initialBits, maxBits);
  /** Offsets divided by eight, which is how objects are aligned; 0 is an empty place. */
  let keys = new Uint32Array(2 ** bits);
  let values = new Int32Array(2 ** bits);
  let used = 0;

  const place = (key: number): number => {
    const mask = keys.length - 1;
    let index = Math.imul(key, 0x9e37_79b1) >>> (32 - bits);
    for (;;) {
      const found = keys[index];
      if (found === key || found === 0) return index;
      index = (index + 1) & mask;
    }
  };

  const clear = (): void => {
    if (used === 0) return;
    bits = Math.min(initialBits, maxBits);
    keys = new Uint32Array(2 ** bits);
    values = new Int32Array(2 ** bits);
    used = 0;
  };

  const grow = (): void => {
    const [oldKeys, oldValues] = [keys, values];
    bits += 1;
    keys = new Uint32Array(2 ** bits);
    values = new Int32Array(2 ** bits);
    for (let index = 0; index < oldKeys.length; index += 1) {
      const key = oldKeys[index] ?? 0;
      if (key === 0) continue;
      const to = place(key);
      keys[to] = key;
      values[to] = oldValues[index] ?? 0;
    }
  };

  /** An offset of 2^35 and beyond, 32 GiB, would need more than 32 bits: such a file is not remembered. */
  const keyOf = (offset: number): number => {
    if (offset < 2 ** 32) return offset >>> 3;
    return offset < 2 ** 35 ? (offset / 8) >>> 0 : 0;
  };

  return {
    get(offset) {
      const key = keyOf(offset);
      if (key === 0) return -1;
      const index = place(key);
      return keys[index] === key ? (values[index] ?? -1) : -1;
    },
    set(offset, value) {
      const key = keyOf(offset);
      if (key === 0) return true;
      let isKept = true;
      if (used * 2 >= keys.length) {
        if (bits < maxBits) grow();
        else {
          clear();
          isKept = false;
        }
      }
      const index = place(key);
      if (keys[index] !== key) used += 1;
      keys[index] = key;
      values[index] = value;
      return isKept;
    },
    clear,
  };
}
