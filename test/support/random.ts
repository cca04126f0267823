/** Numbers that look random and are the same for the same seed, so that what was made of them can be made again. */
export interface Random {
  /** At least 0 and below 1. */
  readonly fraction: () => number;
  /** A whole number from 0 up to, but not including, `below`. */
  readonly integer: (below: number) => number;
  readonly chance: (probability: number) => boolean;
  /** @throws RangeError when there is nothing to pick from. */
  readonly pick: <T>(from: readonly T[]) => T;
  readonly bytes: (length: number) => Buffer;
}

export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  // mulberry32: 32 bits of state are plenty for picking test data.
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const integer = (below: number): number => Math.floor(next() * below);
  return {
    fraction: next,
    integer,
    chance: (probability) => next() < probability,
    pick(from) {
      const picked = from[integer(from.length)];
      if (picked === undefined) throw new RangeError("cannot pick from an empty list");
      return picked;
    },
    bytes: (length) => Buffer.from(Array.from({ length }, () => integer(256))),
  };
}
